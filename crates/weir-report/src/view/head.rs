//! The first lines: the program, the target and the load in words. The last ones: when, where and
//! by which command it ran.

use std::iter;

use weir_result::document::{Aborted, FleetSection};
use weir_result::{
    Arrivals, ConnectionLoad, Document, DueTimes, Environment, ExpectPlan, HttpPlan, ListOrder,
    ListPlan, Load, Plan, Rate,
};
use weir_text::units;

use super::{Block, Fact, Form, Line, Tone};

/// Program that wrote the document.
pub(super) fn title(document: &Document) -> String {
    format!("{} {}", document.tool.name, document.tool.version)
}

/// Target of the run.
pub(super) fn about(document: &Document) -> Vec<Fact> {
    let mut about = vec![Fact::text(&document.plan.url)];
    if let Some(preflight) = &document.run.preflight {
        about.extend(preflight.server.iter().map(Fact::text));
        about.push(Fact::text(&preflight.http_version));
    } else if let Some(http) = document.plan.http.filter(|http| *http != HttpPlan::Http11) {
        about.push(Fact::text(http.to_string()));
    }
    about.push(Fact::text(document.environment.io_engine.to_string()));
    about
}

/// The load, and the interruption if there was one.
pub(super) fn blocks(document: &Document) -> Vec<Block> {
    let allowed = document.connections.streams_allowed;
    let mut about = load_with(&document.plan, Some(allowed).filter(|allowed| *allowed > 0));
    about.extend(parts(document));
    let mut blocks = vec![Block::Line(Line::facts(about))];
    if let Some(interruption) = interruption(document) {
        let interruption = Fact::text(interruption).toned(Tone::Caution);
        blocks.push(Block::Line(Line::sentence(interruption)));
    }
    blocks
}

/// When, where and by which command the run was made.
pub(super) fn invocation(document: &Document) -> Vec<Block> {
    // The parts of a merged document have machines of their own.
    let machine = Some(&document.environment).filter(|_| document.parts.is_empty());
    let mut blocks = vec![Block::facts("Started", started(&document.run.epoch, machine))];
    blocks.extend(command(document).map(|line| Block::entry("Command", vec![line])));
    blocks
}

/// The command line of a run.
pub(super) fn command(document: &Document) -> Option<Line> {
    // The name of the program may be a path of one machine.
    let words = document.run.command.as_deref()?.get(1..)?;
    Some(command_line(words))
}

/// When a run or a study began, and on which machine.
pub(super) fn started(time: &str, machine: Option<&Environment>) -> Vec<Fact> {
    let host = machine.and_then(|machine| machine.hostname.as_deref());
    let host = host.map(|host| Fact::text(format!("on {host}")));
    // To the second: `2026-11-24 08:55:18 UTC`.
    let time = match (time.get(..10), time.get(11..19), time.ends_with('Z')) {
        (Some(day), Some(second), true) => Fact::text(format!("{day} {second} UTC")),
        _ => Fact::text(time),
    };
    [time].into_iter().chain(host).collect()
}

/// The load in words.
pub(super) fn load(plan: &Plan) -> Vec<Fact> {
    load_with(plan, None)
}

/// The load in words; `allowed` is the server's limit of streams if it is below the plan's.
fn load_with(plan: &Plan, allowed: Option<u64>) -> Vec<Fact> {
    let is_idle = plan.is_idle();
    let kind = match &plan.load.due {
        None => closed_loop(plan),
        Some(DueTimes::Log(log)) => Fact::text(log.in_words()),
        Some(DueTimes::Curve { arrivals, .. }) => {
            let rate = open_loop(&plan.load);
            let rate = if plan.users().is_some() { rate.then(" of users") } else { rate };
            match arrivals {
                Arrivals::Uniform => rate.then(" uniform"),
                Arrivals::Poisson { seed } => rate.then(&format!(" poisson, seed {seed}")),
            }
        }
    };
    let threads = Fact::counted(plan.threads.into(), "thread");
    let threads = if plan.leaves_cpus { threads.then(" (local server)") } else { threads };
    let mut facts = vec![kind.toned(Tone::Main), connections(plan, allowed), threads];
    if let Some(most) = plan.load.in_flight_max {
        facts.push(Fact::text(format!("at most {} in flight", units::count(most.into()))));
    }
    if plan.load.pipeline > 1 {
        facts.push(Fact::named("pipeline", plan.load.pipeline));
    }
    if let Some(bytes) = plan.websocket().and_then(|websocket| websocket.first_bytes) {
        facts.push(Fact::named("first message of", units::bytes(bytes.into())));
    }
    match (plan.request.method.as_str(), plan.request.body_bytes) {
        _ if plan.list.is_some() || is_idle => {}
        (_, bytes) if plan.websocket().is_some() => {
            facts.push(Fact::named("messages of", units::bytes(bytes)));
        }
        ("GET", 0) => {}
        // A script may give its requests a body that the plan does not know.
        (method, 0) => facts.push(Fact::text(method)),
        (method, bytes) => facts.push(Fact::named(method, units::bytes(bytes))),
    }
    // A replayed log is named above, with its requests and its length.
    let is_list = plan.load.log().is_none();
    facts.extend(plan.list.as_ref().filter(|_| is_list).map(list));
    let expect = plan.expect.as_ref().filter(|expect| !expect.all.is_empty() || expect.rows > 0);
    facts.extend(expect.map(expectations));
    facts.extend(is_list.then(|| extent(plan)));
    facts
}

