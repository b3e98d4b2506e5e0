//! The fields of a multipart form in its text, and where their values stand (RFC 7578).

use std::ops::Range;

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartField {
    /// Name.
    pub(super) name: String,
    /// Place of its value, in bytes.
    pub(super) place: Range<usize>,
}

/// Returns the boundary that a media type names.
pub(super) fn boundary(media_type: &str) -> Option<String> {
    let mut settings = media_type.split(';').filter_map(|setting| setting.trim().split_once('='));
    let named = settings.find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    Some(named.1.trim_matches('"').to_owned()).filter(|boundary| !boundary.is_empty())
}

/// Returns the fields of a form, without its files.
pub(super) fn fields(text: &str, boundary: &str) -> Vec<PartField> {
    let mark = format!("--{boundary}");
    let begins: Vec<usize> = text.match_indices(&mark).map(|(at, _)| at).collect();
    let parts = begins.windows(2).filter_map(|ends| field(text, ends[0] + mark.len(), ends[1]));
    parts.collect()
}

/// Returns the field between the end of a boundary and the next one.
fn field(text: &str, begin: usize, end: usize) -> Option<PartField> {
    let part = text.get(begin..end)?;
    let (head, value) = part.split_once("\r\n\r\n")?;
    let value = value.strip_suffix("\r\n")?;
    if head.contains("filename") {
        return None;
    }
    let name = head.split_once("name=\"")?.1.split_once('"')?.0.to_owned();
    let from = begin + head.len() + 4;
    Some(PartField { name, place: from..from + value.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_names_and_places() {
        let boundary = boundary("multipart/form-data; boundary=\"XyZ\"").expect("a boundary");
        let text = "--XyZ\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nbig\r\n--XyZ\r\n\
                    Content-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n1\r\n\
                    --XyZ\r\n\
                    Content-Disposition: form-data; name=\"b\"\r\n\r\n\r\n--XyZ--\r\n";
        let found = fields(text, &boundary);
        let found: Vec<_> = found.iter().map(|it| (&*it.name, &text[it.place.clone()])).collect();
        assert_eq!(found, [("a", "big"), ("b", "")]);
        assert_eq!(fields("--XyZ", "XyZ"), []);
    }
}
