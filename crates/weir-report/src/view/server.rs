//! The watched server: the agreement of its counts with weir's, and its CPU time and memory. Series
//! are in the document alone.

use weir_result::Document;
use weir_result::document::{Polls, ServerSection};
use weir_text::setting::{WATCH_COMMAND, WATCH_NGINX, WATCH_PID, WATCH_PROMETHEUS};
use weir_text::{Setting, units};

use super::{Block, Fact, Line, Tone};

pub(super) fn blocks(document: &Document) -> Option<Block> {
    let server = document.server.as_ref()?;
    let mut lines = Vec::new();
    if let Some(nginx) = &server.nginx {
        lines.push(count(server, "nginx counted", nginx.requests, nginx.difference));
    }
    if let Some(log) = &server.access_log {
        let lines_of_log = Some(log.lines).filter(|_| log.error.is_none());
        let mut line = count(server, "access log has", lines_of_log, log.difference);
        line.facts.extend(log.error.as_ref().map(Fact::text));
        lines.push(line);
    }
    for process in &server.processes {
        let plural = if process.pids.len() == 1 { "" } else { "es" };
        let count = units::count(process.pids.len() as u64);
        let processes = Fact::text(format!("{count} process{plural}"));
        let mut facts = vec![Fact::text(&process.name), processes];
        let shares = [("CPU mean", process.cpu_mean), ("max", process.cpu_max)];
        let shares = shares.into_iter().filter_map(|(name, share)| Some((name, share?)));
        facts.extend(shares.map(|(name, share)| Fact::named(name, units::percent(share))));
        facts.push(Fact::named("memory", units::bytes(process.resident_max_bytes)));
        lines.push(Line::facts(facts));
    }
    lines.extend(failures(server));
    (!lines.is_empty()).then(|| Block::entry("Server", lines))
}

/// Formats `nginx counted 12,345 requests, as weir did`.
fn count(server: &ServerSection, who: &str, counted: Option<u64>, difference: Option<i64>) -> Line {
    let Some(counted) = counted else {
        return Line::facts(vec![Fact::text(format!("{who} an unknown number of requests"))]);
    };
    let requests = Fact::named(who, Fact::counted(counted, "request").text);
    let comparison = match difference {
        None => return Line::facts(vec![requests]),
        Some(0) => Fact::text("as many as weir sent"),
        Some(_) => {
            Fact::named("weir sent", units::count(server.weir.requests)).toned(Tone::Caution)
        }
    };
    Line::facts(vec![requests, comparison])
}

/// The sources with failed readings.
fn failures(server: &ServerSection) -> Vec<Line> {
    let pages = [
        server.nginx.as_ref().map(|nginx| (WATCH_NGINX, &nginx.polls)),
        server.prometheus.as_ref().map(|page| (WATCH_PROMETHEUS, &page.polls)),
    ];
    let processes = server.processes.iter().map(|process| (WATCH_PID, &process.polls));
    let commands = server.commands.iter().map(|command| (WATCH_COMMAND, &command.polls));
    let all = pages.into_iter().flatten().chain(processes).chain(commands);
    let line = |(setting, polls): (Setting, &Polls)| {
        let failed = Fact::counted(polls.failed, "failed reading").text;
        let failed = Fact::text(format!("{setting}: {failed}")).toned(Tone::Caution);
        let error = polls.error.as_ref().map(Fact::text);
        Line::facts([failed].into_iter().chain(error).collect())
    };
    all.filter(|(_, polls)| polls.failed > 0).map(line).collect()
}
