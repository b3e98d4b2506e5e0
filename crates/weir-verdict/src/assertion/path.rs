//! Fields of a document by their path in its JSON form: `results.completed_rps`,
//! `slices.0.completed`.

use serde_json::Value;

use super::confidence::{Estimate, Missing};
use super::unit::{Unit, percentile_field};
use weir_result::Document;
use weir_result::quantile::Bound;

/// Maps without entries for what did not happen.
const SPARSE: [[&str; 2]; 3] =
    [["results", "status"], ["results", "errors"], ["results", "missed"]];

/// The number at a path.
pub(super) fn estimate(path: &[String], document: &Document) -> Result<Estimate, Missing> {
    let value = section(&path[0], document);
    let found = path[1..].iter().try_fold(&value, |value, key| match value {
        Value::Array(entries) => entries.get(key.parse::<usize>().ok()?),
        value => value.get(key),
    });
    if let Some(percentile) = percentile(path, &value) {
        return Ok(percentile);
    }
    if let Some(number) = found.and_then(Value::as_f64) {
        return Ok(number_at(path, &value, number));
    }
    let is_sparse =
        SPARSE.iter().any(|map| path.len() == 3 && path.iter().zip(map).all(|(a, b)| a == b));
    match found {
        None if is_sparse => Ok(Estimate::fact(0.0)),
        None | Some(Value::Null) => {
            Err(Missing::new(format!("the document has no {}", path.join("."))))
        }
        Some(_) => Err(Missing::new(format!("{} is no number", path.join(".")))),
    }
}

/// Returns a percentile of a summary, `results.response_time.ok.p95_ns`, which the document lists
/// by its number.
fn percentile(path: &[String], section: &Value) -> Option<Estimate> {
    let (field, place) = path.split_last()?;
    let p = percentile_field(field)?;
    let keys: String = place.iter().skip(1).map(|key| format!("/{key}")).collect();
    let listed = section.pointer(&format!("{keys}/percentiles"))?.as_array()?;
    let index = listed.iter().position(|value| value["p"].as_f64() == Some(p))?;
    let mut entry = place.to_vec();
    entry.extend(["percentiles".to_owned(), index.to_string(), "ns".to_owned()]);
    Some(number_at(&entry, section, listed[index]["ns"].as_f64()?))
}

/// A number with the bound that stands beside it in its section. A time is one of a sample, all
/// other fields are facts about the run.
fn number_at(path: &[String], section: &Value, number: f64) -> Estimate {
    let (name, place) = path.split_last().expect("a path has a field");
    let keys = place.iter().skip(1).map(|key| format!("/{key}"));
    let parent = section.pointer(&keys.collect::<String>());
    let has_bound = ["ns", "share"].contains(&name.as_str());
    let bound = parent.and_then(|parent| parent.get("bound")).filter(|_| has_bound);
    let bound = bound.and_then(|bound| serde_json::from_value(bound.clone()).ok());
    let is_of_times = ["latency", "results"].contains(&path[0].as_str());
    let estimate = match is_of_times && Unit::of_field(name) == Unit::Nanoseconds {
        true => Estimate::without_confidence(number, "fields have none; assert a percentile"),
        false => Estimate::fact(number),
    };
    Estimate { bound: bound.unwrap_or(Bound::Exact), ..estimate }
}

/// Declares the sections by the names of their fields.
macro_rules! sections {
    ($($name:ident)*) => {
        /// Names of the sections.
        pub(super) const SECTIONS: &[&str] = &[$(stringify!($name)),*];

        /// Returns a section; null if the document has none of that name. The others, with their
        /// histograms, are left unwritten.
        pub(super) fn section(name: &str, document: &Document) -> Value {
            match name {
                $(stringify!($name) => {
                    serde_json::to_value(&document.$name).expect("a section is JSON")
                })*
                _ => Value::Null,
            }
        }
    };
}

sections! {
    accounting
    assertions
    connections
    departures
    environment
    health
    latency
    messages
    network
    occupancy
    phases
    plan
    probe
    prove_client
    raw
    results
    run
    script
    selfcheck
    series
    slices
    stamps
    stationarity
    throughput
    tls
    verdict
    witness
}
