//! Rules about the watched server: `server-count` and `dropped-accepts` (METHOD 1.9). Its counts
//! are a second opinion on weir's; a difference changes no printed number.

use crate::rules::measure::Measure;
use crate::thresholds::{DROPPED_ACCEPTS_FINDING, SERVER_COUNT_FINDING};
use weir_result::document::{Document, Rule, RuleUnit, ServerSection, Subject};
use weir_text::units;

/// Judges the counts of a server that was watched.
pub(crate) fn judge(document: &Document, rules: &mut Vec<Rule>) {
    let Some(server) = &document.server else { return };
    rules.extend(server_count(server));
    rules.extend(dropped_accepts(server));
}

/// Judges the difference between the requests that weir sent and those that nginx counted or
/// logged.
fn server_count(server: &ServerSection) -> Option<Rule> {
    if server.nginx.is_none() && server.access_log.is_none() {
        return None;
    }
    let what = "the server's count differs";
    let measure = Measure::new("server-count", what, Subject::Workload, RuleUnit::Count)
        .finding_at(SERVER_COUNT_FINDING);
    if let Some(why) = &server.not_compared {
        return Some(measure.unknown(why));
    }
    let mut counts = Vec::new();
    if let Some(nginx) = &server.nginx {
        let Some(counted) = nginx.requests else {
            return Some(measure.unknown("nginx was restarted, or its last reading failed"));
        };
        let unexplained = server.weir.unexplained(counted, nginx.polls.failed);
        counts.push(("nginx counted", counted, unexplained));
    }
    if let Some(log) = &server.access_log {
        if let Some(why) = &log.error {
            return Some(measure.unknown(why));
        }
        counts.push(("the access log has", log.lines, log.unexplained(&server.weir)));
    }
    let (who, counted, unexplained) = counts.into_iter().max_by_key(|(.., apart)| *apart)?;
    let sent = server.weir.requests;
    let evidence = format!(
        "{who} {} requests, weir sent {}, {} unexplained",
        units::count(counted),
        units::count(sent),
        units::count(unexplained),
    );
    let remedy = match counted {
        counted if counted > sent => "stop other clients",
        counted if counted < sent => "check for a proxy, or a sampled log",
        _ => "compare the status codes",
    };
    let weight = unexplained as f64 / sent.max(1) as f64;
    Some(measure.weight(weight).judge(unexplained as f64, &evidence, remedy))
}

/// Judges the connections that nginx accepted and closed without handling them.
fn dropped_accepts(server: &ServerSection) -> Option<Rule> {
    let nginx = server.nginx.as_ref()?;
    let what = "nginx dropped connections";
    let measure = Measure::new("dropped-accepts", what, Subject::Server, RuleUnit::Count)
        .finding_at(DROPPED_ACCEPTS_FINDING);
    let Some((dropped, after)) = nginx.dropped.zip(nginx.after) else {
        return Some(measure.unknown("nginx was restarted, or its last reading failed"));
    };
    let accepted = after.accepts.saturating_sub(nginx.before.accepts);
    let evidence = format!(
        "{} of {} accepted connections were not handled",
        units::count(dropped),
        units::count(accepted),
    );
    let weight = dropped as f64 / accepted.max(1) as f64;
    Some(measure.weight(weight).judge(dropped as f64, &evidence, "raise worker_connections"))
}
