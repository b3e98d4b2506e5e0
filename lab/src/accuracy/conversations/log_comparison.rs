//! Counts, rates and times of conversations in weir's document, beside those of the model's log.

use anyhow::{Context, Result};
use weir_result::Document;
use weir_result::document::Metric;

use super::request_log::{CompletedRequest, RequestLog};
use crate::accuracy::interop::counts::Counts;
use crate::rig::{rate, thousands};

/// The client's first token is later than the server's write by no more, at p50.
pub(super) const FIRST_LATE_MAX_NS: f64 = 2e6;

/// Times per token differ by no more than this share, at p50.
pub(super) const PER_TOKEN_SHARE_MAX: f64 = 0.02;

/// Counts of tokens that were sent so shortly before the window's end may be received after it.
const READ_LATE_MAX_NS: u64 = 20_000_000;

/// Both sides of a load.
pub(super) struct LogComparison {
    /// Counts of the log.
    pub(super) counts: Counts,
    /// A line for each of them that weir has otherwise.
    pub(super) differences: Vec<String>,
    pub(super) rate: TokenRate,
    pub(super) first: TimePair,
    pub(super) per_token: TimePair,
}

/// Tokens received in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TokenRate {
    received: u64,
    per_second: f64,
    /// The least and the greatest number by the log.
    least: u64,
    greatest: u64,
    window_s: f64,
}

/// A time at p50 of both sides, in nanoseconds, and by how much weir's may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimePair {
    pub(super) weir_ns: f64,
    pub(super) log_ns: f64,
    differs_max_ns: f64,
}

impl LogComparison {
    /// Compares a document with the log. The window may have all responses; else some of the last
    /// end behind it.
    pub(super) fn of(
        document: &Document,
        log: &RequestLog,
        has_all_in_window: bool,
    ) -> Result<LogComparison> {
        let counts = logged(log);
        let mut differences = reported(document)?.differences(&counts);
        let rate = TokenRate::of(document, log, has_all_in_window)?;
        differences.extend(rate.difference());
        let messages = document.results.messages.as_ref().context("no messages were measured")?;
        let per_token = document.latency.time_per_token.as_ref().context("no times per token")?;
        let all = log.completed.iter();
        let several = all.clone().filter(|request| request.has_gaps());
        let first = TimePair::of(&messages.first, all.map(CompletedRequest::first_token_ns))?;
        let per_token = TimePair::of(per_token, several.map(CompletedRequest::per_token_ns))?;
        Ok(LogComparison {
            counts,
            differences,
            rate,
            first: TimePair { differs_max_ns: FIRST_LATE_MAX_NS, ..first },
            per_token: TimePair {
                differs_max_ns: per_token.log_ns * PER_TOKEN_SHARE_MAX,
                ..per_token
            },
        })
    }

    /// Returns the number of figures that disagree.
    pub(super) fn faults(&self) -> usize {
        let is_early = self.first.later_ns() < 0.0;
        let times = [is_early, !self.first.is_close(), !self.per_token.is_close()];
        self.differences.len() + times.into_iter().filter(|is_wrong| *is_wrong).count()
    }
}

impl TokenRate {
    fn of(document: &Document, log: &RequestLog, has_all_in_window: bool) -> Result<TokenRate> {
        let messages = document.messages.as_ref().context("no messages were measured")?;
        let tokens = messages.tokens.as_ref().context("the document has no tokens")?;
        let worker = document.phases.first().context("the document has no workers")?;
        let window_s = document.throughput.window_s;
        let epoch_ns = document.run.epoch_unix_ns.checked_sub(log.unix_less_monotonic_ns);
        let begin_ns = epoch_ns.context("the clocks disagree")? + worker.start_ns;
        let end_ns = begin_ns + (window_s * 1e9).round() as u64;
        let sum = |is_in: &dyn Fn(&CompletedRequest) -> bool| -> u64 {
            let requests = log.completed.iter().filter(|request| is_in(request));
            requests.map(|request| request.tokens).sum()
        };
        // The count comes with one of the last writes.
        let least =
            sum(&|request| has_all_in_window || request.end_ns[1] + READ_LATE_MAX_NS < end_ns);
        let greatest = sum(&|request| has_all_in_window || request.end_ns[0] < end_ns);
        let received = tokens.received;
        Ok(TokenRate { received, per_second: tokens.per_second, least, greatest, window_s })
    }

