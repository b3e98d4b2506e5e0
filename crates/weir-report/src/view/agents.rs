//! The table `Agents` of a fleet: the share of each agent, and what came of it.

use weir_result::Document;
use weir_result::document::{AgentSection, PartCounts};
use weir_text::setting::VERBOSE;
use weir_text::units;

use super::{Block, CellValue, Detail, Fact, Row, Table, TableKind, Tone};

/// Agents in the table of a report that is not verbose: the first ones.
const SHOWN_MAX: usize = 16;

/// Builds the table; none without agents.
pub(super) fn blocks(document: &Document, detail: &Detail) -> Option<Block> {
    let agents = &document.fleet.as_ref()?.agents;
    let shown = if detail.verbose { agents.len() } else { agents.len().min(SHOWN_MAX) };
    let rows = agents[..shown].iter().map(|agent| row(document, agent));
    let columns = ["connections", "requests", "failed", "good/s"];
    let mut table = Table::new(TableKind::Names, "Agents", columns, rows);
    if shown < agents.len() {
        let more = units::count((agents.len() - shown) as u64);
        table.legend.push(format!("{VERBOSE} shows {more} more agents"));
    }
    Some(Block::Table(table))
}

fn row(document: &Document, agent: &AgentSection) -> Row {
    let section = document.parts.iter().find(|section| section.part == agent.part);
    let Some(counts) = section.and_then(|section| section.counts) else {
        let remark = Fact::text("delivered nothing").toned(Tone::Caution);
        return Row { remark: Some(remark), ..Row::new(&agent.name, Vec::<CellValue>::new()) };
    };
    let PartCounts { connections, planned, failed, good_rps, .. } = counts;
    let tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
    let rate = units::rate(good_rps);
    let cells = [
        CellValue::from(units::count(connections.into())),
        CellValue::from(units::count(planned)),
        CellValue::toned(units::count(failed), tone),
        CellValue::from(rate.trim_end_matches("/s").to_owned()),
    ];
    Row::new(&agent.name, cells)
}