/// The load of a closed loop.
fn closed_loop(plan: &Plan) -> Fact {
    match (plan.is_idle(), plan.load.connections.stages().len()) {
        (true, _) => match plan.websocket().and_then(|it| it.first_bytes) {
            Some(_) => Fact::text("listening"),
            None => Fact::text("no messages"),
        },
        (false, 0) => Fact::text("closed loop"),
        (false, stages) => {
            let stages = Fact::counted(stages as u64, "stage").text;
            Fact::text(format!("closed loop in {stages}"))
        }
    }
}

/// The rate of an open loop.
fn open_loop(load: &Load) -> Fact {
    match (load.constant_rate(), load.rate()) {
        (Some(rate), _) => Fact::named("open loop", rate),
        (None, mean) => {
            let stages = Fact::counted(load.stages().len() as u64, "stage").text;
            let mean = units::rate(mean.map_or(0.0, Rate::rps));
            Fact::text(format!("open loop in {stages}, {mean} on average,"))
        }
    }
}

/// Number of connections, and of the requests in flight on each.
fn connections(plan: &Plan, allowed: Option<u64>) -> Fact {
    let streams = plan.http.and_then(HttpPlan::streams).unwrap_or(1);
    let users = plan.users().filter(|_| streams == 1);
    let noun = if users.is_some() { "user" } else { "connection" };
    let counted = Fact::counted(plan.load.connections.count().into(), noun);
    let connections = match &plan.load.connections {
        ConnectionLoad::Fixed(_) => counted,
        ConnectionLoad::Stages(_) => Fact::text(format!("up to {}", counted.text)),
        ConnectionLoad::Growing { first, most } => {
            let [first, most] = [*first, *most].map(|number| units::count(number.into()));
            Fact::text(format!("{first} to {most} {noun}s"))
        }
    };
    match plan.http {
        Some(HttpPlan::Http2(http2)) => {
            let streams = Fact::counted(http2.streams.into(), "stream").text;
            let allowed = allowed.map(|allowed| format!("{allowed} of "));
            if let Some(users) = plan.users() {
                let users = Fact::counted(users.at_a_time.into(), "user").text;
                return match http2.streams {
                    1 => connections,
                    _ => Fact::text(format!("{users} on {} × {streams}", connections.text)),
                };
            }
            connections.then(&format!(" × {}{streams}", allowed.unwrap_or_default()))
        }
        Some(HttpPlan::WebSocket(websocket)) if websocket.in_flight > 1 => {
            connections.then(&format!(" × {} messages", websocket.in_flight))
        }
        _ => connections,
    }
}

/// The list of requests, or the scenarios or sessions of users.
fn list(list: &ListPlan) -> Fact {
    let follows = match list.redirects {
        0 => String::new(),
        most => format!(", up to {} followed", Fact::counted(most.into(), "redirect").text),
    };
    if let Some(users) = &list.users {
        let steps = Fact::counted(list.rows, "step").text;
        let users = match list.format == ListPlan::SCENARIOS {
            true => Fact::counted(users.scenarios.len() as u64, "scenario"),
            false => Fact::counted(list.turns, "session"),
        };
        return users.then(" of ").then(&steps).then(&follows);
    }
    let order = match list.order {
        ListOrder::Sequential => " in order".to_owned(),
        ListOrder::Random { seed } => format!(" at random, seed {seed}"),
        ListOrder::Once => " once each".to_owned(),
    };
    Fact::named("list of", Fact::counted(list.rows, "request").text).then(&order).then(&follows)
}

