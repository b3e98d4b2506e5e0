//! Hidden fields of forms and metadata in HTML, and the expressions that find them again.

use std::ops::Range;

/// Greatest length of a tag that is read, in bytes.
const TAG_MAX_BYTES: usize = 8_192;

/// A value of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageValue {
    /// Name of the field.
    pub(super) name: String,
    /// Value as written, without its quotes.
    pub(super) value: String,
    /// Regular expression whose first group is the value of the first such tag.
    pub(super) expression: String,
}

/// An attribute of a tag.
struct Attribute<'p> {
    name: &'p str,
    /// Value as written.
    value: &'p str,
    /// The attribute with its name and its quotes.
    whole: Range<usize>,
    quote: &'static str,
}

/// Returns the hidden fields and the metadata of a page.
pub(super) fn values(page: &str) -> Vec<PageValue> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        for (tag, attribute) in [("input", "value"), ("meta", "content")] {
            let is_tag = after.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
            let behind = after.as_bytes().get(tag.len());
            if is_tag && behind.is_some_and(u8::is_ascii_whitespace) {
                let attributes = attributes(beginning(&after[tag.len()..]));
                found.extend(value(&after[..tag.len()], attribute, &attributes));
            }
        }
    }
    found
}

/// Returns the beginning of a text, so that a tag without an end costs no more than others.
fn beginning(text: &str) -> &str {
    (TAG_MAX_BYTES..TAG_MAX_BYTES + 4).find_map(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the value of a tag with a name, which stands in `attribute`. An input has to be hidden.
fn value(tag: &str, attribute: &str, attributes: &[Attribute<'_>]) -> Option<PageValue> {
    let of = |name: &str| attributes.iter().find(|it| it.name.eq_ignore_ascii_case(name));
    let is_hidden = || of("type").is_some_and(|it| it.value.eq_ignore_ascii_case("hidden"));
    if attribute == "value" && !is_hidden() {
        return None;
    }
    let name = of("name").filter(|name| !name.value.is_empty())?;
    let value = of(attribute)?;
    let group = match value.quote {
        "\"" => "\"([^\"]*)\"",
        "'" => "'([^']*)'",
        _ => "([^\\s>]*)",
    };
    let key = format!("{}={}{}{}", name.name, name.quote, regex::escape(name.value), name.quote);
    let group = format!("{}={group}", value.name);
    let expression = match name.whole.start < value.whole.start {
        true => format!("<{tag}[^>]*\\s{key}[^>]*\\s{group}"),
        false => format!("<{tag}[^>]*\\s{group}[^>]*\\s{key}"),
    };
    Some(PageValue { name: name.value.to_owned(), value: value.value.to_owned(), expression })
}

/// Returns the attributes of a tag behind its name, up to its end.
fn attributes(tag: &str) -> Vec<Attribute<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let is_skipped = |c: char| c.is_ascii_whitespace() || c == '/';
        at = tag.len() - tag[at..].trim_start_matches(is_skipped).len();
        let begin = at;
        let rest = &tag[at..];
        if rest.is_empty() || rest.starts_with('>') {
            return found;
        }
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
        let name = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        at += name.len();
        let Some(written) = tag[at..].strip_prefix('=') else {
            // It has no value; an equals sign behind blanks is rare, and not read. No name is empty
            // here: only an equals sign could follow.
            continue;
        };
        at += 1;
        let quote = ["\"", "'"].into_iter().find(|quote| written.starts_with(quote));
        let value = match quote {
            Some(quote) => written[1..].split(quote).next().unwrap_or_default(),
            None => {
                let is_end = |c: char| c.is_ascii_whitespace() || c == '>';
                &written[..written.find(is_end).unwrap_or(written.len())]
            }
        };
        let quote = quote.unwrap_or_default();
        at = (at + value.len() + 2 * quote.len()).min(tag.len());
        found.push(Attribute { name, value, whole: begin..at, quote });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_fields_and_metadata_are_found_again() {
        for (page, name, value) in [
            ("<form><input type=\"hidden\" name=\"csrf\" value=\"a1\">", "csrf", "a1"),
            ("<INPUT value='a>b' type=hidden name=_t />", "_t", "a>b"),
            ("<p><meta\nname=\"csrf-token\" content=\"x y\"/></p>", "csrf-token", "x y"),
            ("<input name=\"a[b]\" disabled type='hidden' value=>", "a[b]", ""),
            ("<input data-value=\"1\" type=\"hidden\" name=\"n\" value=\"2\">", "n", "2"),
        ] {
            let found = values(page);
            let [one] = &found[..] else { panic!("{page}: {found:?}") };
            assert_eq!((&*one.name, &*one.value), (name, value), "{page}");
            // A sign that ends a tag within quotes is in no expression.
            if !value.contains('>') {
                let regex = regex::Regex::new(&one.expression).expect("an expression");
                let group = regex.captures(page).and_then(|groups| groups.get(1));
                assert_eq!(group.map(|group| group.as_str()), Some(value), "{page}: {regex}");
            }
        }
        for page in
            ["", "<input", "<input name=\"a\" value=\"b\">", "<meta name=a", "<inputs>", "<"]
        {
            assert_eq!(values(page), [], "{page}");
        }
    }

    #[test]
    fn any_text_is_read() {
        for page in ["<input ü=ü =\"", "<input ==", "<input '", "<meta = \u{1F600}", "<input a=\""]
        {
            values(page);
        }
    }
}
