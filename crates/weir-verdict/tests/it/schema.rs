//! Judged documents conform to the schema.

use serde_json::{Value, json as value};
use weir_result::{Measurements, schema_json};

use crate::conformance::check;
use crate::fixture::{End, Request, S, json, measurements, parts};

#[test]
fn documents_keep_to_the_schema() {
    let ends = [End::Ok, End::Bad, End::Error, End::TimedOut, End::InFlight, End::NeverSent];
    let requests = ends.map(|end| Request { slice: 1, lag_ns: 5_000, service_ns: S, end });
    for measurements in [measurements(0, &requests), Measurements::default()] {
        let document = weir_verdict::assemble(parts(1, 1, measurements)).expect("it adds up");
        let document: Value = serde_json::from_slice(&json(&document)).expect("JSON");
        assert_eq!(fault(&document), None);
    }
}

#[test]
fn other_things_do_not() {
    let document =
        weir_verdict::assemble(parts(1, 1, Measurements::default())).expect("it adds up");
    let document: Value = serde_json::from_slice(&json(&document)).expect("JSON");
    for (pointer, wrong) in [
        ("/results/planned", value!(-1)),
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
