//! The flags of gRPC.

use std::path::PathBuf;

use clap::Args;
use weir_runner::{GrpcSpec, InputFile};
use weir_text::units::parse_duration_ns;

/// The flags of gRPC.
#[derive(Debug, Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct GrpcArgs {
    /// Call this method over HTTP/2: package.Service/Method. --body is JSON; with a method to which
    /// clients stream, several messages, in an array or one after the other. --header is metadata.
    /// A grpc-status other than 0 is a failure, unless --expect grpc-status=CODES says otherwise
    #[arg(long, value_name = "METHOD")]
    grpc: Option<String>,
    /// Schema of the method: a .proto file, or a descriptor set; repeatable [default: the server's
    /// reflection]
    #[arg(long, value_name = "FILE", requires = "grpc")]
    proto: Vec<PathBuf>,
    /// Directory of files that --proto imports; repeatable [default: that of the file]
    #[arg(long, value_name = "DIR", requires = "proto")]
    proto_path: Vec<PathBuf>,
    /// Bodies are protobuf, one message each; needs no schema
    #[arg(long, requires = "grpc")]
    grpc_binary: bool,
    /// Deadline that requests announce (grpc-timeout); --timeout ends them on this side
    #[arg(long, value_name = "T", value_parser = parse_duration_ns, requires = "grpc")]
    grpc_timeout: Option<u64>,
}

impl GrpcArgs {
    /// Returns the method of the specification.
    pub(super) fn spec(&self) -> Option<GrpcSpec> {
        Some(GrpcSpec {
            method: self.grpc.clone()?,
            protos: self.proto.iter().map(InputFile::at).collect(),
            proto_paths: self.proto_path.clone(),
            is_binary: self.grpc_binary,
            deadline_ns: self.grpc_timeout,
        })
    }
}
