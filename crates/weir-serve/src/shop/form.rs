//! Fields of forms and of queries (`application/x-www-form-urlencoded`, WHATWG URL §5.1).

use weir_http::grpc::percent_decoded;

/// Returns the value of the first field with this name, decoded; `None` if there is none.
pub(super) fn value(text: &[u8], name: &str) -> Option<Vec<u8>> {
    text.split(|&byte| byte == b'&').find_map(|pair| {
        let equals = memchr::memchr(b'=', pair).unwrap_or(pair.len());
        let value = pair.get(equals + 1..).unwrap_or_default();
        (decoded(&pair[..equals]) == name.as_bytes()).then(|| decoded(value))
    })
}

/// Returns text whose blanks are written as `+`, and other bytes as `%` and two digits.
fn decoded(text: &[u8]) -> Vec<u8> {
    let blank = |&byte: &u8| if byte == b'+' { b' ' } else { byte };
    percent_decoded(&text.iter().map(blank).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_decoded() {
        let check = |text: &str, expected: Option<&str>| {
            let found = value(text.as_bytes(), "user");
            assert_eq!(found, expected.map(|text| text.as_bytes().to_vec()), "{text}");
        };
        check("user=ann", Some("ann"));
        check("a=b&user=ann+lee&user=bob", Some("ann lee"));
        check("user=a%2Bb%3d%26&c=d", Some("a+b=&"));
        check("%75ser=%C3%BC", Some("ü"));
        check("user=100%&x", Some("100%"));
        check("user=%zz%4", Some("%zz%4"));
        check("user=a=b", Some("a=b"));
        check("user=", Some(""));
        check("user", Some(""));
        check("", None);
        check("users=ann&auser=b", None);
    }
}
