//! Bounds: marks each printed number as exact or as a bound of the true one (METHOD 1.9).
//!
//! A latency that the client inflated is an upper bound; one that falls on a failed request is a
//! lower bound; one that falls on a request without an end, which the client may have delayed, is
//! unknown. A throughput that the client or the connections
//! limited is a lower bound of the target's best rate.

use weir_result::document::{
    ClientOverhead, Document, LimitedBy, MessagesSection, Metric, NameSection, PercentileValue,
    Range, Results, RuleOutcome, ScopeMessages, StageSection, Summary,
};
use weir_result::quantile::{Bound, rank_of};
use weir_result::{GapDoubts, Histogram};

use crate::lateness::{self, DoubtedGaps};
use crate::overhead::Delayed;
use crate::thresholds::{OVERHEAD_NS, OVERHEAD_SHARE};
use crate::{limit, overhead, rules};

/// Half the width of a 95% interval, in standard errors.
const Z: f64 = 1.959_963_984_540_054;

/// Sets the bounds of a document's percentiles, means and throughput.
pub(crate) fn qualify(document: &mut Document) {
    let rules = rules::of(document);
    let limit = limit::of(document, &rules);
    let is_stopped =
        rules.iter().any(|rule| rule.id == "client-stopped" && rule.outcome >= RuleOutcome::Bound);
    let evidence = TimeEvidence::of(document);
    let results = evidence.of_run(document);
    let names = evidence.of_names(document);
    document.names = names;
    let stages = evidence.of_stages(document);
    document.stages = stages;
    let messages = document.messages.as_ref();
    let messages = messages.map(|messages| Box::new(evidence.in_all(document, messages)));
    document.messages = messages;
    document.results = results;
    let is_limited = matches!(limit.by, LimitedBy::ClientCpu | LimitedBy::Connections);
    let is_lower = is_limited || (is_stopped && limit.by != LimitedBy::Rate);
    if is_lower && !document.plan.is_idle() {
        // The target could exceed the rate, whose lower 95% end bounds its best one.
        let Results { good_rps, good_interval, .. } = document.results;
        let low = good_interval.map_or(good_rps, |interval| interval.low_rps);
        document.throughput.bound = Bound::Lower;
        document.throughput.least_rps = Some(low.min(good_rps));
    }
    if document.has_unmatched_pushes() {
        forget_times(document);
    }
}

/// Marks the times and the rate of echoes as unknown.
fn forget_times(document: &mut Document) {
    let names = document.names.iter_mut().map(|name| &mut name.results);
    let stages = document.stages.iter_mut().map(|stage| &mut stage.results);
    let scopes = std::iter::once(&mut document.results).chain(names).chain(stages);
    let of_scopes = scopes.flat_map(|of| [&mut of.response_time, &mut of.service_time]);
    let all = std::iter::once(&mut document.latency.first_byte).chain(of_scopes);
    let summaries = all.flat_map(|metric| std::iter::once(&mut metric.ok).chain(&mut metric.all));
    for summary in summaries {
        summary.mean_bound = Bound::Unknown;
        for value in &mut summary.percentiles {
            (value.bound, value.range) = (Bound::Unknown, None);
        }
    }
    (document.throughput.bound, document.throughput.least_rps) = (Bound::Unknown, None);
}

/// Returns a response time of some requests of a stage with the bounds of its summaries.
pub(crate) fn in_stage(document: &Document, stage: &StageSection, metric: &Metric) -> Metric {
    TimeEvidence::of(document).in_stage(document, stage, metric)
}

/// Evidence that separates the client's time from the target's.
struct TimeEvidence {
    /// Wire times of the stamped requests; empty without stamps. Waiting for a connection is left
    /// out with all other time off the wire: a client that sends late makes requests wait.
    wire: Histogram,
    /// True if the client was short of CPU time: a percentile of unknown overhead is an upper
    /// bound.
    is_contended: bool,
    /// Mean client overhead of a response, in nanoseconds; 0 if it is not known.
    mean_ns: f64,
    /// Requests that stops and late sends of the client delayed.
    delayed: Delayed,
}

impl TimeEvidence {
    fn of(document: &Document) -> TimeEvidence {
        let latency = &document.latency;
        let stamps = document.stamps.as_ref();
        let wire = stamps.map(|stamps| &stamps.wire_time);
        let mean = |metric: Option<&Metric>| metric.and_then(|metric| metric.ok.mean_ns);
        let before = mean(Some(&latency.sched_lag)).unwrap_or(0.0);
        let after = mean(stamps.map(|stamps| &stamps.rx_delay)).unwrap_or(0.0);
        TimeEvidence {
            wire: wire.map(|wire| wire.times.ok.clone()).unwrap_or_default(),
            is_contended: rules::is_contended(document),
            mean_ns: before + after,
            delayed: Delayed::of(document),
        }
    }

    /// Returns the results of the run with the bounds of their summaries.
    fn of_run(&self, document: &Document) -> Results {
        let results = &document.results;
        Results {
            response_time: self.response(document, &results.response_time),
            service_time: self.service(document, &results.service_time),
            messages: results.messages.as_ref().map(|it| Box::new(self.of_messages(document, it))),
            ..results.clone()
        }
    }

