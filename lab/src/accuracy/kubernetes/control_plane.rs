//! The control plane of a cluster on loopback: etcd, API server, controller manager, scheduler, and
//! a `kubectl proxy` for the nodes. Each ends with the value. It knows nothing of nodes and pods.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::guard::Guarded;
use xtask::shell::{need_program, tools_dir};

use crate::rig::{free_address, write_certificate};

/// Addresses of Services: no machine is on them but by [`super::hollow_node`].
pub(super) const SERVICES: &str = "10.98.1.0/24";

/// Longest time for the control plane to be ready, and the time between two looks.
const PATIENCE: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The users of the API server: name, and the group, if any.
const ADMINISTRATOR: (&str, &str) = ("administrator", "system:masters");
const CONTROLLERS: (&str, &str) = ("system:kube-controller-manager", "system:masters");
const SCHEDULER: (&str, &str) = ("system:kube-scheduler", "");

/// A running control plane, ended in the order of the fields.
pub(super) struct ControlPlane {
    _proxy: Guarded,
    _scheduler: Guarded,
    _controllers: Guarded,
    _server: Guarded,
    _store: Guarded,
    directory: PathBuf,
    /// Address of the proxy.
    pub(super) proxy: SocketAddr,
    /// Time from the start of the first process until the API server said that it is ready.
    pub(super) ready_after: Duration,
}

impl ControlPlane {
    /// Starts it with its files in this directory, which is made anew.
    pub(super) fn start(directory: PathBuf) -> Result<ControlPlane> {
        let since = Instant::now();
        fs::remove_dir_all(&directory).ok();
        // It has keys and tokens.
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&directory)?;
        write_certificate(&directory)?;
        let address = free_address()?;
        write_access(&directory, address)?;
        let (store, store_at) = start_store(&directory)?;
        let server = start_server(&directory, store_at, address)?;
        await_ready(&directory)?;
        let ready_after = since.elapsed();
        let controllers = start_controllers(&directory)?;
        let scheduler = start(
            &directory,
            "kube-scheduler",
            &[
                "--kubeconfig=scheduler.json",
                "--authentication-kubeconfig=scheduler.json",
                "--authorization-kubeconfig=scheduler.json",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        )?;
        let proxy = free_address()?;
        let port = format!("--port={}", proxy.port());
        let proxy_process =
            start(&directory, "kubectl", &["--kubeconfig=administrator.json", "proxy", &port])?;
        let plane = ControlPlane {
            _proxy: proxy_process,
            _scheduler: scheduler,
            _controllers: controllers,
            _server: server,
            _store: store,
            directory,
            proxy,
            ready_after,
        };
        // The controller manager makes it, and no pod is admitted before.
        plane.await_that("there is no service account", || {
            plane.kubectl(&["get", "serviceaccount", "default"]).is_ok()
        })?;
        Ok(plane)
    }

    /// Returns the version of the API server.
    pub(super) fn version(&self) -> Result<String> {
        let version: Value = serde_json::from_str(&self.kubectl(&["get", "--raw", "/version"])?)?;
        Ok(version["gitVersion"].as_str().unwrap_or("unknown").to_owned())
    }

    /// Runs kubectl as the administrator, and returns its standard output.
    pub(super) fn kubectl(&self, words: &[&str]) -> Result<String> {
        kubectl(&self.directory, words)
    }

    /// Returns an object, or a list of them.
    pub(super) fn get(&self, words: &[&str]) -> Result<Value> {
        let text = self.kubectl(&[&["get", "-o", "json"], words].concat())?;
        serde_json::from_str(&text).context("kubectl printed no JSON")
    }

