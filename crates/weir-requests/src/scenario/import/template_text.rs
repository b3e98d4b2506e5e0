//! Texts of a scenario file while it is made: `{{…}}` in them is a field of a template, and braces
//! that were recorded as such have a character of their own.

/// Two opening braces that were sent as they are: no character of a text (Unicode §23.7).
pub(super) const BRACES: char = '\u{fdd0}';

/// Greatest depth of variables within variables.
const DEPTH_MAX: usize = 16;

/// Greatest length of a text whose variables have their values, in bytes.
const TEXT_MAX_BYTES: usize = 16 << 20;

/// Returns a text that was sent as it is.
pub(super) fn literal(text: &str) -> String {
    text.replace(BRACES, "\u{fffd}").replace("{{", &BRACES.to_string())
}

/// True if a text has a field.
pub(super) fn has_field(text: &str) -> bool {
    text.contains("{{")
}

/// True if a text has braces that were sent as they are.
pub(super) fn has_braces(text: &str) -> bool {
    text.contains(BRACES)
}

/// Value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// A text, which may have variables.
    Text(String),
    /// A field of a template, without its braces.
    Field(String),
}

/// Replaces the variables `{{name}}` of a text by their values.
///
/// # Errors
/// If the text becomes too long; the text is the reason.
pub(super) fn expand(
    text: &str,
    lookup: &mut dyn FnMut(&str) -> VariableValue,
) -> Result<String, String> {
    let mut expanded = String::new();
    expand_into(text, lookup, 0, &mut expanded)?;
    Ok(expanded)
}

fn expand_into(
    text: &str,
    lookup: &mut dyn FnMut(&str) -> VariableValue,
    depth: usize,
    expanded: &mut String,
) -> Result<(), String> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        expanded.push_str(&literal(before));
        if expanded.len() > TEXT_MAX_BYTES {
            return Err(format!("its variables make it longer than {} MiB", TEXT_MAX_BYTES >> 20));
        }
        let variable = after.split_once("}}").filter(|(name, _)| is_variable(name));
        let Some((name, after)) = variable else {
            expanded.push(BRACES);
            rest = after;
            continue;
        };
        match lookup(name.trim()) {
            VariableValue::Field(field) => expanded.push_str(&format!("{{{{{field}}}}}")),
            VariableValue::Text(_) if depth == DEPTH_MAX => {
                return Err(format!("{{{{{name}}}}}: its variables have no end"));
            }
            VariableValue::Text(value) => expand_into(&value, lookup, depth + 1, expanded)?,
        }
        rest = after;
    }
    expanded.push_str(&literal(rest));
    Ok(())
}

/// True for the text between the braces of a variable.
fn is_variable(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(['{', '}', '\n', BRACES])
}

/// Returns a text in which `change` was applied to the parts between its fields.
pub(super) fn between_fields(
    text: &str,
    change: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut changed = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (field, after) = after.split_once("}}")?;
        changed += &change(before)?;
        changed += &format!("{{{{{field}}}}}");
        rest = after;
    }
    Some(changed + &change(rest)?)
}

/// Variables of the environment that a shell or a session sets: a value that is theirs would be
/// sent unnoticed.
const OF_THE_SHELL: [&str; 18] = [
    "DISPLAY", "EDITOR", "HOME", "HOSTNAME", "LANG", "LOGNAME", "MAIL", "NAME", "OLDPWD", "PATH",
    "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "UID", "USER", "USERNAME",
];

/// Returns the name of an environment variable for a value with a name, none that a shell sets.
pub(super) fn variable_name(name: &str) -> String {
    let name = identifier(name);
    if OF_THE_SHELL.contains(&name.as_str()) { format!("{name}_VALUE") } else { name }
}

/// Returns the name of a captured value that is made of a name.
pub(super) fn identifier(name: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let parts = name.split(|c: char| !is_part(c)).filter(|part| !part.is_empty());
    let joined = parts.collect::<Vec<_>>().join("_");
    joined.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_get_their_values_and_other_braces_stay() {
        let mut lookup = |name: &str| match name {
            "a" => VariableValue::Text("<{{b}}>".to_owned()),
            "b" => VariableValue::Text("x".to_owned()),
            name => VariableValue::Field(format!("env:{name}")),
        };
        for (text, expected) in [
            ("", ""),
            ("{{a}}{{ b }}", "<x>x"),
            ("/{{c}}/d", "/{{env:c}}/d"),
            ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"),
            ("{{}} {{a", "\u{fdd0}}} \u{fdd0}a"),
            ("{{{a}}}", "\u{fdd0}{a}}}"),
        ] {
            assert_eq!(expand(text, &mut lookup).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn variables_of_themselves_are_errors() {
        let mut itself = |_: &str| VariableValue::Text("{{a}}".to_owned());
        assert!(expand("{{a}}", &mut itself).is_err());
        let mut twice = |_: &str| VariableValue::Text(format!("{}{{{{a}}}}", "x".repeat(4 << 20)));
        assert!(expand("{{a}}", &mut twice).expect_err("too long").contains("16 MiB"));
    }

    #[test]
    fn names_become_identifiers() {
        for (name, expected) in
            [("X-CSRF-Token", "X_CSRF_Token"), ("_csrf", "csrf"), ("ü", ""), ("a[b]", "a_b")]
        {
            assert_eq!(identifier(name), expected);
        }
        assert_eq!(["PWD", "pwd", "PIN"].map(variable_name), ["PWD_VALUE", "pwd", "PIN"]);
    }
}
