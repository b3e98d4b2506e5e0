//! The types of schemas in a build without the feature `schema`. No [`Schema`] is ever made.

use crate::error::SchemaError;
use crate::method_name::{MethodKind, MethodName};
use crate::schema_file::{ImportedFile, SchemaFile};

/// A schema; this build has none.
#[derive(Clone, Debug)]
pub struct Schema(());

/// A method of a schema; this build has none either.
#[derive(Clone, Debug)]
pub struct Method(());

/// The files of a service; they are not loaded.
#[derive(Debug)]
pub struct Reflection(());

impl Schema {
    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn compile(_: Vec<SchemaFile>, _: Box<ImportedFile>) -> Result<Schema, SchemaError> {
        Err(SchemaError::Absent)
    }

    /// Returns the schema as a descriptor set.
    pub fn descriptor_set(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns a method.
    ///
    /// # Errors
    /// Always.
    pub fn method(&self, _: &MethodName) -> Result<Method, SchemaError> {
        Err(SchemaError::Absent)
    }
}

impl Method {
    /// Returns its kind.
    pub fn kind(&self) -> MethodKind {
        MethodKind::Unary
    }

    /// Returns the messages of a request.
    ///
    /// # Errors
    /// Always.
    pub fn requests(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, SchemaError> {
        Err(SchemaError::Absent)
    }

    /// Returns the JSON form of a message of a request.
    ///
    /// # Errors
    /// Always.
    pub fn request(&self, _: &[u8]) -> Result<String, SchemaError> {
        Err(SchemaError::Absent)
    }

    /// Returns the JSON form of a message of a response.
    ///
    /// # Errors
    /// Always.
    pub fn response(&self, _: &[u8]) -> Result<String, SchemaError> {
        Err(SchemaError::Absent)
    }
}

impl Reflection {
    /// Begins to load nothing.
    pub fn new(_: &str) -> Reflection {
        Reflection(())
    }

    /// Returns `None`: no call is needed.
    pub fn request(&self) -> Option<Vec<u8>> {
        None
    }

    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn receive(&mut self, _: &[u8]) -> Result<(), SchemaError> {
        Err(SchemaError::Absent)
    }

    /// Returns an error.
    ///
    /// # Errors
    /// Always.
    pub fn finish(self) -> Result<Schema, SchemaError> {
        Err(SchemaError::Absent)
    }
}
