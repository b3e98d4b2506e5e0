//! The report of a sweep: a table of all cells, the fitted law and the knee.

use weir_result::Study;
use weir_result::study::{Design, Fit, Knee, Level, Sweep, SweepCell, SweepCurve, SweepRatio};
use weir_text::units;
use weir_verdict::NamedMetric;

use super::super::{Block, Fact, Line, Row, Section, Table, TableKind, Tone};
use crate::view::plots::study as plots;

pub(super) fn sections(study: &Study, sweep: &Sweep) -> Vec<Section> {
    let mut results = vec![Block::Table(table(study, sweep))];
    if !sweep.ratios.is_empty() {
        results.push(Block::Table(ratios(study, sweep)));
    }
    results.extend(plots::curves(study, sweep).into_iter().map(Block::Plot));
    vec![
        Section { title: "Results", blocks: results },
        Section { title: "Curve", blocks: curves(sweep) },
    ]
}

fn table(study: &Study, sweep: &Sweep) -> Table {
    let Design::Sweep { metrics, .. } = &study.design else {
        unreachable!("the result of a sweep")
    };
    let named: Vec<NamedMetric> = metrics.iter().filter_map(|name| name.parse().ok()).collect();
    let row = |found: &SweepCell| {
        let cell = study.cells.get(found.cell as usize);
        let cells = found.metrics.iter().zip(&named).map(|(spread, metric)| {
            let text = spread.as_ref().map(|spread| {
                let mark = if spread.bounds > 0 { "*" } else { "" };
                let sd = spread.sd.filter(|_| spread.mean > 0.0);
                let sd = sd.map(|sd| format!(" ± {:.0}%", 100.0 * sd / spread.mean));
                format!("{}{}{mark}", metric.print(spread.mean), sd.unwrap_or_default())
            });
            text.unwrap_or_default()
        });
        let limit = found.limit.clone().unwrap_or_default();
        let label = cell.map_or_else(String::new, |cell| cell.name.clone());
        let refused = Fact::counted(found.refused.into(), "failed run").toned(Tone::Bad);
        let remark = Some(refused).filter(|_| found.refused > 0);
        Row { remark, ..Row::new(label, cells.chain([limit])) }
    };
    let columns = named.iter().map(NamedMetric::title).chain(["Limit".to_owned()]);
    let has_bounds =
        sweep.cells.iter().flat_map(|cell| cell.metrics.iter().flatten()).any(|it| it.bounds > 0);
    let note = "*: in some runs the value is a bound of the true one (client overhead, or the \
                client limited the run)";
    let legend = has_bounds.then(|| note.to_owned()).into_iter().collect();
    let caption = "means over the runs of each row ± their standard deviation".to_owned();
    let table = Table::new(TableKind::Metrics, "Cell", columns, sweep.cells.iter().map(row));
    Table { caption, legend, ..table }
}

/// The table of ratios: a row for each combination of the other factors.
fn ratios(study: &Study, sweep: &Sweep) -> Table {
    let Design::Sweep { metrics, ratio, factors, .. } = &study.design else {
        unreachable!("the result of a sweep")
    };
    let metric = metrics.first().and_then(|name| name.parse::<NamedMetric>().ok());
    let print = |value: Option<f64>| match (value, &metric) {
        (Some(value), Some(metric)) => metric.print(value),
        _ => String::new(),
    };
    let row = |found: &SweepRatio| {
        let label = match &found.levels[..] {
            [] if found.first.is_none() => "geometric mean".to_owned(),
            levels => combination(levels),
        };
        let interval = found.low.zip(found.high);
        let interval = interval.map(|(low, high)| format!("{low:.2} … {high:.2}"));
        let ratio = format!("{:.2}", found.ratio);
        let cells = [print(found.first), print(found.second), ratio, interval.unwrap_or_default()];
        Row::new(label, cells)
    };
    let name = ratio.clone().unwrap_or_default();
    let values = factors.iter().find(|factor| factor.name == name);
    let values = values.map_or_else(Vec::new, |factor| factor.values.clone());
    let title = metric.as_ref().map_or_else(String::new, NamedMetric::title);
    let caption = format!("{title} by {name}: 1 is {}, 95% intervals", values.join(", 2 is "));
    let columns = ["1", "2", "2 / 1", "Interval"];
    let rows = sweep.ratios.iter().map(row);
    Table { caption, ..Table::new(TableKind::Metrics, "Ratio", columns, rows) }
}

/// Formats `close=none c=10`.
fn combination(levels: &[Level]) -> String {
    let name = |level: &Level| format!("{}={}", level.factor, level.value);
    levels.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// The knee and the law of each curve.
fn curves(sweep: &Sweep) -> Vec<Block> {
    let place = |curve: &SweepCurve| match &curve.levels[..] {
        [] => String::new(),
        levels => format!("{}: ", combination(levels)),
    };
    let knees = sweep.curves.iter().map(|curve| {
        let text = format!("{}{}", place(curve), knee(&curve.knee));
        Line::sentence(Fact::text(text).toned(Tone::Main))
    });
    let laws = sweep.curves.iter().filter_map(|curve| Some(fit(curve.fit.as_ref()?, place(curve))));
    [("Knee", knees.collect::<Vec<_>>()), ("Fit", laws.flatten().collect())]
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(|(label, lines)| Block::entry(label, lines))
        .collect()
}

fn knee(knee: &Knee) -> String {
    let rate = units::round_rate(knee.rate_rps);
    let factor = &knee.factor;
    let mut text = match (&knee.value, &knee.saturated_from) {
        (Some(value), Some(from)) => {
            format!("at {factor} {value}, {rate}; saturated from {factor} {from} on")
        }
        (Some(value), None) => format!("none up to {factor} {value}, {rate}"),
        (None, from) => {
            let from = from.as_deref().unwrap_or("the first value");
            format!("below {factor} {from}: saturated from the first value on, at {rate}")
        }
    };
    if knee.is_client_limited {
        text += "; beyond it the client was the limit, so the server may carry more";
    }
    text
}

fn fit(fit: &Fit, place: String) -> Vec<Line> {
    let law = format!(
        "{place}λ {}, σ {:.4}, κ {:.6} (Universal Scalability Law)",
        units::round_rate(fit.lambda),
        fit.sigma,
        fit.kappa
    );
    let peak = match (fit.peak, fit.peak_needs) {
        (_, Some(needed)) => format!(
            "no peak is named: a check of the law takes {needed} numbers of connections, not {}",
            fit.residuals.len()
        ),
        (Some((low, peak, high)), None) => {
            format!("greatest throughput at {peak:.0} connections [{low:.0}, {high:.0}]")
        }
        (None, None) => "no peak in the measured range".to_owned(),
    };
    let mut lines = vec![Line::sentence(Fact::text(law)), Line::sentence(Fact::text(peak))];
    if fit.is_systematic {
        let text = "the law does not describe this system: its residuals are systematic";
        lines.push(Line::sentence(Fact::text(text).toned(Tone::Caution)));
    }
    lines
}
