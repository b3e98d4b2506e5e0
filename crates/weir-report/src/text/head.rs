//! The first lines: the program, the target, and the load in words.

use weir_result::units;
use weir_result::{Arrivals, Document, Load, Plan};

use super::page::{Page, Span, Style};

pub(super) fn write(document: &Document, page: &mut Page) {
    let tool = format!("{} {}   ", document.tool.name, document.tool.version);
    let indent = tool.chars().count().min(30);
    let mut about = vec![Span::plain(&document.plan.url)];
    if let Some(preflight) = &document.run.preflight {
        about.extend(preflight.server.iter().map(Span::plain));
        about.push(Span::plain(&preflight.http_version));
    }
    about.push(Span::plain(document.environment.io_engine.to_string()));
    page.items(Span::new(tool, Style::Bold), indent, about);
    page.items(Span::plain(""), 0, load(&document.plan));
    if document.run.interrupted {
        page.paragraph(Span::plain(""), 0, &Span::new(interruption(document), Style::Yellow));
    }
}

/// The load in words.
fn load(plan: &Plan) -> Vec<Span> {
    let kind = match plan.load {
        Load::ClosedLoop => "closed loop".to_owned(),
        Load::OpenLoop { rate, arrivals: Arrivals::Uniform } => {
            format!("open loop {} uniform", units::exact_rate(rate))
        }
        Load::OpenLoop { rate, arrivals: Arrivals::Poisson { seed } } => {
            format!("open loop {} poisson, seed {seed}", units::exact_rate(rate))
        }
    };
    let mut words = vec![
        Span::new(kind, Style::Bold),
        Span::plain(counted(plan.connections.into(), "connection")),
        Span::plain(counted(plan.threads.into(), "thread")),
    ];
    if plan.pipeline > 1 {
        words.push(Span::plain(format!("pipeline {}", plan.pipeline)));
    }
    if plan.request.method != "GET" || plan.request.body_bytes > 0 {
        let body = units::bytes(plan.request.body_bytes);
        words.push(Span::plain(format!("{} {body}", plan.request.method)));
    }
    words.push(Span::plain(extent(plan)));
    words
}

/// The planned end of the run, and the warm-up before it.
fn extent(plan: &Plan) -> String {
    let requests = plan.requests.map(|requests| counted(requests, "request"));
    let duration = plan.duration_ns.map(units::exact_duration);
    let mut extent = match (requests, duration) {
        (Some(requests), Some(duration)) => format!("{requests} or {duration}"),
        (Some(requests), None) => requests,
        (None, Some(duration)) => duration,
        (None, None) => "until interrupted".to_owned(),
    };
    if plan.warmup_ns > 0 {
        let warmup = units::exact_duration(plan.warmup_ns);
        extent = format!("{extent} after {warmup} warm-up");
    }
    extent
}

fn interruption(document: &Document) -> String {
    let sent = &document.accounting.sent;
    let window_s = document.throughput.window_s;
    if window_s <= 0.0 {
        let is_connecting = sent.warmup + sent.measured + sent.tail == 0;
        let when = if is_connecting { "while connecting" } else { "during the warm-up" };
        return format!("interrupted {when}: nothing was measured");
    }
    let measured = units::duration_of_seconds(window_s);
    match document.plan.duration_ns {
        Some(ns) if window_s >= ns as f64 / 1e9 => {
            "interrupted after the window: all of it was measured".to_owned()
        }
        Some(ns) => format!("interrupted after {measured} of {}", units::exact_duration(ns)),
        None => format!("interrupted after {measured}"),
    }
}

/// Formats a count with its noun: `1 thread`, `2 threads`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", units::count(number), if number == 1 { "" } else { "s" })
}
