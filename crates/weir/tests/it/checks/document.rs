//! Arbitrary documents, and reports of them.

use serde_json::Value;
use weir_report::text::Bars;
use weir_report::{TextOptions, json, text};
use weir_result::{Document, Part};

/// The base of all edits, from `weir -R 200 -d 300ms --warmup 0 -c 2 -t 2`.
pub(crate) const BASE: &[u8] = include_bytes!("base.json");

/// Checks one input. Bytes that begin with a brace are a document; others are edits of a valid one,
/// since few changes of bytes leave JSON, and fewer still a document.
pub(crate) fn document(input: &[u8]) {
    if input.first() == Some(&b'{') { read(input) } else { read(&edited(input)) }
}

/// Checks that a readable document has reports and reads the same after it was written. Merging it
/// as both parts of a run succeeds or returns an error message.
fn read(bytes: &[u8]) {
    let document = match Document::from_json(bytes) {
        Ok(document) => document,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for (width, is_long) in [(80, false), (60, true), (0, true)] {
        let options = TextOptions {
            colour: is_long,
            width,
            histogram: is_long.then_some(Bars::Blocks),
            spectrum: is_long,
            verbose: is_long,
            rules: is_long,
            verdict: !is_long,
        };
        text::write(&document, &options, &mut Vec::new()).expect("memory can be written");
    }
    let mut written = Vec::new();
    json::write(&document, &mut written).expect("memory can be written");
    let again = Document::from_json(&written).expect("what was written can be read");
    assert_eq!(again, document);
    let both = [1, 2].map(|index| {
        let mut half = document.clone();
        half.plan.part = Part::new(index, 2);
        half
    });
    match weir_verdict::merge(&both) {
        Ok(merged) => assert_eq!(merged.missing_parts().count(), 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Applies edits of four bytes each: the number of the value (two), the kind of change, and its
/// amount.
fn edited(edits: &[u8]) -> Vec<u8> {
    let mut document: Value = serde_json::from_slice(BASE).expect("the base is JSON");
    for edit in edits.chunks_exact(4).take(16) {
        let mut number = usize::from(u16::from_le_bytes([edit[0], edit[1]]));
        number %= count(&document);
        let value = nth(&mut document, &mut number).expect("below the count");
        change(value, edit[2], edit[3]);
    }
    serde_json::to_vec(&document).expect("a value is JSON")
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(values) => values.values().map(count).sum(),
        _ => 0,
    }
}

/// The `number`-th value in pre-order: parents come before their children.
fn nth<'a>(value: &'a mut Value, number: &mut usize) -> Option<&'a mut Value> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Value::Array(values) => values.iter_mut().find_map(|value| nth(value, number)),
        Value::Object(values) => values.values_mut().find_map(|value| nth(value, number)),
        _ => None,
    }
}

fn change(value: &mut Value, how: u8, amount: u8) {
    const EXTREMES: [u64; 8] =
        [0, 1, 2, u32::MAX as u64, 1 << 53, i64::MAX as u64, 1 << 63, u64::MAX];
    let taken = value.take();
    *value = match (how % 8, taken) {
        (0, Value::Number(old)) => old.as_u64().map_or(0, |old| old ^ (1 << (amount % 64))).into(),
        (1, Value::Number(_)) => EXTREMES[usize::from(amount) % 8].into(),
        (2, Value::Number(old)) => (old.as_f64().unwrap_or(0.0) * f64::from(amount)).into(),
        (3, _) => Value::Null,
        (4, Value::Array(mut values)) if !values.is_empty() => {
            let at = usize::from(amount) % values.len();
            values.push(values[at].clone());
            values.into()
        }
        (4 | 5, Value::Array(mut values)) => {
            values.truncate(usize::from(amount));
            values.into()
        }
        (5, Value::Object(mut values)) => {
            let key = values.keys().nth(usize::from(amount) % values.len().max(1)).cloned();
            key.map(|key| values.remove(&key));
            values.into()
        }
        (6, Value::String(mut text)) => {
            let at = text.floor_char_boundary(usize::from(amount));
            text.insert(at, char::from(amount));
            text.into()
        }
        (7, Value::String(mut text)) => {
            text.truncate(text.floor_char_boundary(usize::from(amount)));
            text.into()
        }
        (_, Value::Bool(old)) => (!old).into(),
        (_, other) => other,
    };
}
