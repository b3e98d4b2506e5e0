//! Versions of the reflection service, and their methods.

use crate::method_name::MethodName;

/// Version of the reflection service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReflectionVersion {
    /// `grpc.reflection.v1`.
    V1,
    /// `grpc.reflection.v1alpha`, which older servers have. Its messages are the same.
    V1Alpha,
}

impl ReflectionVersion {
    /// Both, the newer one first.
    pub const ALL: [ReflectionVersion; 2] = [ReflectionVersion::V1, ReflectionVersion::V1Alpha];

    /// Returns the method to call.
    pub fn method(self) -> MethodName {
        let package = match self {
            ReflectionVersion::V1 => "v1",
            ReflectionVersion::V1Alpha => "v1alpha",
        };
        MethodName {
            service: format!("grpc.reflection.{package}.ServerReflection"),
            method: "ServerReflectionInfo".to_owned(),
        }
    }
}
