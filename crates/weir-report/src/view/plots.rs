//! The plots of a run, by the section that they belong to, and the plots of studies.

mod breakdown;
mod curve;
mod heat;
mod prompt;
mod rate;
mod server;
pub(super) mod study;
pub(super) mod time;

use weir_result::Document;

use super::Plot;

/// Plots what comes first on a page: the latency over time, the rates with the plan below it, and
/// the latency against the rate where that changed.
pub(super) fn over_time(document: &Document) -> impl Iterator<Item = Plot> {
    let plots = [heat::latency(document), time::rates(document), rate::latency(document)];
    plots.into_iter().flatten()
}

/// Plots the results of a run, as far as the document has data.
pub(super) fn results(document: &Document) -> impl Iterator<Item = Plot> {
    let plots = [
        curve::latency(document),
        curve::messages(document),
        prompt::first_token(document),
        time::failures(document),
        breakdown::latency(document),
    ];
    plots.into_iter().flatten()
}

/// Plots the details of a run, as far as the document has data.
pub(super) fn details(document: &Document) -> impl Iterator<Item = Plot> {
    let plots = [time::in_flight(document), curve::connection_times(document)];
    plots.into_iter().flatten().chain(server::plots(document))
}
