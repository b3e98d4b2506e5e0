//! The log of an agent: one line for each thing that happened to it. The owner of the machine reads
//! there which loads it carried out, and for whom.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use weir_result::{Document, Plan};
use weir_text::units;

use crate::LEASE_NS;
use crate::agent::AgentAction;
use crate::bus::BusEvent;
use crate::message::{Ending, FromAgent, Order, RunId};

/// Writes a line of the log.
pub type LogWriter = Arc<dyn Fn(&str) + Send + Sync>;

/// The log of an agent, which its threads share. Without a writer it has no line.
#[derive(Clone, Default)]
pub(crate) struct AgentLog {
    write: Option<LogWriter>,
    written: Arc<Mutex<Written>>,
}

/// States that are in the log: messages of them are repeated, lines are not.
#[derive(Debug, Default)]
struct Written {
    is_bus_away: bool,
    refused: Option<(RunId, String)>,
    ended: Option<RunId>,
}

impl fmt::Debug for AgentLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentLog").field("written", &self.written).finish_non_exhaustive()
    }
}

impl AgentLog {
    pub(crate) fn to(write: LogWriter) -> AgentLog {
        AgentLog { write: Some(write), ..AgentLog::default() }
    }

    /// Logs a change of the bus.
    pub(crate) fn bus(&self, event: &BusEvent) {
        let is_away = match event {
            BusEvent::Away => true,
            BusEvent::Back => false,
            BusEvent::Received { .. } => return,
        };
        if self.change(|written| std::mem::replace(&mut written.is_bus_away, is_away) != is_away) {
            self.line(if is_away { "the bus is lost" } else { "the bus is found again" });
        }
    }

    /// Logs an action that changes the state of a run.
    pub(crate) fn action(&self, action: &AgentAction) {
        match action {
            AgentAction::Prepare(order) => self.ordered(order),
            AgentAction::Send(FromAgent::Refused { run, reason }) => {
                let refused = (run.clone(), reason.clone());
                let is_new = |written: &mut Written| {
                    written.refused.replace(refused.clone()).as_ref() != Some(&refused)
                };
                if self.change(is_new) {
                    self.line(&format!("run {run}: refused: {reason}"));
                }
            }
            AgentAction::Send(FromAgent::Ended { run, ending, .. }) => {
                let is_new = |written: &mut Written| {
                    written.ended.replace(run.clone()).as_ref() != Some(run)
                };
                if self.change(is_new) {
                    self.line(&format!("run {run}: {}", ending_in_words(ending)));
                }
            }
            _ => {}
        }
    }

    fn ordered(&self, Order { run, part, signature, .. }: &Order) {
        let by = match signature {
            Some(signature) => format!(", signed with {}", signature.key),
            None => ", not signed".to_owned(),
        };
        self.line(&format!("run {run}: ordered to carry out part {part}{by}"));
    }

    /// Logs the load of a run, of which this agent carries out its part.
    pub(crate) fn planned(&self, run: &str, plan: &Plan) {
        let rate = match plan.load.rate() {
            Some(_) if !plan.load.stages().is_empty() => " at a rate in stages".to_owned(),
            Some(rate) => format!(" at {}", units::round_rate(rate.rps())),
            None => String::new(),
        };
        let length = match (plan.load.length_ns(), plan.load.requests) {
            (Some(ns), _) => format!(" for {}", units::exact_duration(ns)),
            (None, Some(requests)) => format!(" for {} requests", units::count(requests)),
            (None, None) => String::new(),
        };
        let method = &plan.request.method;
        let url = &plan.url;
        let connections = units::count(plan.load.connections.count().into());
        self.line(&format!(
            "run {run}: its share of {method} {url}{rate} on {connections} connections{length}"
        ));
    }

    /// Logs what a part sent.
    pub(crate) fn measured(&self, run: &str, document: &Document) {
        let results = &document.results;
        let accounting = &document.accounting;
        let sent = units::count(accounting.sent.total);
        let ok = units::count(results.outcomes.ok);
        self.line(&format!("run {run}: sent {sent} requests; {ok} of the measured ones were ok"));
    }

    /// Changes the known states. Returns what `change` does: true if the state is new.
    fn change(&self, change: impl FnOnce(&mut Written) -> bool) -> bool {
        // A state is set at once, so a panic of another thread leaves none in between.
        change(&mut self.written.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn line(&self, text: &str) {
        self.write.iter().for_each(|write| write(text));
    }
}

fn ending_in_words(ending: &Ending) -> String {
    match ending {
        Ending::Planned => "ended as planned".to_owned(),
        Ending::Stopped => "stopped by the coordinator".to_owned(),
        Ending::LeaseExpired => {
            format!(
                "stopped: no message of the coordinator for {}",
                units::exact_duration(LEASE_NS)
            )
        }
        Ending::Signal(name) => format!("ended by {name}"),
        Ending::Failed(reason) => format!("failed: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::RunWork;
    use weir_result::Part;

    #[test]
    fn each_change_is_one_line() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&lines);
        let log = AgentLog::to(Arc::new(move |line: &str| {
            theirs.lock().expect("no panic").push(line.to_owned());
        }));
        let run = || "7".to_owned();
        log.bus(&BusEvent::Back);
        let order = Order {
            run: run(),
            part: Part::new(1, 2).expect("it exists"),
            http: None,
            work: RunWork::default(),
            signature: None,
        };
        log.action(&AgentAction::Prepare(order));
        let refused = AgentAction::Send(FromAgent::Refused { run: run(), reason: "no".to_owned() });
        let ending = Ending::Signal("SIGTERM".to_owned());
        let ended = AgentAction::Send(FromAgent::Ended { run: run(), begun_ns: None, ending });
        for _ in 0..3 {
            log.bus(&BusEvent::Away);
            log.action(&refused);
            log.action(&ended);
        }
        log.bus(&BusEvent::Back);
        assert_eq!(
            *lines.lock().expect("no panic"),
            [
                "run 7: ordered to carry out part 1 of 2, not signed",
                "the bus is lost",
                "run 7: refused: no",
                "run 7: ended by SIGTERM",
                "the bus is found again",
            ]
        );
    }
}
