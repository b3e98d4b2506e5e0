//! The time that a study takes, before it starts and while it runs.

use weir_result::Study;
use weir_result::study::Design;
use weir_text::units;

use super::variant::Variant;
use crate::designs::trials_planned;

/// Time of a trial beside warm-up and window, in nanoseconds: the checks before the load, the
/// drain, the wait after it.
const AROUND_NS: u64 = 1_500_000_000;

/// Returns the time of one trial, on average over all cells; `None` if a run has no duration.
pub(super) fn of_trial_ns(study: &Study, variants: &[Variant]) -> Option<u64> {
    if let Design::Search { effort, .. } = &study.design {
        return Some(((effort.final_s + effort.warmup_s) * 1e9) as u64 + AROUND_NS);
    }
    let of_run = |variant: &Variant| {
        let load = &variant.spec.load;
        Some(load.length_ns()? + load.warmup.span_ns + AROUND_NS)
    };
    let all = variants.iter().map(of_run).sum::<Option<u64>>()?;
    Some(all / (variants.len() as u64).max(1))
}

/// Formats the number of trials and their time.
pub fn of_study(study: &Study, variants: &[Variant]) -> String {
    let (least, most) = trials_planned(study);
    let made = study.measured().count() as u32;
    let least = least.saturating_sub(made);
    let most = most.saturating_sub(made);
    let trials = match least == most {
        true => units::count(most.into()),
        false => format!("{} to {}", units::count(least.into()), units::count(most.into())),
    };
    let time = of_trial_ns(study, variants).map(|ns| match least == most {
        true => about(ns * u64::from(most)),
        false => format!("{} to {}", about(ns * u64::from(least)), minutes(ns * u64::from(most))),
    });
    let time = time.map_or_else(String::new, |time| format!(", {time}"));
    let more = if made > 0 { " more" } else { "" };
    format!("{trials}{more} trials{time}")
}

/// Formats `about 2 min`.
pub(super) fn about(ns: u64) -> String {
    format!("about {}", minutes(ns))
}

fn minutes(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5_400 => format!("{} min", (seconds + 30) / 60),
        _ => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}
