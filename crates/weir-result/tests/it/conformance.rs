//! A check of JSON against the schemas of documents and studies.

use serde_json::Value;

/// Checks with the keywords that the schema uses, and no other: an unknown one is an error, so that
/// none is ignored. A schema library would add forty crates to every test run.
pub(crate) fn check(
    value: &Value,
    schema: &Value,
    root: &Value,
    place: &str,
) -> Result<(), String> {
    let fail = |why: String| Err(format!("{place}: {why}"));
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Bool(false) => return fail("nothing may be here".to_owned()),
        schema => schema.as_object().expect("a schema is an object"),
    };
    for (keyword, rule) in keywords {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            "$ref" => {
                let pointer = rule.as_str().and_then(|rule| rule.strip_prefix('#'));
                let target = root.pointer(pointer.expect("a local one")).expect("it exists");
                check(value, target, root, place)?;
                true
            }
            "type" => match rule {
                Value::Array(types) => types.iter().any(|of| is_of_type(value, of)),
                one => is_of_type(value, one),
            },
            "const" => value == rule,
            "enum" => rule.as_array().expect("a list").contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().expect("a number")),
            "anyOf" | "oneOf" => {
                let rules = rule.as_array().expect("a list").iter();
                let fitting = rules.filter(|rule| check(value, rule, root, place).is_ok()).count();
                if keyword == "anyOf" { fitting > 0 } else { fitting == 1 }
            }
            "required" => value.as_object().is_none_or(|fields| {
                let mut names = rule.as_array().expect("a list").iter();
                names.all(|name| fields.contains_key(name.as_str().expect("a name")))
            }),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, rule, root, &format!("{place}/{index}"))?;
                }
                true
            }
            "properties" | "patternProperties" | "additionalProperties" => {
                check_fields(value, keywords, root, place)?;
                true
            }
            unknown => panic!("the schema uses '{unknown}', which this check does not know"),
        };
        if !holds {
            return fail(format!("{keyword} {rule}"));
        }
    }
    Ok(())
}

fn is_of_type(value: &Value, of: &Value) -> bool {
    match of.as_str().expect("a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        unknown => panic!("no type '{unknown}'"),
    }
}

/// Checks a field by its name; without one by the only pattern, `^\d+$`; or else as an additional
/// one.
fn check_fields(
    value: &Value,
    keywords: &serde_json::Map<String, Value>,
    root: &Value,
    place: &str,
) -> Result<(), String> {
    for (name, field) in value.as_object().into_iter().flatten() {
        let named = keywords.get("properties").and_then(|named| named.get(name));
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = keywords.get("patternProperties").filter(|_| is_number).map(|patterns| {
            patterns.get(r"^\d+$").expect("the pattern of numbers is the only one")
        });
        let rule = named.or(numbered).or(keywords.get("additionalProperties"));
        if let Some(rule) = rule {
            check(field, rule, root, &format!("{place}/{name}"))?;
        }
    }
    Ok(())
}
