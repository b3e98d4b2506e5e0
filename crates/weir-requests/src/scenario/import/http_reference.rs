//! References of `.http` files to values of responses: `login.response.body.$.token`.

use crate::scenario::import::template_text::identifier;

/// A reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ResponseReference {
    /// Name of the request.
    pub(super) request: String,
    /// Name for the value.
    pub(super) name: String,
    /// Place of the value, as scenario files have it.
    pub(super) source: String,
}

impl ResponseReference {
    /// Reads the text between the braces; `None` if it is no reference, or has no place in
    /// scenarios: a whole body, XPath, or a filter.
    pub(super) fn parse(text: &str) -> Option<ResponseReference> {
        let (request, rest) = text.split_once(".response.")?;
        let (part, place) = rest.split_once('.')?;
        let (field, source) = match part {
            "headers" => (place.trim().to_owned(), format!("header:{}", place.trim())),
            "body" => {
                let tokens = tokens(place)?;
                let is_name = |token: &&String| !token.bytes().all(|it| it.is_ascii_digit());
                let field = tokens.iter().rfind(is_name).cloned().unwrap_or_default();
                let pointer = tokens
                    .iter()
                    .map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1")));
                (field, format!("json:{}", pointer.collect::<String>()))
            }
            _ => return None,
        };
        let is_header = part == "headers";
        let short = field.strip_prefix("X-").filter(|_| is_header).unwrap_or(&field);
        let name = match identifier(short) {
            name if name.is_empty() => "value".to_owned(),
            name if is_header => name.to_ascii_lowercase(),
            name => name,
        };
        (!request.is_empty() && !place.trim().is_empty()).then(|| ResponseReference {
            request: request.to_owned(),
            name,
            source,
        })
    }
}

/// Returns the names of members and indices of elements of a path, `$.a[0].b` or `a.b`.
fn tokens(path: &str) -> Option<Vec<String>> {
    let path = path.trim();
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('[') {
            let (token, behind) = behind.split_once(']')?;
            let token = token.trim().trim_matches(['\'', '"']);
            tokens.push(token.to_owned());
            rest = behind;
            continue;
        }
        let behind = rest.strip_prefix('.').unwrap_or(rest);
        let end = behind.find(['.', '[']).unwrap_or(behind.len());
        tokens.push(behind[..end].to_owned());
        rest = &behind[end..];
    }
    let is_plain =
        |token: &String| !token.is_empty() && !token.contains(['*', '?', ':', '(', '@', '/']);
    (!tokens.is_empty() && tokens.iter().all(is_plain)).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_places() {
        for (text, name, source) in [
            ("a.response.body.token", "token", "json:/token"),
            ("a.response.body.$.data[0].id", "id", "json:/data/0/id"),
            ("a.response.body.$['x y'][1]", "x_y", "json:/x y/1"),
            ("a.response.headers.X-Auth-Token", "auth_token", "header:X-Auth-Token"),
            ("a.response.body.$[0]", "value", "json:/0"),
        ] {
            let found = ResponseReference::parse(text).expect(text);
            assert_eq!((&*found.request, &*found.name, &*found.source), ("a", name, source));
        }
        for text in [
            "token",
            "a.request.body.x",
            "a.response.body",
            "a.response.body.*",
            "a.response.body.//x/y",
            "a.response.body.$..id",
            "a.response.body.$.a[?(@.b)]",
            "a.response.body.$.a[0",
            "a.response.status",
            ".response.body.x",
        ] {
            assert_eq!(ResponseReference::parse(text), None, "{text}");
        }
    }
}
