//! Schemas of gRPC: services and their methods, from .proto files, descriptor sets or the
//! reflection of a server; and messages from JSON to protobuf and back.
//!
//! This crate opens no file and no socket: texts of files and messages of the reflection service go
//! in. It knows neither HTTP nor the prefix of messages; a library compiles and transcodes.
#![forbid(unsafe_code)]

#[cfg(not(feature = "schema"))]
mod absent;
#[cfg(feature = "schema")]
mod reflection;

#[cfg(feature = "schema")]
mod method;
#[cfg(feature = "schema")]
mod schema;

#[cfg(feature = "schema")]
mod descriptors;
#[cfg(feature = "schema")]
mod edition_text;
#[cfg(feature = "schema")]
mod editions;
#[cfg(feature = "schema")]
mod pool;

mod method_name;
mod reflection_version;
mod schema_file;

mod compression;
mod error;

#[cfg(not(feature = "schema"))]
pub use absent::{Method, Reflection, Schema};
pub use compression::gzip;
pub use error::SchemaError;
#[cfg(feature = "schema")]
use error::one_line;
#[cfg(feature = "schema")]
pub use method::Method;
pub use method_name::{MethodKind, MethodName};
#[cfg(feature = "schema")]
pub use reflection::Reflection;
pub use reflection_version::ReflectionVersion;
#[cfg(feature = "schema")]
pub use schema::Schema;
pub use schema_file::{ImportedFile, SchemaFile};
