//! The sections of a document that paths begin with, each with its JSON form.

use serde_json::Value;
use weir_result::Document;

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
    network
    occupancy
    phases
    plan
    probe
    prove_client
    raw
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
