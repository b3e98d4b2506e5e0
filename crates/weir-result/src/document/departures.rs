//! Sends of the client per millisecond, beside the plan's (METHOD 1.9, `send-dispersion` to
//! `send-rate`). The counts are stored, so that the counts of several parts add up.

use serde::{Deserialize, Serialize};

use crate::counts;
use crate::evidence::{DepartureSpan, Departures};

/// Lengths of the spans over which dispersion is computed, in milliseconds.
const SPANS_MS: [u32; 3] = [1, 10, 100];

/// Greatest number of milliseconds stored: four hours.
const BINS_MAX: usize = 4 * 3_600_000;

/// Sends of an open loop per millisecond, each counted at its planned time plus the client's own
/// lateness: waiting for a busy connection has no effect here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeparturesSection {
    /// Requests sent: the sum of `sent_counts`.
    pub sent: u64,
    /// Requests planned: the sum of `planned_counts`.
    pub planned: u64,
    /// Gaps between sends of one worker that differ from their plan by more than 5% of the mean
    /// gap and by more than 50 µs.
    pub displaced: u64,
    /// Gaps compared for `displaced`.
    pub gaps: u64,
    /// Greatest number of requests sent in one millisecond.
    pub largest_ms: u32,
    /// Greatest number of requests planned for one millisecond.
    pub planned_largest_ms: u32,
    /// Dispersion of the counts, for spans of several lengths.
    pub dispersion: Vec<Dispersion>,
    /// Parts of the window that were counted.
    pub spans: Vec<DepartureSpan>,
    /// Requests sent in each millisecond of the spans, one span after the other: LEB128 numbers,
    /// compressed with zlib, in base64.
    pub sent_counts: String,
    /// Requests planned for each millisecond of the spans, in the same encoding.
    pub planned_counts: String,
}

/// Index of dispersion of counts, `Var N / E N`: 0 for evenly spaced sends, 1 for a Poisson
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispersion {
    /// Length of a span in milliseconds.
    pub span_ms: u32,
    /// Number of spans.
    pub spans: u64,
    /// Mean number of requests planned in a span.
    pub mean: f64,
    /// Index of dispersion of the sends.
    pub sent: f64,
    /// Index of dispersion of the plan.
    pub planned: f64,
}

impl DeparturesSection {
    pub(super) fn of(departures: &Departures) -> Option<DeparturesSection> {
        if departures.spans.is_empty() && departures.gaps == 0 {
            return None;
        }
        let sum = |bins: &[u32]| bins.iter().map(|n| u64::from(*n)).sum();
        Some(DeparturesSection {
            sent: sum(&departures.sent),
            planned: sum(&departures.planned),
            displaced: departures.displaced,
            gaps: departures.gaps,
            largest_ms: departures.sent.iter().copied().max().unwrap_or(0),
            planned_largest_ms: departures.planned.iter().copied().max().unwrap_or(0),
            dispersion: SPANS_MS
                .into_iter()
                .filter_map(|span_ms| Dispersion::of(departures, span_ms))
                .collect(),
            spans: departures.spans.clone(),
            sent_counts: counts::encode(&departures.sent),
            planned_counts: counts::encode(&departures.planned),
        })
    }

    pub(super) fn to_departures(&self) -> Result<Departures, String> {
        let lengths = self.spans.iter().map(|span| u64::from(span.bins));
        let bins = usize::try_from(lengths.sum::<u64>()).unwrap_or(usize::MAX);
        if bins > BINS_MAX {
            return Err("departures: their spans are too long".to_owned());
        }
        let mut pairs = self.spans.iter().zip(self.spans.iter().skip(1));
        if pairs.any(|(one, next)| one.end_ms() > next.start_ms) {
            return Err("departures: their spans are not in order".to_owned());
        }
        let decode = |name: &str, text: &str| {
            counts::decode(text, bins).map_err(|why| format!("departures.{name}: {why}"))
        };
        Ok(Departures {
            spans: self.spans.clone(),
            sent: decode("sent_counts", &self.sent_counts)?,
            planned: decode("planned_counts", &self.planned_counts)?,
            displaced: self.displaced,
            gaps: self.gaps,
        })
    }
}

