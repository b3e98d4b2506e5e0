//! Comparison of two systems by their runs (METHOD 1.15).

use weir_result::Document;
use weir_result::document::Note;
use weir_result::study::{Comparison, MetricComparison, MetricVerdict, Pairing, ShiftLevel, Side};
use weir_stats::{Difference, EffectVerdict, LOOK_LEVEL, RUNS_MIN, judge, paired_at, unpaired};
use weir_verdict::NamedMetric;

use crate::difference::{Ranges, Runs, answer, values_in_words};
use crate::pairs::{LEVEL, too_few, values};
use crate::primary;
use crate::sameness::{self, Allowed};
use crate::{shift, wording};

/// Metrics to compare, and the least change that matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Metrics; the first is the primary one.
    pub metrics: Vec<NamedMetric>,
    /// Least relative change that matters, above 0: 0.02 is 2%.
    pub threshold: f64,
}

/// Compares two systems by pairs of runs (A, B), made next to each other in random order. `level`
/// is the error level: 0.05 for a number of pairs fixed in advance, [`LOOK_LEVEL`] for several
/// looks.
pub fn compare_pairs(
    question: &Question,
    pairs: &[(&Document, &Document)],
    names: [String; 2],
    level: f64,
) -> Comparison {
    let (a, b): (Vec<&Document>, Vec<&Document>) = pairs.iter().copied().unzip();
    let runs = Runs { a: &a, b: &b };
    let (metrics, why) = primary::of_pairs(&question.metrics, pairs);
    let question = Question { metrics, ..*question };
    let differences: Vec<Option<Difference>> =
        question.metrics.iter().map(|metric| paired_at(&values(metric, pairs), level)).collect();
    let enough = differences.iter().flatten().next().is_some();
    let pairing = if enough { Pairing::Pairs } else { Pairing::Single };
    let sampling = Sampling { pairing, level, shift: shift::of_pairs(pairs, level) };
    let mut found = comparison(&question, runs, names, &differences, sampling, Allowed::OtherLoad);
    found.warnings.extend(why);
    let too_few = too_few(question.metrics.len(), pairs.len() as u32, level);
    let too_few = too_few.filter(|_| pairing == Pairing::Pairs);
    found.warnings.extend(too_few.map(|text| Note::new("FEW_PAIRS", text)));
    found
}

/// Compares two systems by two sets of runs that were made apart. Without six runs of each the
/// result is facts alone.
pub fn compare_sets(
    question: &Question,
    a: &[&Document],
    b: &[&Document],
    names: [String; 2],
) -> Comparison {
    let measure = |metric: &NamedMetric, runs: &[&Document]| -> Vec<f64> {
        let value = |run: &&Document| metric.measure(run).map_or(f64::NAN, |it| it.value);
        runs.iter().map(value).collect()
    };
    let runs = Runs { a, b };
    let enough = a.len().min(b.len()) >= RUNS_MIN;
    let pairing = if enough { Pairing::Sets } else { Pairing::Single };
    let (metrics, why) = match enough {
        true => primary::of_runs(&question.metrics, runs),
        false => (question.metrics.clone(), None),
    };
    let question = Question { metrics, ..*question };
    let differences: Vec<Option<Difference>> = question
        .metrics
        .iter()
        .map(|metric| unpaired(&measure(metric, a), &measure(metric, b)))
        .collect();
    let sampling = Sampling { pairing, level: LEVEL, shift: shift::of_sets(a, b) };
    let mut found = comparison(&question, runs, names, &differences, sampling, Allowed::SameLoad);
    found.warnings.extend(why);
    if pairing == Pairing::Sets {
        let text = "the runs were not interleaved: drift of the machine between the two sets looks \
                    like a difference; weir ab interleaves them";
        found.warnings.insert(0, Note::new("NOT_INTERLEAVED", text));
    }
    found
}