    /// Returns a line if weir's figures are not those of the log.
    fn difference(&self) -> Option<String> {
        let TokenRate { received, per_second, least, greatest, window_s } = *self;
        let is_rate = (per_second * window_s - received as f64).abs() < 0.5;
        let is_right = (least..=greatest).contains(&received) && is_rate;
        let line = || {
            format!(
                "tokens in the window of {window_s} s: weir {received}, {per_second}/s, server \
                 {least} to {greatest}"
            )
        };
        (!is_right).then(line)
    }

    /// Formats weir's rate and that of the log.
    pub(super) fn show(&self) -> String {
        let TokenRate { per_second, least, greatest, window_s, .. } = *self;
        let [low, high] = [least, greatest].map(|tokens| rate(tokens as f64 / window_s));
        let logged = if least == greatest { low } else { format!("{low} to {high}") };
        format!("{} ({logged})", rate(per_second))
    }
}

impl TimePair {
    fn of(metric: &Metric, logged: impl Iterator<Item = f64>) -> Result<TimePair> {
        let p50 = metric.headline().percentiles.iter().find(|value| value.p == 50.0);
        let weir_ns = p50.context("the document has no p50")?.ns as f64;
        let mut logged: Vec<f64> = logged.collect();
        logged.sort_by(f64::total_cmp);
        // The nearest rank.
        let place = logged.len().div_ceil(2).checked_sub(1).context("the log has no times")?;
        Ok(TimePair { weir_ns, log_ns: logged[place], differs_max_ns: 0.0 })
    }

    /// Returns by how much weir's time is longer.
    pub(super) fn later_ns(&self) -> f64 {
        self.weir_ns - self.log_ns
    }

    /// True if weir's time is that of the log but for what it may differ by.
    pub(super) fn is_close(&self) -> bool {
        self.later_ns().abs() <= self.differs_max_ns
    }
}

impl CompletedRequest {
    /// Returns the time from the request to the begin of the first token's write. The client's goes
    /// from before to after.
    fn first_token_ns(&self) -> f64 {
        (self.first_ns[0] - self.received_ns) as f64
    }

    fn has_gaps(&self) -> bool {
        self.chunks > 1
    }

    fn per_token_ns(&self) -> f64 {
        (self.last_ns[0] - self.first_ns[0]) as f64 / (self.tokens - 1) as f64
    }
}

/// Returns the counts of the log.
fn logged(log: &RequestLog) -> Counts {
    let mut counts = Counts::default();
    counts.add("requests", log.requests);
    counts.add("measured requests", log.requests);
    counts.add("conversations", log.sessions);
    for request in &log.completed {
        counts.add("chunks", request.chunks);
        counts.add("times per token", request.has_gaps().into());
        let class = prompt_class(request.prompt_tokens);
        counts.add(&class, 1);
        for scope in [String::new(), format!("turn {}, ", request.turn)] {
            let mut add = |name: &str, count| counts.add(&format!("{scope}{name}"), count);
            add("ok", 1);
            add("counted responses", 1);
            add("prompt tokens", request.prompt_tokens);
            add("cached tokens", request.cached_tokens);
            add("response tokens", request.tokens);
            add("reasoning tokens", request.reasoning_tokens);
        }
    }
    counts
}

/// Returns the same counts by weir. The names of requests are those of the turns, in their order.
fn reported(document: &Document) -> Result<Counts> {
    let mut counts = Counts::default();
    let sent = &document.accounting.sent;
    counts.add("requests", sent.total - sent.returned);
    counts.add("measured requests", document.results.planned);
    let scenario = document.names.iter().find(|name| name.is_of_users());
    let scenario = scenario.context("the document has no scenario")?;
    counts.add("conversations", scenario.results.outcomes.ok);
    let messages = document.messages.as_ref().context("no messages were measured")?;
    counts.add("chunks", messages.measured);
    let per_token = document.latency.time_per_token.as_ref();
    counts.add("times per token", per_token.map_or(0, |times| times.ok.count));
    let tokens = messages.tokens.as_ref().context("the document has no tokens")?;
    for prompts in &tokens.first_by_prompt {
        counts.add(&class_name(prompts.least, prompts.greatest), prompts.first.ok.count);
    }
    let turns = document.names.iter().filter(|name| !name.is_of_users());
    let scopes = (1..).zip(turns).map(|(turn, name)| (format!("turn {turn}, "), &name.results));
    for (scope, results) in [(String::new(), &document.results)].into_iter().chain(scopes) {
        let mut add = |name: &str, count| counts.add(&format!("{scope}{name}"), count);
        add("ok", results.outcomes.ok);
        let totals = results.messages.as_ref().and_then(|messages| messages.totals);
        let totals = totals.with_context(|| format!("{scope}no tokens in the document"))?;
        add("counted responses", totals.responses);
        add("prompt tokens", totals.input);
        add("cached tokens", totals.cached);
        add("response tokens", totals.output);
        add("reasoning tokens", totals.reasoning);
    }
    Ok(counts)
}