    /// Returns the messages of the run with the bounds of their summaries.
    fn of_messages(&self, document: &Document, messages: &ScopeMessages) -> ScopeMessages {
        // The wire times are those of whole responses.
        let evidence = TimeEvidence { wire: Histogram::default(), ..*self };
        let gap = messages.gap.as_ref().map(|metric| {
            let doubted = self.doubted(document, &lateness::of_slices(document));
            let of_run = |p| lateness::of_run(document, &metric.times.ok, p, self.is_contended);
            self.gap(document, metric, doubted, of_run)
        });
        ScopeMessages { first: evidence.first(document, &messages.first), gap, ..messages.clone() }
    }

    /// Returns a time to the first message with the bounds of its summaries.
    fn first(&self, document: &Document, metric: &Metric) -> Metric {
        self.qualified(metric, |p| overhead::of_first_message(document, metric, p))
    }

    /// Returns the messages of a run with the bounds of the goodput and of the mean gaps.
    fn in_all(&self, document: &Document, messages: &MessagesSection) -> MessagesSection {
        let goodput = messages.goodput.as_ref();
        let goodput = goodput.map(|of| lateness::of_goodput(document, of, self.is_contended));
        let doubted = self.doubted(document, &lateness::of_slices(document));
        // A response has no greater error of its mean gap than of one gap.
        let mean_gap = messages.mean_gap.as_ref().map(|metric| {
            self.gap(document, metric, doubted, |p| doubted.range(&metric.times.ok, p))
        });
        MessagesSection { goodput, mean_gap, ..messages.clone() }
    }

    /// Returns the gaps whose true length is not known.
    fn doubted(&self, document: &Document, doubts: &GapDoubts) -> DoubtedGaps {
        DoubtedGaps::of(document, doubts, self.is_contended)
    }

    /// Returns gaps between messages with the bounds of their summaries. `range` has the range of a
    /// percentile without the client's lateness.
    fn gap(
        &self,
        document: &Document,
        metric: &Metric,
        doubted: DoubtedGaps,
        range: impl Fn(f64) -> Option<Range>,
    ) -> Metric {
        let streams = document.messages.as_ref().map_or(0, |messages| messages.streams);
        let value = |value: &PercentileValue| match range(value.p) {
            Some(range) if !lateness::is_close(value.ns, range) => {
                let below_ns = value.ns.saturating_sub(range.low_ns);
                let client_ns = Some(below_ns.max(range.high_ns.saturating_sub(value.ns)));
                PercentileValue { bound: Bound::Unknown, range: Some(range), client_ns, ..*value }
            }
            Some(_) => PercentileValue { client_ns: Some(0), ..*value },
            None => *value,
        };
        let summary = |summary: &Summary| {
            let mean_ns = summary.mean_ns.unwrap_or(0.0);
            let most_ns = doubted.mean_ns(streams, summary.count);
            let is_unknown = most_ns > OVERHEAD_NS.max(OVERHEAD_SHARE * mean_ns);
            let mean_bound = if is_unknown { Bound::Unknown } else { Bound::Exact };
            let percentiles = summary.percentiles.iter().map(value).collect();
            Summary { percentiles, mean_bound, ..summary.clone() }
        };
        Metric { ok: summary(&metric.ok), all: metric.all.as_ref().map(summary), ..metric.clone() }
    }

    /// Returns the results by name with the bounds of their summaries.
    fn of_names(&self, document: &Document) -> Vec<NameSection> {
        // The wire times are those of all names.
        let evidence = TimeEvidence { wire: Histogram::default(), ..*self };
        let qualified = |NameSection { name, results, steps }: &NameSection| {
            let results = Results {
                response_time: evidence.response(document, &results.response_time),
                service_time: evidence.service(document, &results.service_time),
                messages: results.messages.as_ref().map(|messages| {
                    Box::new(ScopeMessages {
                        first: evidence.first(document, &messages.first),
                        ..self.gaps_of_scope(document, messages)
                    })
                }),
                ..results.clone()
            };
            NameSection { name: name.clone(), results, steps: steps.clone() }
        };
        document.names.iter().map(qualified).collect()
    }

    /// Returns the results by stage with the bounds of their summaries.
    fn of_stages(&self, document: &Document) -> Vec<StageSection> {
        let qualified = |stage: &StageSection| {
            let results = &stage.results;
            let in_stage = |metric: &Metric| self.in_stage(document, stage, metric);
            let messages = results.messages.as_ref();
            let results = Results {
                response_time: in_stage(&results.response_time),
                service_time: in_stage(&results.service_time),
                messages: messages.map(|messages| Box::new(self.gaps_of_scope(document, messages))),
                ..results.clone()
            };
            StageSection { results, ..stage.clone() }
        };
        document.stages.iter().map(qualified).collect()
    }

