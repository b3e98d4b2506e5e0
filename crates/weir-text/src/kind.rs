//! Names of kinds in documents, as words.

/// Returns the words of a name: `expect_body` is `expect body`. Underscores between capitals belong
/// to a name of others and stay: `grpc_NOT_FOUND` is `grpc NOT_FOUND`.
pub fn words_of_kind(name: &str) -> String {
    let is_capital = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_uppercase);
    let bytes = name.as_bytes();
    let word = |(at, char): (usize, char)| {
        let is_within = at > 0 && is_capital(bytes.get(at - 1)) && is_capital(bytes.get(at + 1));
        if char == '_' && !is_within { ' ' } else { char }
    };
    name.char_indices().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_stay_whole() {
        for (name, words) in [
            ("expect_body", "expect body"),
            ("body_too_large", "body too large"),
            ("grpc_NOT_FOUND", "grpc NOT_FOUND"),
            ("grpc_UNAVAILABLE", "grpc UNAVAILABLE"),
            ("_", " "),
            ("", ""),
        ] {
            assert_eq!(words_of_kind(name), words);
        }
    }
}
