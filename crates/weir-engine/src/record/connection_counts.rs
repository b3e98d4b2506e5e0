//! Counts of one worker's connections, and the times that they took to open.

use weir_http::{EndReason, Multiplexed, PushedMessage, WindowWaits};
use weir_io::Nanos;
use weir_result::{Connections, FailureKind, Histogram, Measurements, Tally, TlsCounts};
use weir_text::printable;

use crate::time::Timeline;

/// Most characters that are kept of a peer's words for the end of a connection, and most different
/// ends with such words of one worker: the others are counted by their reason alone.
const REASON_CHARS_MAX: usize = 64;
const REASONS_MAX: usize = 32;

/// Counts of connections and their connect times.
#[derive(Debug)]
pub(crate) struct ConnectionCounts {
    counts: Connections,
    connect: ConnectTimes,
    /// Times until connections that are opened during the load were open for requests.
    grown: Tally,
    tls_handshake: Tally,
    /// Handshakes by kind; `None` without TLS.
    pub(crate) tls: Option<TlsCounts>,
    /// Times of the opening exchanges of multiplexed protocols.
    pub(crate) opening: Tally,
    /// Times between messages in the window that the server sent by itself.
    push_gap: Tally,
}

/// Connect times, by the phase in which the connection opened.
#[derive(Debug, Default)]
struct ConnectTimes {
    /// Before S.
    setup: Tally,
    window: Tally,
    /// In the warm-up, and after t1.
    other: Tally,
}

impl ConnectionCounts {
    /// Returns the counts of `requested` connections, none of which is open.
    pub(super) fn new(requested: u64, has_tls: bool) -> ConnectionCounts {
        ConnectionCounts {
            counts: Connections { requested, ..Connections::default() },
            connect: ConnectTimes::default(),
            grown: Tally::new(),
            tls_handshake: Tally::new(),
            tls: has_tls.then(TlsCounts::default),
            opening: Tally::new(),
            push_gap: Tally::new(),
        }
    }

    /// Counts a connection that opened at `at`; `open` are open now.
    pub(super) fn connected(&mut self, timeline: &Timeline, took_ns: u64, open: u64, at: Nanos) {
        self.counts.connects += 1;
        self.counts.open_max = self.counts.open_max.max(open);
        let connects = match &mut self.connect {
            ConnectTimes { setup, .. } if at < timeline.start => setup,
            ConnectTimes { window, .. } if timeline.is_in_window(at) => window,
            ConnectTimes { other, .. } => other,
        };
        connects.record(took_ns);
    }

    /// Counts a connection that is open for the first time, during the load, `took_ns` after its
    /// connect began.
    pub(crate) fn grown(&mut self, took_ns: u64) {
        self.counts.grown += 1;
        self.grown.record(took_ns);
    }

    /// Counts a connection that is there by plan, or is there again.
    pub(crate) fn joined(&mut self) {
        self.counts.joined += 1;
    }

    /// Counts a connection that has left by plan.
    pub(crate) fn left(&mut self) {
        self.counts.left += 1;
    }

    /// Counts a connection that has reached its limit of requests or age.
    pub(crate) fn renewed(&mut self) {
        self.counts.renewed += 1;
    }

    /// Counts an idle connection that its peer closed.
    pub(crate) fn closed_by_peer(&mut self) {
        self.counts.closed_by_peer += 1;
    }

    /// Counts a connection that failed.
    pub(super) fn failed(&mut self, kind: FailureKind) {
        *self.counts.failures.entry(kind).or_default() += 1;
    }

    /// Records the number of connections that are open at the start of the window.
    pub(crate) fn open_at_t0(&mut self, open: u64) {
        self.counts.open_at_t0 = open;
    }

    /// Records the number of connections that are open at the end of the load.
    pub(crate) fn open_at_end(&mut self, open: u64) {
        self.counts.open_at_end = open;
    }

