//! Files of a schema, as they are passed in.

/// A file of a schema: .proto text, or a descriptor set as `protoc --descriptor_set_out` writes it.
#[derive(Clone, Debug)]
pub struct SchemaFile {
    /// Name by which others import it.
    pub name: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// The text of an imported file by its name; `None` if there is none.
pub type ImportedFile = dyn Fn(&str) -> Option<Vec<u8>> + Send + Sync;
