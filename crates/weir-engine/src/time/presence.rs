//! The times at which the connections of a closed loop in stages are there. Each connection's times
//! follow from the plan alone, not from threads or parts (METHOD 1.24).

use std::ops::Range;

use weir_io::{ConnId, Nanos};
use weir_result::{ConnectionStage, Plan};

use super::partition::Partition;

/// The times of one worker's connections; without stages each is always there.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    /// Offsets from t0 between which each connection is there, in order and apart. A connection
    /// that is there at t0 is there before it too.
    spans: Vec<Vec<Range<u64>>>,
    /// Begin of the window; [`Nanos::MAX`] as long as it is not known.
    t0: Nanos,
}

impl Presence {
    /// Returns the times of the connections of one part of the plan.
    pub(crate) fn new(plan: &Plan, partition: Partition) -> Presence {
        let stages = plan.load.connections.stages();
        let own = if stages.is_empty() { 0 } else { partition.own_connections };
        let spans = (0..own).map(|conn| spans(stages, partition.nth_connection(conn)));
        Presence { spans: spans.collect(), t0: Nanos::MAX }
    }

    /// True if connections come and leave.
    #[inline]
    pub(crate) fn is_staged(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Sets the start of the window.
    pub(crate) fn begin(&mut self, t0: Nanos) {
        self.t0 = t0;
    }

    /// Returns the time from which `conn` is there, or there again: `now`, if it is there now;
    /// [`Nanos::MAX`] if never.
    pub(crate) fn comes_at(&self, conn: ConnId, now: Nanos) -> Nanos {
        let Some(spans) = self.spans.get(conn.index()) else { return now };
        let next = spans.iter().find(|span| self.at(span.end) > now);
        next.map_or(Nanos::MAX, |span| match is_at_t0(span) {
            true => now,
            false => self.at(span.start).max(now),
        })
    }

    /// True if `conn` comes at `at`, and was not there before.
    pub(crate) fn comes(&self, conn: ConnId, at: Nanos) -> bool {
        let spans = self.spans.get(conn.index()).into_iter().flatten();
        spans.filter(|span| !is_at_t0(span)).any(|span| self.at(span.start) == at)
    }

    /// Returns the time at which `conn`, there since `since`, leaves: at once, if it should not be
    /// there; [`Nanos::MAX`] if never.
    pub(crate) fn leaves_at(&self, conn: ConnId, since: Nanos) -> Nanos {
        let Some(spans) = self.spans.get(conn.index()) else { return Nanos::MAX };
        let began = |span: &&Range<u64>| is_at_t0(span) || self.at(span.start) <= since;
        spans.iter().rev().find(began).map_or(since, |span| self.at(span.end).max(since))
    }

    fn at(&self, offset_ns: u64) -> Nanos {
        self.t0.after(offset_ns)
    }
}

fn is_at_t0(span: &Range<u64>) -> bool {
    span.start == 0
}

/// Returns the offsets between which connection `number` of the run is there: as long as the
/// planned number of connections is at least `number + ½`. Behind the last stage its last number
/// goes on.
fn spans(stages: &[ConnectionStage], number: u32) -> Vec<Range<u64>> {
    let mut spans: Vec<Range<u64>> = Vec::new();
    let mut add = |span: Range<u64>| match spans.last_mut() {
        _ if span.is_empty() => {}
        Some(last) if last.end == span.start => last.end = span.end,
        _ => spans.push(span),
    };
    let mut from_ns = 0;
    for stage in stages {
        let within = span_in(stage, number);
        add(from_ns + within.start..from_ns + within.end);
        from_ns += stage.duration_ns;
    }
    if stages.last().is_some_and(|last| number < last.to) {
        add(from_ns..u64::MAX);
    }
    spans
}

/// Returns the offsets within one stage.
fn span_in(stage: &ConnectionStage, number: u32) -> Range<u64> {
    let from = u128::from(stage.from);
    let to = u128::from(stage.to);
    let length = u128::from(stage.duration_ns);
    let number = u128::from(number);
    let is_there = |connections: u128| number < connections;
    // The line reaches number + ½ at |2·number + 1 − 2·from| · length / (2·|to − from|).
    let crossing = |distance: u128, height: u128| (distance * length).div_ceil(2 * height) as u64;
    match (is_there(from), is_there(to)) {
        (true, true) => 0..stage.duration_ns,
        (false, false) => 0..0,
        (false, true) => crossing(2 * number + 1 - 2 * from, to - from)..stage.duration_ns,
        (true, false) => 0..crossing(2 * from - 2 * number - 1, from - to),
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{ConnectionLoad, Load, parse_connection_stages};

    use super::*;

    fn presence(text: &str, part: u32, parts: u32) -> Presence {
        let connections = ConnectionLoad::Stages(parse_connection_stages(text).expect("stages"));
        let partition = Partition::new(part, parts, connections.count());
        let plan = Plan { load: Load { connections, ..Plan::default().load }, ..Plan::default() };
        let mut presence = Presence::new(&plan, partition);
        presence.begin(Nanos(1_000));
        presence
    }

    #[test]
    fn connections_come_and_leave_where_the_line_passes_them() {
        let presence = presence("10ns@c=2,100ns@c=0..5,10ns@c=1,100ns@c=5..0", 0, 1);
        let spans: Vec<&[Range<u64>]> = presence.spans.iter().map(Vec::as_slice).collect();
        assert_eq!(spans[0], [0..10, 20..210]);
        assert_eq!(spans[4], [100..110, 120..130]);
    }

    #[test]
    fn a_connection_knows_when_it_comes_and_leaves() {
        let presence = presence("100ns@c=1..3,100ns@c=3..1,50ns@c=1,50ns@c=3", 1, 2);
        let conn = ConnId(0);
        assert_eq!(presence.spans, [vec![25..175, 250..u64::MAX]]);
        assert_eq!(presence.comes_at(conn, Nanos(7)), Nanos(1_025));
        assert_eq!(presence.comes_at(conn, Nanos(1_030)), Nanos(1_030));
        assert_eq!(presence.comes_at(conn, Nanos(1_175)), Nanos(1_250));
        assert_eq!(presence.leaves_at(conn, Nanos(1_030)), Nanos(1_175));
        assert_eq!(presence.leaves_at(conn, Nanos(1_180)), Nanos(1_180));
        assert_eq!(presence.leaves_at(conn, Nanos(1_260)), Nanos::MAX);
    }

    #[test]
    fn the_number_that_is_there_is_the_planned_one() {
        let stages = "7us@c=3,11us@c=3..17,5us@c=40,13us@c=40..0,3us@c=0..9,2us@c=9";
        let planned = parse_connection_stages(stages).expect("stages");
        let parts = [0, 1, 2].map(|part| presence(stages, part, 3));
        for offset in (0..41_000).step_by(37) {
            let there = parts.iter().flat_map(|part| &part.spans);
            let there = there.filter(|spans| spans.iter().any(|span| span.contains(&offset)));
            let line = line_at(&planned, offset);
            assert_eq!(there.count() as f64, (line + 0.5).floor(), "{offset}: {line}");
        }
    }

    /// The planned number as a fraction, away from the borders of stages.
    fn line_at(stages: &[ConnectionStage], offset: u64) -> f64 {
        let mut from = 0;
        for stage in stages {
            if offset < from + stage.duration_ns {
                let share = (offset - from) as f64 / stage.duration_ns as f64;
                let begin = f64::from(stage.from);
                let end = f64::from(stage.to);
                return begin + (end - begin) * share;
            }
            from += stage.duration_ns;
        }
        f64::from(stages[stages.len() - 1].to)
    }
}
