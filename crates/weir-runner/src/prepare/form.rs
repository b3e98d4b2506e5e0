//! The body of a form: urlencoded (WHATWG URL §5.2), or multipart/form-data (RFC 7578) if a field
//! is a file.

use anyhow::{Result, bail};
use weir_requests::list::form_encoded;
use weir_result::document::{Input, InputRole};
use weir_text::setting::FORM_FIELD;

use crate::input::WHOLE_MAX_BYTES;
use crate::spec::{FormField, FormValue};

/// Boundary of the parts. It is the same in each run, so that equal forms are equal requests.
const BOUNDARY: &str = "weir-form-5b1cf2a8e0d94c37a6f04e1d";

/// Returns the media type of the body.
pub(crate) fn content_type(fields: &[FormField]) -> String {
    match is_multipart(fields) {
        true => format!("multipart/form-data; boundary={BOUNDARY}"),
        false => "application/x-www-form-urlencoded".to_owned(),
    }
}

/// Returns the body of the fields, and the files that they were read from.
///
/// # Errors
/// When a file cannot be read, is not the one that was specified, or contains the boundary.
pub(crate) fn body(fields: &[FormField]) -> Result<(Vec<u8>, Vec<Input>)> {
    if !is_multipart(fields) {
        let pairs = fields.iter().map(|FormField { name, value }| match value {
            FormValue::Text(text) => {
                format!("{}={}", form_encoded(name.as_bytes()), form_encoded(text.as_bytes()))
            }
            FormValue::File(_) => String::new(),
        });
        return Ok((pairs.collect::<Vec<String>>().join("&").into_bytes(), Vec::new()));
    }
    let mut body = Vec::new();
    let mut inputs = Vec::new();
    for FormField { name, value } in fields {
        let (head, content) = match value {
            FormValue::Text(text) => (String::new(), text.clone().into_bytes()),
            FormValue::File(file) => {
                let content = file.read(FORM_FIELD, WHOLE_MAX_BYTES)?;
                inputs.push(file.verify(InputRole::Body, &content)?);
                let file = file.path.file_name().unwrap_or_default().to_string_lossy();
                let head = format!(
                    "; filename=\"{}\"\r\nContent-Type: application/octet-stream",
                    quoted(&file)
                );
                (head, content)
            }
        };
        if content.windows(BOUNDARY.len()).any(|bytes| bytes == BOUNDARY.as_bytes()) {
            bail!("{FORM_FIELD} {name} contains {BOUNDARY}, which separates the fields");
        }
        let name = quoted(name);
        let begin =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{head}");
        body.extend_from_slice(begin.as_bytes());
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    Ok((body, inputs))
}

pub(crate) fn is_multipart(fields: &[FormField]) -> bool {
    fields.iter().any(|field| matches!(field.value, FormValue::File(_)))
}

/// Encodes a text within quotation marks, as browsers do (WHATWG HTML §4.10.21.8).
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::InputFile;

    fn field(name: &str, value: &str) -> FormField {
        FormField { name: name.to_owned(), value: FormValue::Text(value.to_owned()) }
    }

    #[test]
    fn fields_without_files_are_urlencoded() {
        let fields = [field("a b", "c&d=e"), field("ä", "")];
        let (body, inputs) = body(&fields).expect("a body");
        assert_eq!(String::from_utf8_lossy(&body), "a+b=c%26d%3De&%C3%A4=");
        assert_eq!((content_type(&fields).as_str(), inputs.len()), (URLENCODED, 0));
    }

    const URLENCODED: &str = "application/x-www-form-urlencoded";

    #[test]
    fn a_file_makes_the_form_multipart() {
        let file = InputFile { content: Some(b"\0x".to_vec()), ..InputFile::at("d/\"f\".png") };
        let file = FormField { name: "file".to_owned(), value: FormValue::File(file) };
        let (body, inputs) = body(&[field("a", "b"), file]).expect("a body");
        let expected = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n\
             --{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"%22f%22.png\"\r\nContent-Type: application/octet-stream\r\n\r\n\0x\r\n\
             --{BOUNDARY}--\r\n"
        );
        assert_eq!(String::from_utf8_lossy(&body), expected);
        assert_eq!(inputs.len(), 1);
    }

    #[test]
    fn content_with_the_boundary_is_refused() {
        let file = InputFile { content: Some(BOUNDARY.into()), ..InputFile::at("f") };
        let file = FormField { name: "a".to_owned(), value: FormValue::File(file) };
        assert!(body(&[file]).is_err());
    }
}
