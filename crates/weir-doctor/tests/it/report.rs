//! The report for people and the JSON, against golden files. `UPDATE_GOLDEN=1` rewrites them; read
//! the difference before committing it.

use std::io::ErrorKind;
use std::path::PathBuf;

use weir_doctor::{Diagnosis, Remedy, Severity, UringRefusal, report};
use weir_machine::sys::DescriptorLimit;
use weir_report::{TextOptions, text};

use crate::machine::Machine;

/// A server on a virtual machine with many faults.
fn ailing() -> Machine {
    let busy = [[160, 0, 50, 10_038, 0, 0, 0, 252]; 4];
    Machine::healthy()
        .virtual_machine()
        .local()
        .stat([[100, 0, 50, 10_000, 0, 0, 0, 250]; 4])
        .stat_later(busy)
        .process(4_242, "\u{1b}[31mrustc", 5)
        .process_later(4_242, "\u{1b}[31mrustc", 105)
        .process(977, "chrome", 5)
        .process_later(977, "chrome", 145)
        .each_cpu("cpufreq/scaling_governor", "schedutil\n")
        .file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n")
        .file("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n")
        .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
        .file("sys/fs/cgroup/user.slice/app.scope/cpu.max", "150000 100000\n")
        .file("proc/sys/net/core/somaxconn", "128\n")
        .file("proc/sys/net/ipv4/ip_local_port_range", "40000 44999\n")
        .file("proc/sys/kernel/io_uring_disabled", "2\n")
        .without("sys/devices/system/cpu/intel_pstate")
        .without("proc/meminfo")
        .facts(|facts| {
            facts.clock_read_ns = 1_200.0;
            facts.descriptors = Ok(DescriptorLimit { soft: 256, hard: 256 });
            let message = "io_uring_setup: Operation not permitted".to_owned();
            facts.uring = Err(UringRefusal { kind: ErrorKind::PermissionDenied, message });
        })
}

const PLAIN: TextOptions = TextOptions {
    colour: false,
    width: 80,
    histogram: None,
    spectrum: false,
    verbose: false,
    verdict: true,
    rules: false,
};

fn print(diagnosis: &Diagnosis, options: &TextOptions) -> String {
    let mut out = Vec::new();
    text::render(&report(diagnosis, options.verbose), options, &mut out).expect("memory");
    String::from_utf8(out).expect("a report is UTF-8")
}

#[track_caller]
fn golden(name: &str, printed: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, printed).expect("the golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 makes it");
    assert!(printed == expected, "{name} changed:\n{printed}\ninstead of:\n{expected}");
}

#[track_caller]
fn golden_text(name: &str, machine: &Machine, options: &TextOptions) {
    let printed = print(&machine.diagnosis(), options);
    if !options.colour {
        for line in printed.lines() {
            assert!(line.chars().count() <= options.width.into(), "too wide: {line}");
            assert!(!line.contains('…'), "cut: {line}");
            assert_eq!(line, line.trim_end(), "blanks at its end");
        }
    }
    golden(name, &printed);
}

#[test]
fn text() {
    golden_text("ailing.txt", &ailing(), &PLAIN);
    golden_text("ailing_narrow.txt", &ailing(), &TextOptions { width: 60, ..PLAIN });
    golden_text("ailing_wide.txt", &ailing(), &TextOptions { width: 120, ..PLAIN });
    golden_text("ailing_colours.txt", &ailing(), &TextOptions { colour: true, ..PLAIN });
    golden_text("healthy.txt", &Machine::healthy(), &PLAIN);
    let verbose = TextOptions { verbose: true, ..PLAIN };
    golden_text("healthy_verbose.txt", &Machine::healthy().remote(), &verbose);
}

#[test]
fn json() {
    let text = serde_json::to_string_pretty(&ailing().diagnosis()).expect("it can be written");
    golden("ailing.json", &weir_report::json::escaped(text + "\n"));
}

#[test]
fn the_most_harmful_come_first_and_ids_are_unique() {
    let diagnosis = ailing().diagnosis();
    let severities: Vec<Severity> = diagnosis.findings.iter().map(|f| f.severity).collect();
    assert!(severities.is_sorted(), "{severities:?}");
    for severity in [Severity::Problem, Severity::Warning, Severity::Unknown, Severity::Ok] {
        assert!(diagnosis.of_severity(severity).next().is_some(), "{severity:?}");
    }
    let mut ids: Vec<&str> = diagnosis.findings.iter().map(|f| f.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), diagnosis.findings.len());
    for finding in &diagnosis.findings {
        assert!(finding.title.chars().count() <= 12, "{finding:?}");
        assert!(finding.id.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{finding:?}");
    }
    assert!(!diagnosis.is_clean() && Machine::healthy().diagnosis().is_clean());
}

#[test]
fn nothing_is_readable_and_nothing_is_ok() {
    let machine = Machine::healthy().without("proc").without("sys");
    for finding in machine.diagnosis().findings {
        // These need no file.
        let needs_files = !["timer-resolution", "timer-slack", "io-uring", "descriptor-limit"]
            .contains(&finding.id)
            && finding.id != "congestion-control";
        assert_eq!(finding.severity == Severity::Unknown, needs_files, "{finding:?}");
    }
}

/// Fails if a command of the narrowest page is not the command of the finding once its lines are
/// joined as a shell joins them.
#[test]
fn commands_survive_the_width_of_the_page() {
    let diagnosis = ailing().diagnosis();
    let narrow = print(&diagnosis, &TextOptions { width: 60, ..PLAIN });
    let joined = narrow.replace("\\\n", " ");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = joined.lines().map(words).collect();
    let mut commands = 0;
    for finding in &diagnosis.findings {
        let Some(Remedy::Command(command)) = &finding.remedy else { continue };
        assert!(lines.contains(&format!("fix: {command}")), "{command} is not in\n{narrow}");
        commands += 1;
    }
    assert!(commands >= 5 && narrow.contains(" \\\n"), "{narrow}");
}

#[test]
fn every_check_has_its_row_on_the_page() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/TROUBLESHOOTING.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, page) = page.split_once("\n## Check the machine\n").expect("the section is there");
    let rows: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let here = Machine::healthy().local().diagnosis().findings;
    let elsewhere = Machine::healthy().remote().diagnosis().findings;
    let mut ids: Vec<&str> = here.iter().chain(&elsewhere).map(|finding| finding.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut listed = rows.clone();
    listed.sort_unstable();
    assert_eq!(listed, ids);
}
