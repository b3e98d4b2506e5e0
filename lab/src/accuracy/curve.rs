//! Quantiles of the response time from three sources: theory, the server's log counted from the
//! plan, and weir. Each row is checked.

use super::distribution::{self, Distribution};
use crate::rig::{Section, seconds};

/// A comparison of quantiles, with tolerances.
pub(super) struct Curve<'a> {
    /// Text above the table.
    pub(super) above: String,
    /// Times from the log, in seconds, sorted.
    pub(super) truth_s: &'a [f64],
    pub(super) reported: &'a Distribution,
    /// Largest excess over the log on a quiet machine, in seconds. weir's figure may never be less
    /// than the log's, except for [`ROUNDING`].
    pub(super) log_tolerance_s: f64,
    /// Largest difference from theory, in seconds.
    pub(super) theory_tolerance_s: f64,
}

/// Largest relative error of the histogram's mean, which takes the middle of each bucket (METHOD
/// 1.7). Its quantiles and maximum are upper ends of buckets, and no time in the log is more than
/// the true one, so they cannot be less than the log's.
const ROUNDING: f64 = 0.001;

impl Curve<'_> {
    /// Adds the table for these quantiles, the maximum and the mean, if theory provides one.
    /// Returns the greatest difference of weir from the log, in seconds.
    pub(super) fn add_to(
        &self,
        section: &mut Section,
        quantiles: &[f64],
        theory_s: impl Fn(f64) -> f64,
        mean_s: Option<f64>,
    ) -> f64 {
        let Curve { truth_s, reported, .. } = self;
        let mut off_s = 0.0_f64;
        section.begin_table(&format!("{}:", self.above));
        for &p in quantiles.iter().chain(&[1.0]) {
            let weir_ns = if p < 1.0 { reported.quantile_ns(p) } else { reported.max_ns() };
            let log_s = distribution::quantile(truth_s, p);
            let weir_s = weir_ns / 1e9;
            self.row(section, &name(p), [theory_s(p), log_s, weir_s]);
            off_s = off_s.max((weir_s - log_s).abs());
        }
        if let Some(theory_s) = mean_s {
            let mean = [theory_s, weir_stats::mean(truth_s), reported.mean_ns() / 1e9];
            self.row(section, "mean", mean);
        }
        let above = &self.above;
        section.show_columns(&["", "theory", "weir"]);
        section.must(reported.count() == truth_s.len() as u64, || {
            format!("{above}: {} requests were planned, {} are ok", truth_s.len(), reported.count())
        });
        off_s
    }

    fn row(&self, section: &mut Section, name: &str, figures: [f64; 3]) {
        let [theory_s, log_s, weir_s] = figures;
        section.row(&[
            ("", &name),
            ("theory", &seconds(theory_s)),
            ("server's log", &seconds(log_s)),
            ("weir", &seconds(weir_s)),
            ("weir − log", &format!("{:+.3} ms", (weir_s - log_s) * 1e3)),
        ]);
        let above = &self.above;
        let by = |what: &str, other_s: f64| {
            format!("{above}: {name} is {}, by {what} {}", seconds(weir_s), seconds(other_s))
        };
        section.must(weir_s >= log_s * (1.0 - ROUNDING), || by("the log", log_s));
        let is_near = |other_s: f64, tolerance_s: f64| (weir_s - other_s).abs() <= tolerance_s;
        section.must_if_quiet(is_near(log_s, self.log_tolerance_s), || by("the log", log_s));
        section
            .must_if_quiet(is_near(theory_s, self.theory_tolerance_s), || by("theory", theory_s));
    }
}

/// Returns the name of a quantile.
pub(super) fn name(p: f64) -> String {
    if p < 1.0 { format!("p{}", (p * 1e5).round() / 1e3) } else { "max".to_owned() }
}

/// Adds the greatest difference of weir from the log to the verdict.
pub(super) fn verdict(section: &mut Section, off_s: f64, most_s: f64) {
    let off = seconds(off_s);
    let most = seconds(most_s);
    section.verdict(format!("weir is at most {off} from the server's log (limit: {most})."));
}
