//! A claim that a document is judged by: a number, a comparison, a limit.

use std::iter;
use std::str::FromStr;

use weir_result::document::{AssertionOutcome, AssertionResult, Document};
use weir_result::quantile::Bound;
use weir_result::{ListOrder, ListPlan, Plan};
use weir_text::units;

use super::comparison::Relation;
use super::condition::Condition;
use super::confidence::{self, ConfidenceData, Estimate, LimitSide, Missing};
use super::estimate::{estimate, hits};
use super::metric::{AssertedMetric, AssertionError};
use super::reason;
use super::scope::Scope;
use super::scoped::{ScopedMetric, split_name};
use super::unit::{Unit, in_words};
use weir_text::setting::{ASSERT_CONFIDENCE, DURATION, REQUESTS};

/// A claim: a number of the document, a comparison, a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    pub(super) text: String,
    pub(super) metric: ScopedMetric,
    pub(super) comparison: Relation,
    /// Limit in the metric's unit.
    pub(super) limit: f64,
    /// Confidence below which a claim fails, 0 to 1.
    least_confidence: Option<f64>,
}

impl FromStr for Assertion {
    type Err = AssertionError;

    /// Parses `[NAME: ]METRIC OP VALUE`: `p99 < 5ms`, `errors<=0.1%`, `checkout: rate >= 50k`.
    fn from_str(text: &str) -> Result<Assertion, AssertionError> {
        let refuse = |why: String| Err(AssertionError(why));
        let (of, claim) = split_name(text);
        let condition = Condition::split(claim, "< <= > >= == !=")
            .map_err(|why| AssertionError(format!("{why}; write it like 'p99 < 5ms'")))?;
        let Condition { name, relation: comparison, limit } = condition;
        let metric = ScopedMetric::parse(of, name).map_err(AssertionError)?;
        let unit = metric.metric.unit();
        let limit = unit.parse(limit).map_err(AssertionError)?;
        let is_equality = matches!(comparison, Relation::Equal | Relation::Unequal);
        if is_equality && metric.metric.is_measured() {
            return refuse(format!("{name} cannot be compared with == or !=; use < or >"));
        }
        if limit == 0.0 && unit == Unit::Share && !is_equality {
            return refuse(format!(
                "no run is long enough to show that; use '{name} == 0' for none in this run"
            ));
        }
        let text = text.trim().to_owned();
        Ok(Assertion { text, metric, comparison, limit, least_confidence: None })
    }
}

impl Assertion {
    /// Returns the same claim, which fails below this confidence (0 to 1) if there is one.
    #[must_use]
    pub fn with_confidence(self, least_confidence: Option<f64>) -> Assertion {
        Assertion { least_confidence, ..self }
    }

    /// Checks that a plan has requests with the name that the claim is about, if it has one.
    ///
    /// # Errors
    /// When it has none; the message has the nearest name.
    pub fn check(&self, plan: &Plan) -> Result<(), AssertionError> {
        self.metric.check(plan).map_err(|AssertionError(why)| {
            AssertionError(format!("'{}': {why}", weir_text::brief(&self.text)))
        })
    }

    /// Judges a document. This is a pure function of it: a loaded document has the same result.
    pub fn judge(&self, document: &Document) -> AssertionResult {
        let result = AssertionResult {
            assertion: self.text.clone(),
            outcome: AssertionOutcome::Fail,
            value: None,
            bound: Bound::Exact,
            limit: self.limit,
            confidence: None,
            least_confidence: self.least_confidence,
            measured: String::new(),
            reason: None,
        };
        let scope = Scope::of(self.metric.name.as_deref(), document);
        let found = scope.and_then(|of| Ok((estimate(&self.metric.metric, &of)?, of)));
        let (estimate, scope) = match found {
            Ok(found) => found,
            Err(Missing { why, advice }) => {
                let unreached = reason::of_no_load(document).map(|measured| (measured, None));
                let (measured, reason) = unreached.unwrap_or((why, advice));
                return AssertionResult { measured, reason, ..result };
            }
        };
        let confidence = self
            .side(&estimate)
            .and_then(|side| confidence::of(&estimate.evidence, self.limit, side, 1.0));
        let reason = self.why_it_fails(&estimate, confidence, &scope);
        let outcome = match reason {
            None => AssertionOutcome::Pass,
            Some(_) => AssertionOutcome::Fail,
        };
        AssertionResult {
            outcome,
            value: Some(estimate.value),
            bound: estimate.bound,
            confidence,
            measured: self.in_words(&estimate, confidence, &scope),
            reason: reason.and_then(|reason| match reason.is_empty() {
                true => reason::of_no_load(document),
                false => Some(reason),
            }),
            ..result
        }
    }

