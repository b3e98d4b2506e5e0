//! The document as JSON: pretty, in the order of the schema, ending with a newline.

use std::io::{self, Write};

use weir_run::Document;

/// Writes the document.
pub fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n")
}
