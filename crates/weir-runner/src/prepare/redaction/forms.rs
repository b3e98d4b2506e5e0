//! The forms in which secrets stand in texts: parameters of queries, members of JSON, lines of
//! `NAME=VALUE`, words of a command line, and known secrets anywhere.

use super::{Redaction, bodies};
use crate::spec::credentials::{self, REDACTED};

impl Redaction {
    /// Redacts a text that may contain input from elsewhere.
    pub(crate) fn text(&self, text: &str) -> String {
        self.without_secrets(self.parameters_of(text, true, |_| ()))
    }

    /// Redacts a value that the user gave, which is no prose.
    pub(super) fn value(&self, text: &str) -> String {
        let text = self.without_members(text);
        self.without_secrets(self.parameters_of(&text, false, |_| ()))
    }

    /// Replaces the values of secret names in JSON and XML.
    fn without_members(&self, text: &str) -> String {
        let mut written = String::with_capacity(text.len());
        let mut end = 0;
        for place in bodies::secret_values(text, |name| self.is_header(name)) {
            let quote = if text[place.clone()].starts_with('"') { "\"" } else { "" };
            written += &format!("{}{quote}{REDACTED}{quote}", &text[end..place.start]);
            end = place.end;
        }
        written + &text[end..]
    }

    /// Removes the secrets from a text, and the userinfo of any URL in it.
    pub(super) fn without_secrets(&self, mut text: String) -> String {
        if self.is_off {
            return text;
        }
        for userinfo in &self.userinfos {
            text = text.replace(&format!("{userinfo}@"), &format!("{REDACTED}@"));
        }
        for secret in &self.secrets {
            text = text.replace(secret, REDACTED);
        }
        credentials::without_userinfo(&text)
    }

    /// Removes the value after `Authorization:` and similar names from a word, and keeps a flag
    /// before it.
    pub(super) fn without_headers(&self, word: &str) -> String {
        let values = word.match_indices(':').filter(|(at, _)| {
            let before = word[..*at].trim_end();
            let name = before.rsplit(|c: char| !is_name_char(c)).next().unwrap_or_default();
            // A host may have the name of such a header.
            let is_host = before[..before.len() - name.len()].ends_with("://");
            let is_header = self.is_secret_value(name, &word[at + 1..])
                || self.names.iter().any(|of| name.to_ascii_lowercase().ends_with(of));
            is_header && !is_host
        });
        let end = values.map(|(at, _)| at + 1).next().unwrap_or(word.len());
        match word[end..].trim().is_empty() {
            true => word.to_owned(),
            false => format!("{} {REDACTED}", &word[..end]),
        }
    }

    /// Redacts the output of a command, or the command: besides known secrets all that looks like
    /// one. The rest of a line after `NAME=` or `NAME:` is redacted if the name is a credential's.
    pub(crate) fn lines(&self, text: &str) -> String {
        if self.is_off {
            return text.to_owned();
        }
        let mut written = String::with_capacity(text.len());
        let mut is_key = false;
        for line in text.split_inclusive('\n') {
            let end = if line.ends_with('\n') { "\n" } else { "" };
            let is_border = line.contains("-----") && line.contains("PRIVATE KEY");
            is_key |= is_border && line.contains("BEGIN");
            if !is_key {
                let line = self.line(line.trim_end_matches('\n'));
                written += &line;
                written += end;
            } else if is_border {
                written += &format!("{REDACTED}{end}");
            }
            is_key &= !(is_border && line.contains("END"));
        }
        for secret in &self.of_environment {
            written = written.replace(secret, REDACTED);
        }
        self.text(&written)
    }

    pub(super) fn line(&self, line: &str) -> String {
        let is_name = |at: usize| {
            let before = line[..at].trim_end_matches([' ', '\t', '"', '\'']);
            let name = before.rsplit(|c: char| !is_name_char(c)).next().unwrap_or_default();
            self.is_header(name) && !line[at..].starts_with("://")
        };
        let ends = line.match_indices([':', '=']).filter(|(at, _)| is_name(*at));
        let end = ends.map(|(at, _)| at + 1).next().unwrap_or(line.len());
        let (kept, value) = line.split_at(end);
        let is_end = |c: char| c.is_whitespace() || "\"'=,;&".contains(c);
        let mut is_after_scheme = false;
        let words = kept.split_inclusive(is_end).map(|word| {
            let bare = word.trim_end_matches(is_end);
            if bare.is_empty() {
                return word.to_owned();
            }
            let is_secret = credentials::is_token(bare) || is_after_scheme;
            is_after_scheme = bare == "Basic" || bare.eq_ignore_ascii_case("bearer");
            match is_secret {
                true => format!("{REDACTED}{}", &word[bare.len()..]),
                false => word.to_owned(),
            }
        });
        let kept: String = words.collect();
        let blank = if value.starts_with(' ') { " " } else { "" };
        match value.trim().is_empty() {
            true => kept + value,
            false => format!("{kept}{blank}{REDACTED}"),
        }
    }

    /// Replaces the values of the query parameters in a text, and calls `on_value` with each. A
    /// value ends at the next parameter; in prose, also at whitespace.
    pub(super) fn parameters_of(
        &self,
        text: &str,
        is_prose: bool,
        mut on_value: impl FnMut(&str),
    ) -> String {
        let mut written = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('=') {
            let (before, behind) = rest.split_at(at);
            let is_border = |c: char| "?&;#=".contains(c) || (is_prose && c.is_whitespace());
            let name = before.rsplit(is_border).next().unwrap_or_default();
            written += before;
            written.push('=');
            rest = &behind[1..];
            let name = name.strip_prefix("-b").unwrap_or(name);
            if self.is_parameter(name) {
                let is_end = |c: char| "&#".contains(c) || (is_prose && c.is_whitespace());
                let (value, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
                if !value.is_empty() {
                    on_value(value);
                    written += REDACTED;
                }
                rest = after;
            }
        }
        written + rest
    }
}

/// True for the characters of a header's or a variable's name.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}