    /// Waits until a condition holds.
    pub(super) fn await_that(&self, failure: &str, holds: impl Fn() -> bool) -> Result<()> {
        let since = Instant::now();
        while !holds() {
            ensure!(
                since.elapsed() < PATIENCE,
                "{failure}: logs are in {}",
                self.directory.display()
            );
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

/// Returns the directory of the programs that `cargo xtask setup fleet` builds.
fn programs() -> Result<PathBuf> {
    Ok(tools_dir()?.join("kubernetes/bin"))
}

fn kubectl(directory: &Path, words: &[&str]) -> Result<String> {
    let mut command = Command::new(programs()?.join("kubectl"));
    command.args(["--kubeconfig=administrator.json", "--cache-dir=cache"]).args(words);
    let ran =
        command.current_dir(directory).output().context("no kubectl: cargo xtask setup fleet")?;
    let errors = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "kubectl {}: {}", words.join(" "), errors.trim());
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// Starts a program in the directory, with its output in a file. An API server whose store has
/// ended ignores SIGTERM, so SIGKILL follows after 5 s.
fn start(directory: &Path, name: &str, flags: &[&str]) -> Result<Guarded> {
    let program = match name {
        "etcd" => need_program(name, "fleet")?,
        _ => programs()?.join(name),
    };
    ensure!(program.exists(), "failed to find {name}: cargo xtask setup fleet");
    let script = "cd \"$1\"; shift; log=$1; shift; exec timeout -k 5 10m \"$@\" >\"$log\" 2>&1";
    let mut words: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).into();
    words.extend([directory.into(), format!("{name}.log").into(), program.into()]);
    words.extend(flags.iter().map(OsString::from));
    Guarded::start(&words).with_context(|| format!("failed to start {name}"))
}

/// Starts etcd, and returns its address too.
fn start_store(directory: &Path) -> Result<(Guarded, SocketAddr)> {
    let clients = free_address()?;
    let peers = free_address()?;
    let store = start(
        directory,
        "etcd",
        &[
            "--data-dir=etcd",
            &format!("--listen-client-urls=http://{clients}"),
            &format!("--advertise-client-urls=http://{clients}"),
            &format!("--listen-peer-urls=http://{peers}"),
            &format!("--initial-advertise-peer-urls=http://{peers}"),
            &format!("--initial-cluster=default=http://{peers}"),
        ],
    )?;
    Ok((store, clients))
}

fn start_server(directory: &Path, store: SocketAddr, address: SocketAddr) -> Result<Guarded> {
    start(
        directory,
        "kube-apiserver",
        &[
            &format!("--etcd-servers=http://{store}"),
            "--bind-address=127.0.0.1",
            &format!("--secure-port={}", address.port()),
            // Pods reach no API server, so its own Service has no address.
            "--advertise-address=10.98.1.1",
            "--endpoint-reconciler-type=none",
            "--tls-cert-file=cert.pem",
            "--tls-private-key-file=key.pem",
            "--token-auth-file=tokens.csv",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            &format!("--service-cluster-ip-range={SERVICES}"),
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-key-file=cert.pem",
            "--service-account-signing-key-file=key.pem",
        ],
    )
}

/// Starts the controllers. A node is lost after 10 s without a word, instead of 50 s.
fn start_controllers(directory: &Path) -> Result<Guarded> {
    start(
        directory,
        "kube-controller-manager",
        &[
            "--kubeconfig=controllers.json",
            "--authentication-kubeconfig=controllers.json",
            "--authorization-kubeconfig=controllers.json",
            "--service-account-private-key-file=key.pem",
            "--root-ca-file=cert.pem",
            "--leader-elect=false",
            "--secure-port=0",
            "--node-monitor-period=1s",
            "--node-monitor-grace-period=10s",
        ],
    )
}

/// Writes the tokens of the users, and for each a file with which its program finds the server.
fn write_access(directory: &Path, address: SocketAddr) -> Result<()> {
    let users = [
        (ADMINISTRATOR, "administrator.json"),
        (CONTROLLERS, "controllers.json"),
        (SCHEDULER, "scheduler.json"),
    ];
    let mut tokens = String::new();
    for ((user, group), file) in users {
        let token = secret()?;
        let groups = if group.is_empty() { String::new() } else { format!(",\"{group}\"") };
        tokens += &format!("{token},{user},{user}{groups}\n");
        let access = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "weir", "cluster": {
                "server": format!("https://{address}"), "certificate-authority": "cert.pem",
            } }],
            "users": [{ "name": user, "user": { "token": token } }],
            "contexts": [{ "name": "weir", "context": { "cluster": "weir", "user": user } }],
            "current-context": "weir",
        });
        fs::write(directory.join(file), access.to_string())?;
    }
    fs::write(directory.join("tokens.csv"), tokens).context("failed to write the tokens")
}

/// Returns a random word.
fn secret() -> Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes).context("no random bytes")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn await_ready(directory: &Path) -> Result<()> {
    let since = Instant::now();
    while let Err(error) = kubectl(directory, &["get", "--raw", "/readyz"]) {
        ensure!(since.elapsed() < PATIENCE, "the API server is not ready: {error:#}");
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