    /// Returns the messages of a scope with the bounds of their gaps.
    fn gaps_of_scope(&self, document: &Document, messages: &ScopeMessages) -> ScopeMessages {
        let gap = messages.gap.as_ref().map(|gap| {
            let doubted = self.doubted(document, &messages.doubts);
            self.gap(document, gap, doubted, |p| doubted.range(&gap.times.ok, p))
        });
        ScopeMessages { gap, ..messages.clone() }
    }

    /// Returns a response time of requests of a stage with the bounds of its summaries. The
    /// lateness of sends is the stage's; the stage of a stop or of a late read is not known, so
    /// that they count in each.
    fn in_stage(&self, document: &Document, stage: &StageSection, metric: &Metric) -> Metric {
        let rx_ns = document.stamps.as_ref().and_then(|stamps| stamps.rx_delay.ok.mean_ns);
        let lag = stage.sched_lag.as_ref();
        let lag_ns = lag.and_then(|lag| lag.ok.mean_ns).unwrap_or(0.0);
        let mean_ns = lag_ns + rx_ns.unwrap_or(0.0);
        // The wire times are those of all stages.
        let evidence = TimeEvidence { wire: Histogram::default(), mean_ns, ..*self };
        let lags = lag.map(|lag| &lag.times.ok);
        evidence.qualified(metric, |p| overhead::of_stage(document, metric, lags, p))
    }

    /// Returns a response time with the bounds of its summaries.
    fn response(&self, document: &Document, metric: &Metric) -> Metric {
        self.qualified(metric, |p| overhead::of_response(document, metric, p))
    }

    /// Returns a service time with the bounds of its summaries.
    fn service(&self, document: &Document, metric: &Metric) -> Metric {
        self.qualified(metric, |p| overhead::of_service(document, metric, p))
    }

    /// Returns the metric with the bounds of its summaries.
    fn qualified(
        &self,
        metric: &Metric,
        overhead: impl Fn(f64) -> Option<ClientOverhead>,
    ) -> Metric {
        let failed = metric.times.bad.count() + metric.times.failed_at.count();
        let summary = |summary: &Summary| {
            let values = summary.percentiles.iter();
            let percentiles = values
                .map(|value| self.value(summary.count, failed, value, overhead(value.p)))
                .collect();
            Summary { percentiles, mean_bound: self.mean_bound(summary), ..summary.clone() }
        };
        Metric { ok: summary(&metric.ok), all: metric.all.as_ref().map(summary), ..metric.clone() }
    }

    /// Returns one of `count` requests' percentiles with its bound. Of the requests, `failed` ended
    /// without success whatever the client did; others may be late by its fault.
    fn value(
        &self,
        count: u64,
        failed: u64,
        value: &PercentileValue,
        overhead: Option<ClientOverhead>,
    ) -> PercentileValue {
        let is_inflated = match overhead {
            Some(overhead) if overhead::inflates(&overhead, value) => true,
            Some(overhead) => overhead.is_partial && self.is_contended,
            None => self.is_contended && value.p < 100.0,
        };
        let bound = match (is_inflated, value.bound) {
            (true, Bound::Exact) => Bound::Upper,
            (true, Bound::Lower) if rank_of(value.p, count) + failed <= count => Bound::Unknown,
            (_, bound) => bound,
        };
        let range = (bound == Bound::Upper).then(|| self.range(count, value)).flatten();
        PercentileValue {
            bound,
            range,
            client_ns: overhead.map(|overhead| overhead.client_ns),
            ..*value
        }
    }

    /// Returns the range from the same percentile of the wire times to the measured one, each
    /// widened by its sampling interval; `None` if no request was stamped.
    fn range(&self, count: u64, value: &PercentileValue) -> Option<Range> {
        let stamped = self.wire.count();
        let p = value.p / 100.0;
        if stamped == 0 || p >= 1.0 {
            return None;
        }
        // Stamped requests are as clustered as all are.
        let effective = value.support.map_or(1.0, |support| {
            (support / p.min(1.0 - p) / count.max(1) as f64).clamp(f64::MIN_POSITIVE, 1.0)
        });
        let error = (p * (1.0 - p) / (stamped as f64 * effective)).sqrt();
        let low_p = (p - Z * error).max(0.0);
        let low_ns = self.wire.percentile(100.0 * low_p)?;
        let high_ns = value.high_ns.unwrap_or(value.ns).max(value.ns);
        Some(Range { low_ns: low_ns.min(value.ns), high_ns })
    }

    fn mean_bound(&self, summary: &Summary) -> Bound {
        let is_inflated = summary.mean_ns.is_some_and(|mean_ns| {
            let median = PercentileValue::new(50.0, mean_ns as u64, Bound::Exact);
            let delayed_ns = self.delayed.mean_ns(summary.count);
            let client_ns = self.mean_ns.max(delayed_ns).min(mean_ns);
            let share = client_ns / mean_ns.max(1.0);
            // A mean has no interval, so that the cause makes no difference.
            let p = 50.0;
            let ns = median.ns;
            let client_ns = client_ns as u64;
            let stopped_ns = 0;
            let of = ClientOverhead { p, ns, client_ns, stopped_ns, share, is_partial: false };
            overhead::inflates(&of, &median)
        });
        if is_inflated { Bound::Upper } else { Bound::Exact }
    }
}
