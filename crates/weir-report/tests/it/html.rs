//! A second renderer of the view: short, and with every word that the text report shows.

use std::collections::BTreeMap;

use crate::fixture::{Fixture, MS, S, fine, inflated, renewing};
use crate::studies;
use weir_report::text::{self, Bars, TextOptions};
use weir_report::view::{Block, Detail, Fact, Report, Row, Table};
use weir_result::study::{StudyState, TrialOutcome};
use weir_result::{Callback, CallbackUsage, Document, ErrorKind, ScriptUsage, Study};
use weir_verdict::Assertion;

/// Renders a report as HTML.
fn html(report: &Report) -> String {
    let mut page = leaf("h1", &report.title) + &tag("p", &facts(&report.about));
    for section in &report.sections {
        let block = |block: &Block| match block {
            Block::Line(line) => tag("p", &facts(&line.facts)),
            Block::Entry(entry) | Block::Folded(entry) => {
                let lines = entry.lines.iter().map(|line| tag("dd", &facts(&line.facts)));
                tag("dl", &(leaf("dt", &entry.label) + &lines.collect::<String>()))
            }
            Block::Table(of) => table(of),
            Block::Plot(_) => String::new(),
            Block::Note(note) => leaf("p", note),
        };
        let blocks: String = section.blocks.iter().map(block).collect();
        page += &tag("section", &(leaf("h2", section.title) + &blocks));
    }
    page
}

fn table(table: &Table) -> String {
    let row = |row: &Row| {
        let cells: String = row.cells.iter().map(|cell| leaf("td", cell.text())).collect();
        let remark = row.remark.as_ref().map(|remark| leaf("td", &remark.text));
        tag("tr", &(leaf("th", &row.label) + &cells + &remark.unwrap_or_default()))
    };
    let titles: String =
        [String::new()].iter().chain(&table.columns).map(|title| leaf("th", title)).collect();
    let rows: String = table.rows.iter().map(row).collect();
    let legend: String = table.legend.iter().map(|note| leaf("p", note)).collect();
    let caption = leaf("caption", &format!("{} {}", table.title, table.caption));
    tag("table", &(caption + &tag("tr", &titles) + &rows)) + &legend
}

fn facts(facts: &[Fact]) -> String {
    facts.iter().map(|fact| leaf("span", &fact.text)).collect()
}

fn tag(name: &str, content: &str) -> String {
    format!("<{name}>{content}</{name}>")
}

fn leaf(name: &str, text: &str) -> String {
    tag(name, &text.replace('&', "&amp;").replace('<', "&lt;"))
}

/// Counts the words between tags.
fn words(page: &str) -> BTreeMap<String, usize> {
    let texts = page.split('<').filter_map(|piece| piece.split_once('>'));
    let mut words = BTreeMap::new();
    for word in texts.flat_map(|(_, text)| text.split_whitespace()) {
        *words.entry(word.replace("&lt;", "<").replace("&amp;", "&")).or_default() += 1;
    }
    words
}

/// Fails if the text report shows a word that the page has not, or not as often. Signs that the
/// text's layout adds are none.
#[track_caller]
fn check(document: &Document) {
    let options = TextOptions {
        colour: false,
        width: 120,
        histogram: Some(Bars::Ascii),
        spectrum: true,
        verbose: true,
        verdict: true,
        rules: true,
    };
    let detail = Detail {
        histogram: true,
        course: false,
        spectrum: true,
        verbose: true,
        verdict: true,
        rules: true,
        plots: false,
    };
    let mut text = Vec::new();
    text::write(document, &options, &mut text).expect("memory can be written");
    let text = String::from_utf8(text).expect("a report is UTF-8");
    let page = html(&Report::of(document, &detail));
    let mut words = words(&page);
    let is_layout =
        |word: &&str| ["-", "=", "+", "note:"].contains(word) || word.chars().all(|c| c == '#');
    for word in text.split_whitespace().filter(|word| !is_layout(word)) {
        let left = words.get_mut(word).filter(|left| **left > 0);
        *left.unwrap_or_else(|| panic!("{word} is missing in\n{page}\nbut not in\n{text}")) -= 1;
    }
}

#[test]
fn a_page_has_every_cell_of_the_text() {
    let mut clean = fine(Fixture::open_loop(20_000)).evidence().document();
    let claims = ["p99 < 10ms", "p50 < 100us"].map(|claim| claim.parse::<Assertion>());
    clean.assertions = claims.map(|claim| claim.expect("a claim").judge(&clean)).into();
    check(&clean);
    check(&inflated().timeouts(4_000, 2 * S).document());
    check(&renewing().document());
    let needs = Fixture::open_loop(5).spread(50, MS, 2 * MS);
    check(&needs.note("few_requests", "the run had 50 requests").document());
    check(&Fixture::open_loop(1_000).responses(9_000, 404, MS, MS).document());
    check(&Fixture::closed_loop().timeouts(500, 2 * S).document());
}

#[test]
fn a_page_has_what_only_some_runs_have() {
    let usage = CallbackUsage { calls: 240, time_ns: 9 * MS, longest_ns: MS, long_ns: 0 };
    let fixture = Fixture::closed_loop().spread(90_000, MS, 2 * MS);
    let fixture = fixture.errors(7, ErrorKind::Errno(104), MS).open(90, 100).with(|parts| {
        parts.beside.script_file = Some("counter.lua".to_owned());
        let m = &mut parts.measurements;
        m.script = Some(ScriptUsage {
            states: 2,
            memory_max_bytes: 1_234_567,
            callbacks: BTreeMap::from([(Callback::Request, usage)]),
            ran_dry: 12,
            ..ScriptUsage::default()
        });
        (1..=1_000).for_each(|k| m.tls_handshake.record(k * 10_000));
        (1..=100).for_each(|k| m.connect.record(k * 1_000));
        m.interrupted = true;
    });
    check(&fixture.document());
}

/// The heading of the page of a study names what was studied.
#[test]
fn a_study_is_named_by_its_target() {
    let headings = [
        (Report::of_study(&studies::ab("new")), "A/B comparison of "),
        (Report::of_study(&studies::repeat()), "repeated runs of "),
        (Report::of_study(&studies::sweep()), "sweep of "),
        (Report::of_study(&studies::search()), "search for the highest rate of "),
    ];
    for (report, kind) in headings {
        let heading = leaf("h1", &format!("{kind}http://127.0.0.1:8080/index.html"));
        let mut written = Vec::new();
        weir_report::html::write_report(&report, &mut written).expect("memory");
        let page = String::from_utf8(written).expect("text");
        assert!(page.contains(&heading), "{heading} is not in the page");
    }
    let mut apart = studies::ab("new");
    for trial in apart.trials.iter_mut().filter(|trial| trial.cell == 1) {
        let TrialOutcome::Measured(document) = &mut trial.outcome else { continue };
        document.plan.url = "http://other/".to_owned();
    }
    let report = Report::of_study(&apart);
    let both = "A/B comparison of http://127.0.0.1:8080/index.html and http://other/";
    assert_eq!(report.about[0].text, both);
    apart.trials.clear();
    assert_eq!(Report::of_study(&apart).about[0].text, "A/B comparison");
}

/// A report cannot know if its study was kept.
#[test]
fn an_interrupted_study_is_resumed_if_it_was_kept() {
    let study = Study { state: StudyState::Interrupted, ..studies::repeat() };
    let page = html(&Report::of_study(&study));
    let state = "interrupted; weir resume FILE continues it, if `output` FILE kept the study";
    assert!(page.contains(state), "{page}");
}