    /// Formats `4.21 ms (99.8% confidence)`, or `6 of 600 requests (1.00%)` if the claim is about
    /// this run alone. A share is one of the planned requests; where some were never sent it says
    /// so, since other shares of the report are of those that were.
    fn in_words(&self, estimate: &Estimate, confidence: Option<f64>, scope: &Scope<'_>) -> String {
        let value = in_words(estimate.value, estimate.bound, self.metric.metric.unit());
        let planned = scope.results.planned;
        let what = if scope.are_users { "users" } else { "requests" };
        match self.metric.metric {
            AssertedMetric::Share(class) if self.comparison.is_of_this_run() => {
                let hits = units::count(hits(class, scope));
                return format!("{hits} of {} {what} ({value})", units::count(planned));
            }
            AssertedMetric::Count(_) => {
                return format!("{value} of {} {what}", units::count(planned));
            }
            _ => {}
        }
        let is_share = matches!(self.metric.metric, AssertedMetric::Share(_));
        let is_part = is_share && scope.results.outcomes.never_sent > 0;
        let of = if is_part { " of planned requests" } else { "" };
        match confidence {
            Some(share) => format!("{value}{of} ({} confidence)", units::confidence(share)),
            None => format!("{value}{of}"),
        }
    }

    /// Reason why the claim fails, `None` if it passes. Empty if the measured value shows it.
    fn why_it_fails(
        &self,
        estimate: &Estimate,
        confidence: Option<f64>,
        scope: &Scope<'_>,
    ) -> Option<String> {
        let holds = self.comparison.holds(estimate.value, self.limit);
        if !holds || !self.comparison.is_shown_by(estimate.bound) {
            return Some(reason::of_bound(estimate, self.comparison, self.limit, scope));
        }
        let is_blind = self.metric.metric.is_over_responses() && self.comparison.is_upper();
        if let Some(why) = reason::of_failed_target(scope).filter(|_| is_blind) {
            return Some(why);
        }
        let least = self.least_confidence?;
        let why_none = match &estimate.evidence {
            // Counts of this run are certain.
            _ if self.comparison.is_of_this_run() => return None,
            ConfidenceData::Fact => return None,
            ConfidenceData::Unknown(why) => why,
            _ => "none is known for this number",
        };
        let required = units::short_percent(least);
        match confidence {
            Some(found) if found >= least => None,
            Some(_) => {
                let at = |times| {
                    let side = self.side(estimate)?;
                    confidence::of(&estimate.evidence, self.limit, side, times)
                };
                let longer = longer(scope.document, |times| at(times) >= Some(least));
                Some(format!("less certain than {ASSERT_CONFIDENCE} {required}; {longer}"))
            }
            None => Some(format!("no confidence for {ASSERT_CONFIDENCE} {required}: {why_none}")),
        }
    }

    /// Returns the side of the limit on which the true value is, as far as the measured one shows
    /// it.
    fn side(&self, estimate: &Estimate) -> Option<LimitSide> {
        if self.comparison.is_of_this_run() {
            return None;
        }
        let holds = self.comparison.holds(estimate.value, self.limit);
        let is_below = holds == self.comparison.is_upper();
        let is_shown = match estimate.bound {
            Bound::Exact => true,
            Bound::Upper => is_below,
            Bound::Lower => !is_below,
            Bound::Unknown => false,
        };
        let counts_equal = matches!(self.comparison, Relation::Less | Relation::AtLeast);
        is_shown.then_some(LimitSide { is_below, counts_equal })
    }
}

