//! An agent as the coordinator of a run sees it.

use weir_result::Part;
use weir_runner::HttpChoice;

use crate::clock::{ClockEstimate, ClockProbe, ClockSpan};
use crate::message::{Ending, FromAgent, RunId, Sender, ToAgent};

/// How the part of an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEnd {
    /// The agent reported this ending.
    Reported(Ending),
    /// The agent was not heard for the time of the lease, or did not end.
    Lost {
        /// When it was heard last, on the coordinator's clock.
        heard_ns: u64,
    },
    /// It has reported no end, and its coordinator is gone.
    Unknown,
    /// The agent's process was started again.
    Restarted {
        /// When the first process was heard last, on the coordinator's clock.
        heard_ns: u64,
    },
}

/// The fate of an agent in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberResult {
    /// Name of the agent.
    pub agent: String,
    /// Its part of the run.
    pub part: Part,
    /// How it ended.
    pub end: MemberEnd,
    /// Begin of its load on its own clock, in nanoseconds; none if it is unknown.
    pub begun_own_ns: Option<u64>,
    /// Begin of its load, on the coordinator's clock; none if it never began, or is unknown.
    pub begun: Option<ClockSpan>,
    /// Bounds of the share by which its clock is faster; none if they are unknown.
    pub drift: Option<(f64, f64)>,
    /// Times in which it was not heard for 3 s, on the coordinator's clock.
    pub silences_ns: Vec<(u64, u64)>,
}

/// Returns the longest time that can lie between the first and the last begin of the loads, in
/// nanoseconds; `None` if one is unknown.
pub fn start_spread_ns(members: &[MemberResult]) -> Option<u64> {
    let begins: Vec<ClockSpan> =
        members.iter().map(|member| member.begun).collect::<Option<_>>()?;
    let first = begins.iter().map(|begin| begin.low_ns).min()?;
    let last = begins.iter().map(|begin| begin.high_ns).max()?;
    Some(last - first)
}

/// Time without a message after which an agent counts as silent, in nanoseconds.
pub(crate) const SILENCE_NS: u64 = 3_000_000_000;

/// Time between two probes of one clock before the load, and at least between those of two clocks,
/// in nanoseconds. Probes of many agents at once would wait for each other, and each wait widens
/// the bounds.
const PROBE_EVERY_NS: u64 = 32_000_000;
const PROBE_SPACE_NS: u64 = 500_000;

/// Longest reason of an agent, in characters.
pub(crate) const REASON_MAX: usize = 2_000;

/// Returns the time between two probes of one clock before the load, in nanoseconds.
pub(crate) fn probe_every_ns(agents: u32) -> u64 {
    PROBE_EVERY_NS.max(u64::from(agents) * PROBE_SPACE_NS)
}

/// How far an agent has come, as far as the coordinator was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MemberProgress {
    /// Requested to prepare.
    Requested,
    Ready,
    Refused(String),
    Armed,
    /// Its load is planned or under way.
    Loading,
    Over(MemberEnd),
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) sender: Sender,
    pub(crate) part: Part,
    pub(crate) progress: MemberProgress,
    /// HTTP version with which it is ready; none before.
    pub(crate) http: Option<HttpChoice>,
    pub(crate) clock: ClockEstimate,
    /// When its clock is probed next.
    probe_ns: u64,
    /// When it was heard last.
    pub(crate) heard_ns: u64,
    /// Begin of the time in which it could be heard and was not.
    quiet_from_ns: u64,
    /// Begin of its load, on its clock.
    begun_ns: Option<u64>,
    silences_ns: Vec<(u64, u64)>,
}

