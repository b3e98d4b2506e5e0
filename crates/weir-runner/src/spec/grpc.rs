//! The method of gRPC that a run calls, and the schema of its messages.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use weir_grpc::{MethodName, Schema, SchemaFile};
use weir_text::setting::{GRPC, GRPC_PROTO};

use super::InputFile;
use crate::input::{DATA_MAX_BYTES, read_input};

/// A method of gRPC. Requests are calls of it, over HTTP/2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpcSpec {
    /// The method: `package.Service/Method`.
    pub method: String,
    /// Files with its schema: .proto, or descriptor sets. Empty: the reflection of the server, if
    /// a schema is needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protos: Vec<InputFile>,
    /// Directories of files that these import. They are read only with files that are read too, not
    /// with content that is kept here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proto_paths: Vec<PathBuf>,
    /// True if bodies are protobuf, each of one message; else JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_binary: bool,
    /// Deadline that requests announce, in nanoseconds; null for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
}

impl GrpcSpec {
    /// Returns the name of the method.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn name(&self) -> Result<MethodName> {
        self.method.parse().map_err(|error| anyhow!("{GRPC}: {error}"))
    }

    /// Compiles the files of the schema.
    ///
    /// # Errors
    /// When one cannot be read or compiled.
    pub(crate) fn schema(&self) -> Result<Schema> {
        let paths = &self.proto_paths;
        let mut files = Vec::new();
        for file in &self.protos {
            let name = import_name(&file.path, paths);
            files.push(SchemaFile { name, content: file.read(GRPC_PROTO, DATA_MAX_BYTES)? });
        }
        // A specification that came from another machine reads nothing of this one.
        let is_of_here = self.reads_imports();
        let of_files = self.protos.iter().filter_map(|file| file.path.parent());
        let directories = paths.iter().map(PathBuf::as_path).chain(of_files);
        let directories: Vec<PathBuf> =
            directories.filter(|_| is_of_here).map(Path::to_owned).collect();
        let import = move |name: &str| {
            let is_below = !name.starts_with('/') && !name.split('/').any(|part| part == "..");
            let mut places = directories.iter().filter(|_| is_below);
            places.find_map(|directory| {
                read_input(GRPC_PROTO, &directory.join(name), DATA_MAX_BYTES).ok()
            })
        };
        Schema::compile(files, Box::new(import)).map_err(|error| anyhow!("{GRPC_PROTO}: {error}"))
    }

    /// True if files that the schema imports are read from this machine.
    pub(crate) fn reads_imports(&self) -> bool {
        !self.protos.is_empty() && self.protos.iter().all(|file| file.content.is_none())
    }

    /// Replaces the files of the schema by one with its content that has what they import, so that
    /// another machine needs none of them.
    ///
    /// # Errors
    /// When one cannot be read or compiled.
    pub(super) fn keep_schema(&mut self) -> Result<()> {
        let Some(first) = self.protos.iter().find(|file| file.content.is_none()) else {
            return Ok(());
        };
        let path = first.path.with_extension("binpb");
        let content = Some(self.schema()?.descriptor_set());
        self.protos = vec![InputFile { content, ..InputFile::at(path) }];
        self.proto_paths.clear();
        Ok(())
    }
}

/// Returns the name by which other files import a file: its path below one of `paths`, else its
/// own.
fn import_name(path: &Path, paths: &[PathBuf]) -> String {
    let below = paths.iter().find_map(|directory| path.strip_prefix(directory).ok());
    let name = below.or_else(|| path.file_name().map(Path::new)).unwrap_or(path);
    name.to_string_lossy().into_owned()
}
