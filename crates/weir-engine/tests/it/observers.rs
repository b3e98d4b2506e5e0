//! An observer from outside the engine sees each exchange once, with its request's tag, and the
//! slots that were never sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_engine::{
    Completion, ExchangeObserver, Job, NeverSent, ObserverFactory, Outcome, SlotPhase,
};
use weir_io::Nanos;
use weir_result::Outcomes;

use crate::setup::{MS, Run, closed, job, open, run_job, script, serving};

/// Outcomes of measured requests by tag. Slots that were never sent have no request, and count
/// under tag 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct PerTag(Arc<Mutex<BTreeMap<u16, Outcomes>>>);

impl PerTag {
    /// Returns a factory of observers that count here.
    pub(crate) fn factory(&self) -> ObserverFactory {
        let counts = self.clone();
        ObserverFactory::new(move |_worker| Box::new(counts.clone()))
    }

    fn by_tag(&self) -> BTreeMap<u16, Outcomes> {
        self.0.lock().expect("no observer panicked").clone()
    }

    /// Checks the counts against the run's.
    pub(crate) fn check(&self, run: &Run, what: &str) {
        let mut sum = Outcomes::default();
        for counts in self.by_tag().values() {
            sum.ok += counts.ok;
            sum.bad_response += counts.bad_response;
            sum.transport_error += counts.transport_error;
            sum.timed_out += counts.timed_out;
            sum.in_flight_at_end += counts.in_flight_at_end;
            sum.never_sent += counts.never_sent;
        }
        // Observers see shed slots as such that were never sent.
        sum.shed = run.measured.results.outcomes.shed;
        assert_eq!(
            sum, run.measured.results.outcomes,
            "{what}: observed, and counted by the recorder"
        );
    }
}

impl ExchangeObserver for PerTag {
    fn completed(&mut self, completion: &Completion) {
        if completion.exchange.phase != SlotPhase::Measured {
            return;
        }
        let mut by_tag = self.0.lock().expect("no observer panicked");
        let counts = by_tag.entry(completion.exchange.tag).or_default();
        match completion.outcome {
            Outcome::Ok(_) => counts.ok += 1,
            Outcome::BadResponse(_) => counts.bad_response += 1,
            Outcome::TransportError(_) => counts.transport_error += 1,
            Outcome::TimedOut => counts.timed_out += 1,
            Outcome::InFlightAtEnd => counts.in_flight_at_end += 1,
        }
    }

    fn never_sent(&mut self, slots: &NeverSent<'_>) {
        let intended_at: Vec<Nanos> = slots.intended_at().take(1_000).collect();
        assert!(intended_at.is_sorted() && intended_at.iter().all(|at| *at <= slots.given_up_at));
        let mut by_tag = self.0.lock().expect("no observer panicked");
        by_tag.entry(0).or_default().never_sent += slots.count;
    }
}

#[test]
fn requests_of_one_string_have_tags_of_their_own() {
    const THREE: &str = r#"
function request()
  return wrk.format("GET", "/a") .. wrk.format("GET", "/b") .. wrk.format("GET", "/c")
end
"#;
    for plan in [closed(2), open(1_000, 1, 10)] {
        let observed = PerTag::default();
        let job = Job { observers: vec![observed.factory()], ..job(&plan) };
        let run = run_job(serving(MS), &job, 0, Nanos::MAX, Some(&mut script(THREE)));
        let what = format!("{:?}", plan.load);
        observed.check(&run, &what);
        let by_tag = observed.by_tag();
        let ok: Vec<u64> = by_tag.values().map(|counts| counts.ok).collect();
        assert_eq!(by_tag.keys().copied().collect::<Vec<_>>(), [0, 1, 2], "{what}");
        assert!(ok[0] > 100 && ok[0].abs_diff(ok[2]) <= 4, "{what}: {ok:?}");
    }
}
