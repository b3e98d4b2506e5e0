//! A diagnosis as a view, which weir-report renders: problems first, then warnings, then what is
//! unknown, and one line for the rest. No widths and no colours are here.

use weir_report::view::{Block, Fact, Form, Line, Report, Section, Tone};

use crate::diagnosis::Diagnosis;
use crate::finding::{Finding, Remedy, Severity};

/// Headings of the findings of each severity, and their tones.
const HEADINGS: [(Severity, &str, Tone); 3] = [
    (Severity::Problem, "Problems", Tone::Bad),
    (Severity::Warning, "Warnings", Tone::Caution),
    (Severity::Unknown, "Unknown", Tone::Main),
];

/// Builds the report; `verbose` lists the checks that found nothing, too.
pub fn report(diagnosis: &Diagnosis, verbose: bool) -> Report {
    let mut sections = vec![Section { title: "Machine", blocks: vec![machine(diagnosis)] }];
    for (severity, title, tone) in HEADINGS {
        let findings: Vec<&Finding> = diagnosis.of_severity(severity).collect();
        sections.push(Section { title, blocks: listed(title, tone, &findings) });
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
    Block::facts("Machine", facts)
}

/// A heading with its findings; nothing without any.
fn listed(title: &str, tone: Tone, findings: &[&Finding]) -> Vec<Block> {
    let heading = Block::Line(Line::sentence(Fact::text(title).toned(tone)));
    let heading = Some(heading).filter(|_| !findings.is_empty());
    heading.into_iter().chain(findings.iter().map(|finding| entry(finding))).collect()
}

/// The checks that found nothing, in one line, or each in its own.
fn passed(diagnosis: &Diagnosis, verbose: bool) -> Vec<Block> {
    let passed: Vec<&Finding> = diagnosis.of_severity(Severity::Ok).collect();
    if verbose && !passed.is_empty() {
        return listed("OK", Tone::Good, &passed);
    }
    let total = diagnosis.findings.len();
    let text = format!("{} of {total} checks found nothing to correct", passed.len());
    let hint = if passed.is_empty() { "" } else { " (--verbose lists them)" };
    let tone = if passed.len() == total { Tone::Good } else { Tone::Aside };
    vec![Block::Line(Line::sentence(Fact::text(format!("{text}{hint}")).toned(tone)))]
}

fn entry(finding: &Finding) -> Block {
    let texts = [&finding.evidence].into_iter().chain(&finding.effect);
    let mut lines: Vec<Line> = texts.map(|text| Line::sentence(Fact::text(text))).collect();
    lines.extend(finding.remedy.iter().map(|remedy| {
        let (form, text) = match remedy {
            Remedy::Command(command) => (Form::Command, command),
            Remedy::Advice(advice) => (Form::Sentence, advice),
        };
        Line { form, facts: vec![Fact::text(format!("fix: {text}")).toned(Tone::Main)] }
    }));
    Block::entry(finding.title, lines)
}