impl Member {
    pub(crate) fn new(sender: Sender, part: Part, clock: ClockEstimate, now_ns: u64) -> Member {
        let agents = part.count();
        let turn_ns = probe_every_ns(agents) / u64::from(agents) * u64::from(part.index() - 1);
        Member {
            sender,
            part,
            progress: MemberProgress::Requested,
            http: None,
            clock,
            probe_ns: now_ns + turn_ns,
            heard_ns: now_ns,
            quiet_from_ns: now_ns,
            begun_ns: None,
            silences_ns: Vec::new(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.progress, MemberProgress::Over(_))
    }

    /// True if its whole load was carried out.
    pub(crate) fn is_complete(&self) -> bool {
        self.progress == MemberProgress::Over(MemberEnd::Reported(Ending::Planned))
    }

    /// Returns for how long it could be heard and was not, in nanoseconds.
    pub(crate) fn quiet_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.quiet_from_ns)
    }

    /// True if a probe of its clock is due; the next time is after `every_ns`.
    pub(crate) fn needs_probe(&mut self, now_ns: u64, every_ns: u64) -> bool {
        let is_due = now_ns >= self.probe_ns && !self.clock.is_same();
        if is_due {
            self.probe_ns = now_ns + every_ns;
        }
        is_due
    }

    /// Notes that no agent could be heard until now: the bus was away.
    pub(crate) fn excuse(&mut self, now_ns: u64) {
        self.quiet_from_ns = self.quiet_from_ns.max(now_ns);
    }

    /// Notes that this process of the agent was heard.
    pub(crate) fn hear(&mut self, now_ns: u64) {
        if self.quiet_ns(now_ns) > SILENCE_NS && !self.is_over() {
            self.silences_ns.push((self.heard_ns, now_ns));
        }
        self.heard_ns = self.heard_ns.max(now_ns);
        self.quiet_from_ns = self.heard_ns;
    }

    /// Takes a message of this process of the agent.
    pub(crate) fn receive(&mut self, now_ns: u64, run: &RunId, message: FromAgent) {
        match message {
            FromAgent::Clock { sent_ns, received_ns, replied_ns } => {
                let returned_ns = now_ns;
                self.clock.add(ClockProbe { sent_ns, received_ns, replied_ns, returned_ns });
            }
            FromAgent::Ready { run: of, http } if of == *run => {
                self.http = Some(http);
                self.advance(MemberProgress::Ready);
            }
            FromAgent::Refused { run: of, reason } if of == *run => {
                let reason = reason.chars().take(REASON_MAX).collect();
                self.advance(MemberProgress::Refused(reason));
            }
            FromAgent::Armed { run: of } if of == *run => self.advance(MemberProgress::Armed),
            FromAgent::Working { run: of, begun_ns } if of == *run => {
                self.begun_ns = self.begun_ns.or(begun_ns);
            }
            FromAgent::Ended { run: of, begun_ns, ending } if of == *run => {
                self.begun_ns = self.begun_ns.or(begun_ns);
                // A late report of one that was given up changes nothing that was decided by then.
                self.advance(MemberProgress::Over(MemberEnd::Reported(ending)));
            }
            _ => {}
        }
    }

    /// Goes on to a later step: messages that overtake each other lead to none before.
    pub(crate) fn advance(&mut self, to: MemberProgress) {
        let rank = |progress: &MemberProgress| match progress {
            MemberProgress::Requested => 0,
            MemberProgress::Ready => 1,
            MemberProgress::Refused(_) | MemberProgress::Armed => 2,
            MemberProgress::Loading => 3,
            MemberProgress::Over(_) => 4,
        };
        if rank(&to) > rank(&self.progress) {
            self.progress = to;
        }
    }

    /// Returns the message that tells the start, given on the coordinator's clock, on the agent's;
    /// `None` if that clock is unknown.
    pub(crate) fn arm(&self, run: &RunId, at_ns: u64) -> Option<ToAgent> {
        let at_ns = self.clock.agent_time(at_ns)?.middle_ns();
        Some(ToAgent::Arm { run: run.clone(), at_ns })
    }

    pub(crate) fn result(&self) -> Option<MemberResult> {
        let MemberProgress::Over(end) = &self.progress else { return None };
        Some(MemberResult {
            agent: self.sender.agent.clone(),
            part: self.part,
            end: end.clone(),
            begun_own_ns: self.begun_ns,
            begun: self.begun_ns.and_then(|at_ns| self.clock.coordinator_time(at_ns)),
            drift: self.clock.drift(),
            silences_ns: self.silences_ns.clone(),
        })
    }
}