impl Dispersion {
    /// Computes the index over whole spans of `span_ms`; `None` with fewer than two, or with none
    /// planned.
    fn of(departures: &Departures, span_ms: u32) -> Option<Dispersion> {
        let sent = grouped(&departures.sent, &departures.spans, span_ms);
        let planned = grouped(&departures.planned, &departures.spans, span_ms);
        let mean = planned.iter().sum::<f64>() / planned.len() as f64;
        if sent.len() < 2 || sent.len() != planned.len() || mean <= 0.0 {
            return None;
        }
        // Both are divided by the planned mean: a run that sends little is not therefore bursty.
        Some(Dispersion {
            span_ms,
            spans: sent.len() as u64,
            mean,
            sent: variance(&sent) / mean,
            planned: variance(&planned) / mean,
        })
    }
}

/// Sums counts in steps of `span_ms` that lie wholly inside a span.
fn grouped(bins: &[u32], spans: &[DepartureSpan], span_ms: u32) -> Vec<f64> {
    let mut rest = bins;
    let mut groups = Vec::new();
    for span in spans {
        let length = rest.len().min(span.bins as usize);
        let (mine, others) = rest.split_at(length);
        rest = others;
        let steps = mine.chunks_exact(span_ms as usize);
        groups.extend(steps.map(|step| step.iter().map(|n| f64::from(*n)).sum::<f64>()));
    }
    groups
}

/// The sample variance of at least two values.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departures(sent: &[u32], planned: &[u32]) -> Departures {
        let bins = u32::try_from(sent.len()).expect("few");
        Departures {
            spans: vec![DepartureSpan { start_ms: 0, bins }],
            sent: sent.to_vec(),
            planned: planned.to_vec(),
            displaced: 1,
            gaps: 9,
        }
    }

    #[test]
    fn dispersion_by_hand() {
        // Ten requests per millisecond by plan, sent as twenty every second millisecond.
        let sent: Vec<u32> = (0..40).map(|k| if k % 2 == 0 { 20 } else { 0 }).collect();
        let section = DeparturesSection::of(&departures(&sent, &[10; 40])).expect("counts");
        assert_eq!((section.sent, section.planned), (400, 400));
        assert_eq!((section.largest_ms, section.planned_largest_ms), (20, 10));
        let [one, ten] = section.dispersion[..] else { panic!("{section:?}") };
        // Variance 40 · 100 / 39 over a mean of 10; all spans of ten milliseconds are equal.
        assert_eq!((one.span_ms, one.planned), (1, 0.0));
        assert!((one.sent - 4_000.0 / 39.0 / 10.0).abs() < 1e-12, "{one:?}");
        assert_eq!((ten.span_ms, ten.spans, ten.mean, ten.sent), (10, 4, 100.0, 0.0));
    }

    #[test]
    fn groups_do_not_reach_over_spans() {
        let spans = [(0, 3), (100, 2)].map(|(start_ms, bins)| DepartureSpan { start_ms, bins });
        assert_eq!(grouped(&[1, 2, 4, 8, 16], &spans, 2), [3.0, 24.0]);
    }

    #[test]
    fn counts_survive_text() {
        let mine = departures(&[0, 3, 70_000, 0, 0, 1], &[1; 6]);
        let section = DeparturesSection::of(&mine).expect("counts");
        assert_eq!(section.to_departures(), Ok(mine));
        assert_eq!(DeparturesSection::of(&Departures::default()), None);
        let cut = DeparturesSection {
            spans: vec![DepartureSpan { start_ms: 0, bins: 7 }],
            ..section.clone()
        };
        assert!(cut.to_departures().is_err_and(|why| why.contains("sent_counts")));
        let endless = DeparturesSection {
            spans: vec![DepartureSpan { start_ms: 0, bins: u32::MAX }; 9],
            ..section.clone()
        };
        assert!(endless.to_departures().is_err_and(|why| why.contains("too long")));
        let twice = [(0, 4), (3, 2)].map(|(start_ms, bins)| DepartureSpan { start_ms, bins });
        let twice = DeparturesSection { spans: twice.to_vec(), ..section };
        assert!(twice.to_departures().is_err_and(|why| why.contains("not in order")));
    }
}
