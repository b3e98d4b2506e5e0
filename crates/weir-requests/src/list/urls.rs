//! A URL or a path on each line; behind it may stand a method and a body, as siege's lists have
//! them.

use crate::list::format::is_method;
use crate::list::lines::NumberedLine;
use crate::list::{Row, RowBody};

/// Media type of siege's bodies.
const URLENCODED: &str = "application/x-www-form-urlencoded";

/// Returns the row of a line: `URL`, `URL METHOD`, `URL METHOD BODY` or `URL METHOD <FILE`. A blank
/// that no method follows is part of the target, which is an error later.
pub(super) fn row(line: &NumberedLine) -> Row {
    let text = line.text.trim();
    let plain = || Row::new(line.number, text);
    let Some((target, rest)) = text.split_once([' ', '\t']) else { return plain() };
    let (method, body) = rest.trim_start().split_once([' ', '\t']).unwrap_or((rest.trim(), ""));
    if !is_method(method) || method.len() < 3 || target.contains("{{") {
        return plain();
    }
    let body = match body.trim() {
        "" => None,
        text => Some(match text.strip_prefix('<') {
            Some(path) => RowBody::File(path.trim().to_owned()),
            None => RowBody::Bytes(text.as_bytes().to_vec()),
        }),
    };
    let media_type = body.is_some().then_some(URLENCODED);
    Row { method: Some(method.to_owned()), body, media_type, ..Row::new(line.number, target) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_and_a_body_may_follow_the_url() {
        let check = |text: &str, target: &str, method: Option<&str>, body: Option<RowBody>| {
            let found = row(&NumberedLine { number: 3, text: text.to_owned() });
            assert_eq!(
                (found.target.as_str(), found.method.as_deref()),
                (target, method),
                "{text}"
            );
            assert_eq!(found.media_type.is_some(), body.is_some(), "{text}");
            assert_eq!(found.body, body, "{text}");
        };
        let bytes = |text: &str| Some(RowBody::Bytes(text.as_bytes().to_vec()));
        check(" http://h/a ", "http://h/a", None, None);
        check("h/a POST a=1 b", "h/a", Some("POST"), bytes("a=1 b"));
        check("/a\tPUT {\"a\": 1}", "/a", Some("PUT"), bytes("{\"a\": 1}"));
        check("/a DELETE", "/a", Some("DELETE"), None);
        check("/a POST < f.txt", "/a", Some("POST"), Some(RowBody::File("f.txt".to_owned())));
        check("/a POST <f.txt", "/a", Some("POST"), Some(RowBody::File("f.txt".to_owned())));
        for text in ["/a b", "/a post x", "/a?{{csv:the POST body}}", "1 0a 2 0"] {
            check(text, text, None, None);
        }
    }
}
