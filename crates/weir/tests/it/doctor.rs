//! `weir doctor` on the machine of the test, whatever its state: the report, the JSON and the exit
//! status agree. The checks themselves are tested in weir-doctor.

use serde_json::Value;

use crate::support::serve::Serve;
use crate::support::weir::weir;

/// The findings of a diagnosis in JSON, as pairs of id and severity.
fn findings(json: &str) -> Vec<(String, String)> {
    let diagnosis: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{json}"));
    assert_eq!(diagnosis["schema_version"], 1);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let findings = diagnosis["findings"].as_array().expect("a list");
    findings.iter().map(|finding| (text(&finding["id"]), text(&finding["severity"]))).collect()
}

fn severity_of<'a>(findings: &'a [(String, String)], id: &str) -> &'a str {
    let found = findings.iter().find(|(found, _)| found == id);
    found.map_or("absent", |(_, severity)| severity.as_str())
}

#[test]
fn the_report_is_for_people_and_exits_with_0() {
    let output = weir("doctor", &[]);
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(output.stdout.starts_with("weir doctor   this machine\n"), "{}", output.stdout);
    assert!(output.stdout.contains("checks found nothing to correct"), "{}", output.stdout);
    for line in output.stdout.lines() {
        assert!(line.chars().count() <= 80 && !line.contains('\x1b'), "{line:?}");
    }
    let verbose = weir("doctor --verbose", &[]).stdout;
    for title in ["Busy CPUs", "Clock source", "Timer slack", "Descriptors", "Local ports"] {
        assert!(verbose.contains(&format!("  {title} ")), "{title} is missing\n{verbose}");
    }
}

#[test]
fn strict_judges_problems_and_warnings() {
    let output = weir("doctor --strict --format json", &[]);
    let findings = findings(&output.stdout);
    let is_harmful =
        |(_, severity): &(String, String)| severity == "problem" || severity == "warning";
    let expected = if findings.iter().any(is_harmful) { 3 } else { 0 };
    assert_eq!(output.code(), expected, "{findings:?}");
    assert_eq!(severity_of(&findings, "shared-cpus"), "absent");
    assert_eq!(weir("doctor --format json", &[]).code(), 0);
}

#[test]
fn a_server_here_is_found_and_shares_the_cpus() {
    let serve = Serve::start(&[]);
    let url = serve.url().replace("http://", "http://me:secret@");
    let output = weir("doctor --strict --format json", &[&format!("{url}path?token=secret")]);
    assert_eq!(output.code(), 3, "{output:?}");
    assert!(!output.stdout.contains("secret"), "{}", output.stdout);
    let diagnosis: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(diagnosis["target"]["is_local"], true);
    assert_eq!(diagnosis["target"]["url"], serve.url().trim_end_matches('/'));
    let findings = findings(&output.stdout);
    assert!(["problem", "warning"].contains(&severity_of(&findings, "shared-cpus")));
    assert_eq!(severity_of(&findings, "slow-start"), "absent");
    assert_ne!(severity_of(&findings, "listener"), "unknown", "{findings:?}");
    assert_ne!(severity_of(&findings, "listener"), "absent", "{findings:?}");
}

#[test]
fn a_url_must_be_one_with_an_address() {
    for (url, code, message) in [
        ("ftp://localhost/", 2, "unsupported scheme"),
        ("http://no-such-host.invalid/", 1, "cannot be resolved"),
    ] {
        let output = weir("doctor", &[url]);
        assert_eq!((output.code(), output.stdout.as_str()), (code, ""), "{output:?}");
        assert!(output.stderr.contains(message), "{output:?}");
    }
}
