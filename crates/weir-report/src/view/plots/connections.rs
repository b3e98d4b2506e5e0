//! Times of connects, TLS handshakes and the settings of HTTP/2.

use weir_result::Document;

use super::curve::of_histogram;
use crate::view::{Axis, AxisUnit, Mark, Plot, Role};

/// Plots the times in which connections opened; `None` if none did.
pub(super) fn times(document: &Document) -> Option<Plot> {
    let latency = &document.latency;
    let mut marks: Vec<Mark> = Vec::new();
    for (name, metric, role) in [
        ("connect", Some(&latency.connect), Role::Main),
        ("TLS handshake", latency.tls_handshake.as_ref(), Role::Second),
        ("HTTP/2 settings", latency.opening.as_ref(), Role::Other(0)),
    ] {
        let Some(metric) = metric.filter(|metric| metric.ok.count > 0) else { continue };
        marks.push(of_histogram(name, role, &metric.times.ok));
    }
    let about = "Time to open a connection, warm-up and renewals included.";
    let axes = [Axis::nines(), Axis::log("Time", AxisUnit::Nanoseconds)];
    (!marks.is_empty())
        .then(|| Plot::new(["connection-times", "Connection times"], about, axes, marks))
}
