//! Schemas of gRPC: services and their methods, from .proto files, descriptor sets or the
//! reflection of a server; and messages from JSON to protobuf and back.
//!
//! This crate opens no file and no socket: texts of files and messages of the reflection service go
//! in. It knows neither HTTP nor the prefix of messages; a library compiles and transcodes.
#![forbid(unsafe_code)]

mod reflection;

mod method;
mod schema;

mod compression;
mod error;

pub use compression::gzip;
pub use error::SchemaError;
pub use method::{Method, MethodKind, MethodName};
pub use reflection::{Reflection, ReflectionVersion};
pub use schema::{ImportedFile, Schema, SchemaFile};
