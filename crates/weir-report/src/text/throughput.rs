//! The line `Throughput`: successful responses per second, and their bounds.

use weir_result::document::{RateInterval, Throughput};
use weir_result::{Document, Load, Rate, units};

use super::page::{INDENT, Page, Span, Style, label};

pub(super) fn write(document: &Document, page: &mut Page) {
    let throughput = &document.throughput;
    page.gap();
    if throughput.window_s <= 0.0 {
        return;
    }
    let mut items = rates(throughput);
    if let Some(rate) = missed(document) {
        items.push(Span::new(format!("planned {}", units::exact_rate(rate)), Style::Yellow));
    }
    if throughput.bytes_received > 0 {
        items.push(Span::plain(units::byte_rate(throughput.bytes_per_second)));
    }
    page.items(label("Throughput"), INDENT, items);
}

/// Formats the rate: `20,000/s ± 0.3%`, or `≥ 71,200/s` and `measured 71,500/s ± 0.3%` if it is a
/// bound; with the rate of all responses if some were bad.
fn rates(throughput: &Throughput) -> Vec<Span> {
    let measured = with_interval(throughput.good_rps, throughput.good_interval);
    let all_are_good = throughput.good == throughput.completed;
    let good = if all_are_good { "" } else { "good " };
    let mut items = match throughput.least_rps.filter(|least| *least > 0.0) {
        Some(least) => vec![
            Span::new(format!("{good}≥ {}", units::rate_at_least(least)), Style::Bold),
            Span::plain(format!("measured {measured}")),
        ],
        None => vec![Span::new(format!("{good}{measured}"), Style::Bold)],
    };
    if !all_are_good {
        let completed = with_interval(throughput.completed_rps, throughput.completed_interval);
        items.push(Span::plain(format!("all responses {completed}")));
    }
    items
}

/// The planned rate, if fewer responses came than were planned.
fn missed(document: &Document) -> Option<Rate> {
    let Load::OpenLoop { rate, .. } = document.plan.load else {
        return None;
    };
    let planned = document.accounting.planned;
    let missing = planned.saturating_sub(document.throughput.completed);
    // One request more or less is the edge of the window, not a missed plan.
    let is_missed = missing > 1 && missing > planned / 1000;
    is_missed.then_some(rate)
}

/// Formats `71,500/s ± 0.3%`: half the interval's width as a share of the rate, rounded up.
fn with_interval(rps: f64, interval: Option<RateInterval>) -> String {
    let rate = units::round_rate(rps);
    let Some(RateInterval { low_rps, high_rps }) = interval.filter(|_| rps > 0.0) else {
        return rate;
    };
    let share = (high_rps - low_rps) / 2.0 / rps;
    let share = (share * 1e4).ceil() / 1e4;
    format!("{rate} ± {}", units::short_percent(share))
}
