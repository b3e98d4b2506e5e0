//! The committed schema equals that of the types, and documents conform to it.

use std::path::PathBuf;

use crate::fixture::{End, Request, S, json, measurements, parts};
use serde_json::{Value, json as value};
use weir_result::{Document, Measurements, Study, schema_json, study_schema_json};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// Fails if the file differs. `UPDATE_GOLDEN=1` rewrites it: a changed field is a decision, and a
/// changed meaning a new version.
#[test]
fn the_committed_schema_is_that_of_the_types() {
    for (name, schema) in
        [("document.schema.json", schema_json()), ("study.schema.json", study_schema_json())]
    {
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(path(name), &schema).expect("the schema is writable");
        }
        let committed = std::fs::read_to_string(path(name)).expect("UPDATE_GOLDEN=1 makes it");
        let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert!(parsed(&committed) == parsed(&schema), "docs/{name} is not what the types say");
    }
}

#[test]
fn studies_keep_to_their_schema() {
    let root: Value = serde_json::from_str(&study_schema_json()).expect("JSON");
    let study = crate::study::example();
    let value = serde_json::to_value(&study).expect("JSON");
    // A study refers to the other schema for its documents.
    let mut whole = root.clone();
    let documents: Value = serde_json::from_str(&schema_json()).expect("JSON");
    let definitions = documents["$defs"].as_object().expect("definitions").clone();
    let own = whole["$defs"].as_object_mut().expect("definitions");
    own.insert("Document".to_owned(), documents);
    definitions.into_iter().for_each(|(name, rule)| {
        own.entry(name).or_insert(rule);
    });
    assert_eq!(check(&value, &whole, &whole, "").err(), None);
    let text = serde_json::to_vec(&study).expect("JSON");
    assert_eq!(Study::from_json(&text).expect("it adds up"), study);
}

#[test]
fn documents_keep_to_the_schema() {
    let ends = [End::Ok, End::Bad, End::Error, End::TimedOut, End::InFlight, End::NeverSent];
    let requests = ends.map(|end| Request { slice: 1, lag_ns: 5_000, service_ns: S, end });
    for measurements in [measurements(0, &requests), Measurements::default()] {
        let document = Document::assemble(parts(1, 1, measurements)).expect("it adds up");
        let document: Value = serde_json::from_slice(&json(&document)).expect("JSON");
        assert_eq!(fault(&document), None);
    }
}

#[test]
fn other_things_do_not() {
    let document = Document::assemble(parts(1, 1, Measurements::default())).expect("it adds up");
    let document: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    for (pointer, wrong) in [
        ("/accounting/planned", value!(-1)),
        ("/accounting", value!({})),
        ("/latency/connect/ok/percentiles", value!([{"p": 50.0, "ns": 1, "bound": "most"}])),
        ("/throughput/window_s", value!("3")),
    ] {
        let mut changed = document.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = changed.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer);
        parent.insert(key.to_owned(), wrong);
        let fault = fault(&changed).expect(pointer);
        assert!(fault.contains(pointer), "{pointer}: {fault}");
    }
}

/// Returns the first violation of the schema in a document, with its place.
fn fault(document: &Value) -> Option<String> {
    let root = serde_json::from_str(&schema_json()).expect("JSON");
    check(document, &root, &root, "").err()
}

/// Checks with the keywords that the schema uses, and no other: an unknown one is an error, so that
/// none is ignored. A schema library would add forty crates to every test run.
fn check(value: &Value, schema: &Value, root: &Value, place: &str) -> Result<(), String> {
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