    /// Records the number of connections that are neither open nor failed at the end of the run.
    pub(crate) fn opening_at_end(&mut self, opening: u64) {
        self.counts.opening_at_end = opening;
    }

    /// Records the opening exchange of a multiplexed protocol, after which messages are compressed
    /// or not.
    pub(crate) fn opened(&mut self, took_ns: u64, is_compressed: bool) {
        self.opening.record(took_ns);
        self.counts.deflated += u64::from(is_compressed);
    }

    /// Records a TLS handshake that ended at `at`.
    pub(super) fn secured(&mut self, timeline: &Timeline, took_ns: u64, at: Nanos) {
        self.tls_handshake.record(took_ns);
        if let Some(tls) = &mut self.tls {
            tls.in_window += u64::from(timeline.is_in_window(at));
        }
    }

    /// Adds a message that the server of a connection sent by itself, read at `at`.
    pub(super) fn pushed(&mut self, timeline: &Timeline, pushed: PushedMessage, at: Nanos) {
        self.counts.pushed += 1;
        self.counts.pushed_bytes += pushed.bytes;
        if timeline.is_in_window(at) {
            self.counts.pushed_in_window += 1;
            pushed.gap_ns.into_iter().for_each(|gap_ns| self.push_gap.record(gap_ns));
        }
    }

    /// Counts a socket, which ends, whose peer announced the end with a reason, or allows no
    /// streams, or fewer than `depth`.
    pub(crate) fn socket_ended(&mut self, protocol: &dyn Multiplexed, depth: u16) {
        let counts = &mut self.counts;
        if let Some(allowed) = protocol.streams_allowed().map(u64::from)
            && allowed > 0
            && allowed < depth.into()
            && (counts.streams_allowed == 0 || allowed < counts.streams_allowed)
        {
            counts.streams_allowed = allowed;
        }
        if protocol.allows_no_streams() {
            counts.without_streams += 1;
        }
        if let Some(reason) = protocol.goaway() {
            self.announced_end(reason, protocol.goaway_text());
        }
    }

    /// Counts a connection whose end its peer announced with a reason, and with `text` in its own
    /// words.
    fn announced_end(&mut self, reason: &EndReason, text: &str) {
        let counts = &mut self.counts.goaways;
        let text: String = printable(text).chars().take(REASON_CHARS_MAX).collect();
        let is_number = reason.name.bytes().all(|byte| byte.is_ascii_digit());
        let name = match (text.is_empty(), is_number) {
            (true, _) => reason.name.to_owned(),
            (false, true) => format!("{} {text}", reason.name),
            (false, false) => format!("{}: {text}", reason.name),
        };
        // A peer that makes up reasons fills no memory.
        let is_kept = counts.len() < REASONS_MAX || counts.contains_key(&name);
        let name = if is_kept { name } else { reason.name.to_owned() };
        *counts.entry(name).or_default() += 1;
    }

    /// Adds the waits of request bodies on a connection for its peer's windows.
    pub(crate) fn window_waits(&mut self, waits: WindowWaits) {
        self.counts.window_waits += waits.waits;
        self.counts.window_wait_ns += waits.waited_ns;
    }

    /// Adds the counts and times to the worker's measurements.
    pub(super) fn finish(self, measurements: &mut Measurements) {
        let ConnectTimes { setup, window, other } = &self.connect;
        measurements.connect_setup = Histogram::from(setup);
        measurements.connect_window = Histogram::from(window);
        measurements.connect = Histogram::from(setup);
        [window, other].into_iter().for_each(|times| measurements.connect.add_tally(times));
        measurements.connect_grown = Histogram::from(&self.grown);
        measurements.tls_handshake = Histogram::from(&self.tls_handshake);
        measurements.opening = Histogram::from(&self.opening);
        measurements.push_gap = Histogram::from(&self.push_gap);
        measurements.tls = self.tls;
        measurements.connections = self.counts;
    }
}
