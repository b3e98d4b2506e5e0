//! The types of schemas in a build without the feature `schema`. There is no [`Schema`], so that code
//! which has one compiles and is never reached.

use crate::{ImportedFile, MethodKind, MethodName, SchemaError, SchemaFile};

/// A schema; this build has none.
#[derive(Clone, Debug)]
pub enum Schema {}

/// A method of a schema; this build has none either.
#[derive(Clone, Debug)]
pub enum Method {}

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
        match *self {}
    }

    /// Returns a method.
    ///
    /// # Errors
    /// None: there is no schema.
    pub fn method(&self, _: &MethodName) -> Result<Method, SchemaError> {
        match *self {}
    }
}

impl Method {
    /// Returns its kind.
    pub fn kind(&self) -> MethodKind {
        match *self {}
    }

    /// Returns the messages of a request.
    ///
    /// # Errors
    /// None: there is no method.
    pub fn requests(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, SchemaError> {
        match *self {}
    }

    /// Returns the JSON form of a message of a response.
    ///
    /// # Errors
    /// None: there is no method.
    pub fn response(&self, _: &[u8]) -> Result<String, SchemaError> {
        match *self {}
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