/// Returns the class of a prompt: each goes up to twice the one before.
fn prompt_class(tokens: u64) -> String {
    let least = if tokens == 0 { 0 } else { 1 << tokens.ilog2() };
    class_name(least, (2 * least).saturating_sub(1))
}

fn class_name(least: u64, greatest: u64) -> String {
    format!("prompts of {} to {} tokens", thousands(least), thousands(greatest))
}

#[cfg(test)]
mod tests {
    use weir_result::document::PercentileValue;
    use weir_result::quantile::Bound;

    use super::*;

    fn request(turn: u64, chunks: u64) -> CompletedRequest {
        CompletedRequest {
            session: "a".to_owned(),
            turn,
            received_ns: 1_000,
            first_ns: [5_000, 5_100],
            last_ns: [9_000, 9_100],
            end_ns: [9_200, 9_300],
            prompt_tokens: 9 * turn,
            cached_tokens: 2,
            tokens: 11,
            reasoning_tokens: 3,
            chunks,
        }
    }

    fn log() -> RequestLog {
        RequestLog {
            versions: String::new(),
            unix_less_monotonic_ns: 0,
            sessions: 1,
            breaches: Vec::new(),
            requests: 3,
            completed: vec![request(1, 1), request(2, 4)],
        }
    }

    #[test]
    fn the_log_is_counted_in_all_and_by_turn() {
        let counts = logged(&log());
        let of = |names: [&str; 4]| names.map(|name| counts.of(name));
        assert_eq!(of(["requests", "ok", "conversations", "chunks"]), [3, 2, 1, 5]);
        let tokens = ["prompt tokens", "cached tokens", "response tokens", "reasoning tokens"];
        assert_eq!(of(tokens), [27, 4, 22, 6]);
        let turn = ["turn 2, ok", "turn 2, prompt tokens", "turn 3, ok", "times per token"];
        assert_eq!(of(turn), [1, 18, 0, 1]);
        assert_eq!(counts.of("prompts of 16 to 31 tokens"), 1);
    }

    #[test]
    fn classes_of_prompts_double() {
        let check = |tokens, least, greatest| {
            assert_eq!(prompt_class(tokens), class_name(least, greatest), "{tokens}");
        };
        check(0, 0, 0);
        check(1, 1, 1);
        check(3, 2, 3);
        check(4, 4, 7);
        check(1_023, 512, 1_023);
    }

    #[test]
    fn tokens_at_the_end_of_the_window_may_count() {
        let rate =
            TokenRate { received: 0, per_second: 0.0, least: 20, greatest: 30, window_s: 2.0 };
        let check = |received: u64, per_second, is_right: bool| {
            let rate = TokenRate { received, per_second, ..rate };
            assert_eq!(rate.difference().is_none(), is_right, "{received}");
        };
        check(20, 10.0, true);
        check(30, 15.0, true);
        check(31, 15.5, false);
        check(19, 9.5, false);
        check(20, 11.0, false);
        assert_eq!(TokenRate { per_second: 12.4, ..rate }.show(), "12 (10 to 15)");
        assert_eq!(TokenRate { least: 30, ..rate }.show(), "0 (15)");
    }

    #[test]
    fn times_are_compared_at_p50() {
        let mut metric = Metric::default();
        metric.ok.percentiles.push(PercentileValue::new(50.0, 4_500, Bound::Exact));
        let log = log();
        let firsts = || log.completed.iter().map(CompletedRequest::first_token_ns);
        let pair = TimePair::of(&metric, firsts()).expect("times");
        assert_eq!((pair.weir_ns, pair.log_ns), (4_500.0, 4_000.0));
        assert!(!pair.is_close());
        assert!(TimePair { differs_max_ns: 500.0, ..pair }.is_close());
        let per_token: Vec<f64> =
            log.completed.iter().map(CompletedRequest::per_token_ns).collect();
        assert_eq!(per_token, [400.0, 400.0]);
        assert!(TimePair::of(&metric, firsts().take(0)).is_err());
        assert!(TimePair::of(&Metric::default(), firsts()).is_err());
    }
}