/// Advice on the length of a run that reaches the required confidence. `is_certain` returns true if
/// a run so many times as long, with the same results, would reach it.
fn longer(document: &Document, is_certain: impl Fn(f64) -> bool) -> String {
    /// Longest proposed run, as a multiple of this one; longer ones are not worth proposing.
    const TIMES_MAX: f64 = 1_000.0;
    /// Factor between proposals: the estimate is no more precise than a quarter.
    const STEP: f64 = 1.25;
    let proposals = iter::successors(Some(STEP), |times| Some(times * STEP));
    let mut proposals = proposals.take_while(|times| *times <= TIMES_MAX);
    let is_once = |list: &ListPlan| list.order == ListOrder::Once;
    match (proposals.find(|times| is_certain(*times)), document.plan.load.requests) {
        (Some(times), _) if document.plan.list.as_ref().is_some_and(is_once) => {
            let source = if document.plan.load.log().is_some() { "log" } else { "list" };
            format!("it takes a {source} {times:.1} times as long")
        }
        (None, _) => "the limit is too near for a longer run to show it".to_owned(),
        (Some(times), Some(requests)) => {
            format!("use {REQUESTS} {}", (requests as f64 * times).ceil())
        }
        (Some(times), None) => {
            format!("use {DURATION} {}s", (document.throughput.window_s * times).ceil())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(text: &str, parts: &[&str]) {
        let error = text.parse::<Assertion>().expect_err(text).to_string();
        for part in parts {
            assert!(error.contains(part), "'{text}' lacks {part:?}: {error}");
        }
    }

    #[test]
    fn what_is_no_assertion_is_reported_with_the_remedy() {
        wrong("", &["no comparison", "p99 < 5ms"]);
        wrong("p99", &["no comparison", "p99 < 5ms"]);
        wrong("p99 = 5ms", &["< <= > >= == !="]);
        wrong("< 5ms", &["names no metric", "p99"]);
        wrong("p98 < 5ms", &["p98", "p95", "p99"]);
        wrong("p99.95.1 < 5ms", &["p99.95.1"]);
        wrong("p99 < 5", &["5ms"]);
        wrong("p99 <", &["a number is missing", "5"]);
        wrong("p99 < fast", &["'fast'", "500ms"]);
        wrong("p99 < 5%", &["'5%'"]);
        wrong("p99 == 5ms", &["p99 cannot be compared with ==", "use <"]);
        wrong("rate == 5", &["rate cannot be compared with =="]);
        wrong("eror < 1%", &["eror", "errors"]);
        wrong("servce.p99 < 5ms", &["servce.p99", "service"]);
        wrong("service.p98 < 5ms", &["p98", "p99"]);
        wrong("resuts.planned > 5", &["resuts", "results"]);
        wrong("errors < 5ms", &["'5ms'", "0.1%"]);
        wrong("errors < 200%", &["more than all"]);
        wrong("errors <= 0", &["errors == 0"]);
        wrong("errors.count < 1.5", &["no whole number"]);
        wrong("rate > much", &["'much'", "20k"]);
        wrong("good.share > 5%", &["'good' has no parts but '.count'"]);
        wrong("status.6xx < 1%", &["status.6xx", "status.5xx"]);
        wrong("nonsense < 1", &["nonsense", "docs/CI.md"]);
        wrong("checkout: p98 < 5ms", &["p98", "p95", "p99"]);
        wrong("checkout: < 5ms", &["names no metric"]);
        wrong(": p99 < 5ms", &["no name before ': '"]);
        wrong("checkout:p99 < 5ms", &["checkout:p99", "a colon and a blank"]);
        let whole = |text, remedy| wrong(text, &["of the whole run, not of 'a b'", remedy]);
        whole("a b: connect.p99 < 5ms", "use p99 or service.p99");
        whole("a b: send_lag.max < 5ms", "use p99 or service.p99");
        whole("a b: sent > 5", "use rate or good");
        whole("a b: bytes > 5k", "use rate or good");
        whole("a b: throughput.window_s > 5s", "leave out the name");
    }

    #[test]
    fn a_name_ends_at_the_last_colon_with_a_blank() {
        for (text, name, limit) in [
            ("checkout: p99 < 5ms", Some("checkout"), 5e6),
            (" GET /item/*:  p99<5ms", Some("GET /item/*"), 5e6),
            ("a: b:c <= d: errors == 0", Some("a: b:c <= d"), 0.0),
            ("(other): status.5xx.count < 3", Some("(other)"), 3.0),
            ("a: service.mean < 1s", Some("a"), 1e9),
            ("a: good > 1k", Some("a"), 1e3),
            ("p99 < 5ms", None, 5e6),
        ] {
            let assertion: Assertion = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(assertion.metric.name.as_deref(), name, "{text}");
            assert_eq!((assertion.limit, assertion.text.as_str()), (limit, text.trim()));
        }
    }

    #[test]
    fn what_is_an_assertion() {
        for (text, limit) in [
            ("p99 < 5ms", 5e6),
            ("p99<5ms", 5e6),
            ("  p99.9  <=  1.5 s ", 1.5e9),
            ("service.p99 > 0ms", 0.0),
            ("response_time.p50 < 100us", 1e5),
            ("connect.max < 1s", 1e9),
            ("mean >= 2ms", 2e6),
            ("rate >= 50k", 5e4),
            ("completed > 0", 0.0),
            ("good > 100/m", 100.0 / 60.0),
            ("bytes > 3MB/s", 3e6),
            ("errors < 0.1%", 0.001),
            ("errors < 0.001", 0.001),
            ("errors == 0", 0.0),
            ("errors.count <= 3", 3.0),
            ("timeouts.count == 0", 0.0),
            ("status.5xx < 1%", 0.01),
            ("status.404.count != 2k", 2000.0),
            ("results.completed_rps > 5k", 5e3),
            ("results.service_time.ok.max_ns < 5ms", 5e6),
            ("results.service_time.ok.percentiles.0.ns < 5ms", 5e6),
            ("throughput.window_s >= 10s", 10.0),
            ("run.client.max_resident_bytes < 64Mi", 67_108_864.0),
            ("results.outcomes.never_sent == 0", 0.0),
            ("health.steal < 0.01", 0.01),
            ("health.steal < 1%", 0.01),
            ("slices.0.completed > 5", 5.0),
        ] {
            let assertion: Assertion = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((assertion.limit - limit).abs() <= 1e-12 * limit, "{text}: {assertion:?}");
            assert_eq!(assertion.text, text.trim());
        }
    }
}
