//! Fields for the variables of other programs that a file gives no value.

use std::collections::BTreeSet;

use weir_text::setting::ALLOW_LOCAL;

use crate::scenario::import::template_text::{VariableValue, identifier};

/// Names of the variables that had no value, and whose values are taken from the environment.
#[derive(Debug, Default)]
pub(super) struct UnknownVariables(BTreeSet<String>);

impl UnknownVariables {
    /// Returns the field for a variable without a value: that of the environment.
    pub(super) fn field(&mut self, name: &str) -> VariableValue {
        let name = match identifier(name) {
            name if name.is_empty() => "VARIABLE".to_owned(),
            name => name,
        };
        self.0.insert(name.clone());
        VariableValue::Field(format!("env:{name}"))
    }

    /// Returns a note on them, if there are any.
    pub(super) fn note(&self) -> Option<String> {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let text = match &names[..] {
            [] => return None,
            [name] => format!(
                "the file has no value of the variable {name}: set it in the environment and give \
                 {ALLOW_LOCAL}"
            ),
            names => format!(
                "the file has no values of the variables {}: set them in the environment and give \
                 {ALLOW_LOCAL}",
                names.join(", ")
            ),
        };
        Some(text)
    }
}

/// Returns the field for a variable that is made anew for each request; `None` for others. `name`
/// begins with `$`.
pub(super) fn dynamic(name: &str) -> Option<VariableValue> {
    let words = name.strip_prefix('$')?.replace(['(', ')', ','], " ");
    let mut words = words.split_whitespace();
    let kind = words.next()?.to_ascii_lowercase();
    let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    let field = match (kind.as_str(), &numbers[..]) {
        ("guid" | "uuid" | "randomuuid" | "random.uuid", []) => "uuid".to_owned(),
        ("randomint" | "random.integer", []) => "rand:0:1000".to_owned(),
        // The greater number is not among them.
        ("randomint" | "random.integer", [least, end]) if least < end => {
            format!("rand:{least}:{}", end - 1)
        }
        _ => return None,
    };
    Some(VariableValue::Field(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_made_anew_become_fields() {
        for (name, expected) in [
            ("$guid", Some("uuid")),
            ("$randomUUID", Some("uuid")),
            ("$random.uuid", Some("uuid")),
            ("$randomInt 5 10", Some("rand:5:9")),
            ("$random.integer(5, 10)", Some("rand:5:9")),
            ("$randomInt", Some("rand:0:1000")),
            ("$timestamp", None),
            ("$", None),
            ("guid", None),
        ] {
            let expected = expected.map(|field| VariableValue::Field(field.to_owned()));
            assert_eq!(dynamic(name), expected, "{name}");
        }
    }
}
