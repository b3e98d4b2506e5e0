//! The container image, as an OCI image layout in a tar file: no daemon builds it. Its only layer
//! has the static program, so it needs no distribution below it.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::bus;
use super::checkout::{Checkout, Release};
use super::files::{LICENCES, gzip, install, renew, sha256, tar, write};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The user of the program, who is not root and owns nothing.
const USER: &str = "65532:65532";

/// Makes `weir-VERSION-ARCH-oci.tar`.
pub(super) fn make(checkout: &Checkout<'_>, program: &Path) -> Result<()> {
    let release = checkout.release;
    let layout = checkout.work.join("image");
    renew(&layout)?;
    let root = checkout.work.join("image-root");
    renew(&root)?;
    install(program, &root.join("usr/bin/weir"), 0o755)?;
    for text in ["LICENSE-MIT", "LICENSE-APACHE", LICENCES] {
        install(&checkout.files.join(text), &root.join("usr/share/doc/weir").join(text), 0o644)?;
    }
    bus::install_bus(&root.join("usr/bin"), &root.join("usr/share/doc/weir"))?;
    let layer = checkout.work.join("layer.tar");
    tar(release, &root, &["usr"], &layer)?;
    let content = sha256(&layer)?;
    let packed = checkout.work.join("layer.tar.gz");
    gzip(&layer, &packed)?;
    let layer = add(&layout, &packed, LAYER)?;
    let config = add_json(&layout, &config(release, &content), CONFIG)?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
    });
    let mut manifest = add_json(&layout, &manifest, MANIFEST)?;
    manifest["platform"] = json!({ "architecture": architecture(), "os": "linux" });
    manifest["annotations"] =
        json!({ "org.opencontainers.image.ref.name": format!("weir:{}", release.version) });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    write(&layout.join("index.json"), &index.to_string())?;
    write(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let image = checkout.packages.join(format!("weir-{}-{ARCH}-oci.tar", release.version));
    tar(release, &layout, &["oci-layout", "index.json", "blobs"], &image)
}

fn config(release: &Release, content: &str) -> Value {
    json!({
        "created": release.created,
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": ["/usr/bin/weir"],
            "Env": ["PATH=/usr/bin"],
            "Labels": {
                "org.opencontainers.image.title": "weir",
                "org.opencontainers.image.description": "HTTP load generator with accurate latency",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.revision": release.commit,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{content}")] },
        "history": [{ "created": release.created, "created_by": "cargo xtask dist" }],
    })
}

/// The machine as Go names it, and so the specification of images.
fn architecture() -> &'static str {
    match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Adds a file to the layout, and returns its descriptor.
fn add(layout: &Path, file: &Path, media_type: &str) -> Result<Value> {
    let digest = sha256(file)?;
    install(file, &layout.join("blobs/sha256").join(&digest), 0o644)?;
    let digest = format!("sha256:{digest}");
    let size = fs::metadata(file)?.len();
    Ok(json!({ "mediaType": media_type, "digest": digest, "size": size }))
}

fn add_json(layout: &Path, value: &Value, media_type: &str) -> Result<Value> {
    let file = layout.with_extension("json");
    write(&file, &value.to_string())?;
    add(layout, &file, media_type)
}
