//! Fields for the variables of other programs that a file gives no value.

use std::collections::BTreeSet;

use weir_text::setting::ALLOW_LOCAL;

use crate::scenario::import::recorded::RecordedStep;
use crate::scenario::import::template_text::{VariableValue, variable_name};

/// Returns the field for a variable without a value: that of the environment.
pub(super) fn unknown(name: &str) -> VariableValue {
    let name = match variable_name(name) {
        name if name.is_empty() => "VARIABLE".to_owned(),
        name => name,
    };
    VariableValue::Field(format!("env:{name}"))
}

/// Returns a note on the variables of the environment that steps need, but those that have a remark
/// already; `None` if there are none.
pub(super) fn note(steps: &mut [RecordedStep]) -> Option<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for step in steps {
        let mut of_step: BTreeSet<String> = BTreeSet::new();
        for text in step.texts_mut() {
            let fields = text.split("{{env:").skip(1);
            let fields = fields.filter_map(|rest| Some(rest.split_once("}}")?.0.to_owned()));
            of_step.extend(fields);
        }
        let is_known = |name: &String| {
            let field = format!("{{{{env:{name}}}}}");
            step.remarks.iter().any(|remark| remark.contains(&field))
        };
        of_step.retain(|name| !is_known(name));
        names.extend(of_step);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = match &names[..] {
        [] => return None,
        [name] => format!("the variable {name}: set it in the environment"),
        names => format!("the variables {}: set them in the environment", names.join(", ")),
    };
    Some(format!("the file has no value of {text} and give {ALLOW_LOCAL}"))
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
