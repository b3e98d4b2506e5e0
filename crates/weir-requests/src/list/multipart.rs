//! Bodies of forms with several parts (RFC 7578).

/// A part of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPart {
    /// Name of the field.
    pub name: String,
    /// Name of the file; `None` for a field.
    pub file_name: Option<String>,
    /// Media type, if it is written.
    pub media_type: Option<String>,
    /// Content.
    pub content: PartContent,
}

/// Content of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartContent {
    /// The content itself.
    Bytes(Vec<u8>),
    /// Path of a file of this machine with the content. The list's author has chosen it.
    File(String),
}

impl FormPart {
    /// Returns a field with this value.
    pub(crate) fn field(name: impl Into<String>, value: impl Into<Vec<u8>>) -> FormPart {
        let content = PartContent::Bytes(value.into());
        FormPart { name: name.into(), file_name: None, media_type: None, content }
    }

    /// Returns the head of the part behind its boundary, up to and with the blank line.
    fn head(&self) -> String {
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(&self.name));
        if let Some(file) = &self.file_name {
            head += &format!("; filename=\"{}\"", quoted(file));
        }
        if let Some(media_type) = &self.media_type {
            head += &format!("\r\nContent-Type: {media_type}");
        }
        head + "\r\n\r\n"
    }
}

/// Returns the body of parts, whose contents are `contents`, in order.
///
/// # Errors
/// If a content has the boundary in it; the text is the reason.
pub fn multipart_body<'a>(
    boundary: &str,
    parts: impl IntoIterator<Item = (&'a FormPart, &'a [u8])>,
) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    for (part, content) in parts {
        if memchr::memmem::find(content, boundary.as_bytes()).is_some() {
            let name = weir_text::brief(&part.name);
            return Err(format!("the part {name:?} of its form contains the boundary {boundary}"));
        }
        body.extend_from_slice(format!("--{boundary}\r\n{}", part.head()).as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(body)
}

/// Returns a boundary that no part with its content at hand contains.
pub(crate) fn boundary(parts: &[FormPart]) -> String {
    let is_within = |boundary: &str| {
        parts.iter().any(|part| match &part.content {
            PartContent::Bytes(bytes) => memchr::memmem::find(bytes, boundary.as_bytes()).is_some(),
            PartContent::File(_) => false,
        })
    };
    let boundaries = (0_u64..).map(|number| format!("------------------------weir{number:012x}"));
    let boundary = boundaries.into_iter().find(|boundary| !is_within(boundary));
    boundary.expect("the numbers do not end before the parts do")
}

/// Encodes a text within quotation marks, as browsers do (WHATWG HTML §4.10.21.8).
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