/// Relation of the runs, and what it gives.
struct Sampling {
    pairing: Pairing,
    level: f64,
    shift: Vec<ShiftLevel>,
}

fn comparison(
    question: &Question,
    runs: Runs<'_>,
    names: [String; 2],
    differences: &[Option<Difference>],
    sampling: Sampling,
    allowed: Allowed,
) -> Comparison {
    let Sampling { pairing, level, shift } = sampling;
    let (not_comparable, warnings) = sameness::judge(runs, allowed);
    let verdicts = verdicts(differences, question.threshold);
    let [base, new] = names;
    let mut found = Comparison {
        base: Side { name: base, runs: runs.a.len() as u32 },
        new: Side { name: new, runs: runs.b.len() as u32 },
        pairing,
        threshold: question.threshold,
        confidence: 1.0 - level,
        metrics: Vec::new(),
        shift: if pairing == Pairing::Single { Vec::new() } else { shift },
        not_comparable,
        warnings,
    };
    let entries = question.metrics.iter().zip(differences).zip(verdicts);
    found.metrics = entries
        .map(|((metric, difference), verdict)| {
            entry(metric, runs, difference.as_ref(), verdict.as_ref(), &found)
        })
        .collect();
    found
}

/// Verdicts in the order of the metrics. The first metric is the primary one also if it has no
/// difference, so that the others are corrected all the same.
fn verdicts(differences: &[Option<Difference>], threshold: f64) -> Vec<Option<EffectVerdict>> {
    let neutral = Difference {
        a: 1.0,
        b: 1.0,
        effect: 0.0,
        low: 0.0,
        high: 0.0,
        level: LOOK_LEVEL,
        p: 1.0,
        runs: RUNS_MIN,
    };
    let first = differences.first().map(|first| first.unwrap_or(neutral));
    let given: Vec<Difference> =
        first.into_iter().chain(differences.iter().skip(1).flatten().copied()).collect();
    let mut judged = judge(&given, threshold).into_iter();
    let mut of = |index: usize, difference: &Option<Difference>| {
        let verdict = (index == 0 || difference.is_some()).then(|| judged.next()).flatten();
        verdict.filter(|_| difference.is_some())
    };
    differences.iter().enumerate().map(|(index, difference)| of(index, difference)).collect()
}

fn entry(
    metric: &NamedMetric,
    runs: Runs<'_>,
    difference: Option<&Difference>,
    verdict: Option<&EffectVerdict>,
    comparison: &Comparison,
) -> MetricComparison {
    let (answer, why) = answer(metric, runs, verdict, comparison);
    let ranges = Ranges::of(metric, runs);
    let may_be_equal = ranges.as_ref().is_some_and(Ranges::may_be_equal);
    let least = ranges.as_ref().and_then(Ranges::least_change);
    let is_test = comparison.pairing != Pairing::Single;
    let difference = difference.filter(|_| is_test);
    let [base, new] = values_in_words(metric, runs, difference);
    let mut found = MetricComparison {
        metric: metric.to_string(),
        base,
        new,
        change: difference.map(|it| Difference::change(it.effect)).or(least),
        is_least: difference.is_none() && ranges.is_some_and(|ranges| ranges.have_bounds()),
        low: difference.map(|it| Difference::change(it.low)),
        high: difference.map(|it| Difference::change(it.high)),
        p: difference.map(|it| it.p),
        verdict: MetricVerdict { excluded: None, runs_needed: None, answer },
        sentence: String::new(),
    };
    match verdict {
        Some(EffectVerdict::Equivalent { excluded, .. }) => {
            found.verdict.excluded = Some(*excluded)
        }
        Some(EffectVerdict::Undecided { runs_needed, .. }) if !may_be_equal => {
            found.verdict.runs_needed = Some(*runs_needed);
        }
        _ => {}
    }
    found.sentence = wording::sentence(metric, &found, comparison, why.as_deref());
    found
}