/// The number of expectations, of all responses and of those to some requests of a list.
fn expectations(expect: &ExpectPlan) -> Fact {
    let of_rows = || Fact::counted(expect.rows, "request");
    let all = Fact::counted(expect.all.len() as u64, "expectation");
    match (expect.all.len(), expect.rows) {
        (_, 0) => all,
        (0, _) => Fact::named("expectations of", of_rows().text),
        _ => all.then(", and those of ").then(&of_rows().text),
    }
}

/// The part that the document is of, the agents that carried it out, or the number of parts that it
/// was merged from.
fn parts(document: &Document) -> Option<Fact> {
    if let Some(FleetSection { start_spread_ns, agents }) = &document.fleet {
        let agents = Fact::counted(agents.len() as u64, "agent");
        let spread = start_spread_ns.map(|ns| match ns {
            0 => " with one clock".to_owned(),
            ns => format!(", begun within {}", units::duration(ns)),
        });
        return Some(agents.then(&spread.unwrap_or_default()));
    }
    let part = document.plan.part.map(|part| Fact::text(format!("part {part}")));
    let first = document.parts.first();
    part.or_else(|| first.map(|first| Fact::counted(first.part.count().into(), "part")))
}

/// The planned end of the run, and the warm-up before it.
fn extent(plan: &Plan) -> Fact {
    let noun = if plan.users().is_some() { "user" } else { "request" };
    let requests = plan.load.requests.map(|requests| Fact::counted(requests, noun));
    let duration = plan.load.length_ns().map(|ns| Fact::text(units::plain_duration(ns)));
    let extent = match (requests, duration) {
        (Some(requests), Some(duration)) => requests.then(&format!(" or {}", duration.text)),
        (Some(extent), None) | (None, Some(extent)) => extent,
        (None, None) => Fact::text("until a signal"),
    };
    match plan.load.warmup.span_ns {
        0 => extent,
        ns => extent.then(&format!(" after {} warm-up", units::plain_duration(ns))),
    }
}

/// Describes the end of the run before its planned one; `None` if it ended as planned.
pub(crate) fn interruption(document: &Document) -> Option<String> {
    document.run.interrupted.then(|| early_end(document))
}

fn early_end(document: &Document) -> String {
    if let Some(Aborted { condition, at_s, measured, .. }) = &document.run.aborted {
        let at = units::duration_of_seconds(*at_s);
        let of =
            document.plan.load.length_ns().map(|ns| format!(" of {}", units::plain_duration(ns)));
        let of = of.unwrap_or_default();
        return format!("aborted after {at}{of} by the condition '{condition}': {measured}");
    }
    let parts = document.parts.iter().filter(|section| section.run.interrupted);
    let cut: Vec<String> =
        parts.map(|section| document.part_in_words(section.part.index())).collect();
    match &cut[..] {
        [] => {}
        // The whole run was.
        all if all.len() == document.parts.len() => {}
        [one] => return format!("{one} was interrupted: its share ends early"),
        several => {
            let parts = several.join(", ");
            return format!("{parts} were interrupted: their shares end early");
        }
    }
    let sent = &document.accounting.sent;
    let window_s = document.throughput.window_s;
    if window_s <= 0.0 {
        let is_connecting = sent.warmup + sent.measured + sent.tail == 0;
        let when = match is_connecting {
            true if document.plan.is_idle() => "before the window",
            true => "while connecting",
            false => "during the warm-up",
        };
        return format!("interrupted {when}: nothing was measured");
    }
    let measured = units::duration_of_seconds(window_s);
    match document.plan.load.length_ns() {
        Some(ns) if window_s >= ns as f64 / 1e9 => {
            "interrupted after the window: all of it was measured".to_owned()
        }
        Some(ns) => format!("interrupted after {measured} of {}", units::plain_duration(ns)),
        None => format!("interrupted after {measured}"),
    }
}

/// A command line of weir: `weir -c10 'http://h/?a&b'`.
pub(super) fn command_line(words: &[String]) -> Line {
    let words = iter::once("weir").chain(words.iter().map(String::as_str)).map(quoted);
    let command = Fact::text(words.collect::<Vec<_>>().join(" "));
    Line { form: Form::Command, facts: vec![command] }
}

/// Quotes a word if a shell would not take it as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+[]".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        for (word, expected) in [
            ("-c10", "-c10"),
            ("http://h:80/a?b=1&c=2", "'http://h:80/a?b=1&c=2'"),
            ("Authorization: [redacted]", "'Authorization: [redacted]'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
