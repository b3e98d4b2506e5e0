//! A diagnosis as a view, which weir-report renders: problems first, then warnings, then what is
//! unknown, and one line for the rest. No widths and no colours are here.

use weir_report::view::{Block, Entry, Fact, Form, Line, Report, Section, Tone};

use crate::diagnosis::Diagnosis;
use crate::finding::{Finding, Remedy, Severity};

/// Headings of the findings of each severity, and their tones.
const HEADINGS: [(Severity, &str, Tone); 2] =
    [(Severity::Problem, "Problems", Tone::Bad), (Severity::Warning, "Warnings", Tone::Caution)];

/// Builds the report; `verbose` lists the checks that found nothing, too.
pub fn report(diagnosis: &Diagnosis, verbose: bool) -> Report {
    let mut sections = vec![Section { title: "Machine", blocks: vec![machine(diagnosis)] }];
    for (severity, title, tone) in HEADINGS {
        let findings: Vec<&Finding> = diagnosis.of_severity(severity).collect();
        let blocks = match findings.is_empty() {
            true => Vec::new(),
            false => listed(title, tone, &findings),
        };
        sections.push(Section { title, blocks });
    }
    let unknown: Vec<&Finding> = diagnosis.of_severity(Severity::Unknown).collect();
    if !unknown.is_empty() {
        let blocks = listed("Unknown", Tone::Main, &unknown);
        sections.push(Section { title: "Unknown", blocks });
    }
    sections.push(Section { title: "OK", blocks: passed(diagnosis, verbose) });
    let title = "weir doctor".to_owned();
    Report { title, about: about(diagnosis), highlights: Vec::new(), sections }
}

/// The target, or the machine if there is none.
fn about(diagnosis: &Diagnosis) -> Vec<Fact> {
    let Some(target) = &diagnosis.target else { return vec![Fact::text("this machine")] };
    let place = match target.is_local {
        Some(true) => "on this machine",
        Some(false) => "on another machine",
        None => "perhaps on this machine",
    };
    vec![Fact::text(&target.url).toned(Tone::Main), Fact::text(place)]
}

/// The machine, as far as it says.
fn machine(diagnosis: &Diagnosis) -> Block {
    let machine = &diagnosis.machine;
    let mut facts: Vec<Fact> = machine.hostname.iter().map(Fact::text).collect();
    facts.extend(machine.kernel.as_ref().map(|kernel| Fact::text(format!("Linux {kernel}"))));
    facts.extend(
        machine
            .cpus_usable
            .map(|cpus| Fact::text(format!("{cpus} CPU{}", if cpus == 1 { "" } else { "s" }))),
    );
    if machine.is_virtual == Some(true) {
        facts.push(Fact::text("virtual machine"));
    }
    let lines = vec![Line { form: Form::Facts, facts }];
    Block::Entry(Entry { label: "Machine".to_owned(), lines })
}

/// A heading with its findings.
fn listed(title: &str, tone: Tone, findings: &[&Finding]) -> Vec<Block> {
    let mut blocks = vec![heading(title, tone)];
    blocks.extend(findings.iter().map(|finding| entry(finding)));
    blocks
}

/// The checks that found nothing, in one line, or each in its own.
fn passed(diagnosis: &Diagnosis, verbose: bool) -> Vec<Block> {
    let passed: Vec<&Finding> = diagnosis.of_severity(Severity::Ok).collect();
    if verbose && !passed.is_empty() {
        return listed("OK", Tone::Good, &passed);
    }
    let total = diagnosis.findings.len();
    let text = format!("{} of {total} checks found nothing to correct", passed.len());
    let hint = match passed.is_empty() {
        true => "",
        false => " (--verbose lists them)",
    };
    vec![Block::Line(sentence(Fact::text(format!("{text}{hint}")).toned(match passed.len() {
        passed if passed == total => Tone::Good,
        _ => Tone::Aside,
    })))]
}

fn heading(title: &str, tone: Tone) -> Block {
    Block::Line(sentence(Fact::text(title).toned(tone)))
}

fn sentence(fact: Fact) -> Line {
    Line { form: Form::Sentence, facts: vec![fact] }
}

fn entry(finding: &Finding) -> Block {
    let mut lines = vec![sentence(Fact::text(&finding.evidence))];
    lines.extend(finding.effect.iter().map(|effect| sentence(Fact::text(effect))));
    lines.extend(finding.remedy.iter().map(|remedy| match remedy {
        Remedy::Command(command) => Line {
            form: Form::Command,
            facts: vec![Fact::text(format!("fix: {command}")).toned(Tone::Main)],
        },
        Remedy::Advice(advice) => sentence(Fact::text(format!("fix: {advice}")).toned(Tone::Main)),
    }));
    Block::Entry(Entry { label: finding.title.to_owned(), lines })
}
