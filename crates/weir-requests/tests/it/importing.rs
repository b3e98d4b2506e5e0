//! Scenarios made from files of other programs, against golden files. `UPDATE_GOLDEN=1` rewrites
//! them; read the difference before committing it.

use std::path::PathBuf;

use weir_requests::scenario::{ImportRules, ImportedScenario, ScenarioFile};
use weir_text::setting::{ALLOW_LOCAL, IMPORT_RESOURCES, SCENARIO, Setting};

/// Returns the flags that notes name.
fn flag(setting: Setting) -> Option<&'static str> {
    let flags = [
        (ALLOW_LOCAL, "--allow-local"),
        (IMPORT_RESOURCES, "--resources"),
        (SCENARIO, "--scenario"),
    ];
    flags.iter().find(|(named, _)| *named == setting).map(|(_, flag)| *flag)
}

/// True for the secrets of the files.
fn is_secret(name: &str, _: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "password", "api_key"].iter().any(|end| name.ends_with(end))
}

fn rules(file: &str) -> ImportRules<'_> {
    ImportRules {
        format: None,
        file,
        name: "shop",
        origin: None,
        has_resources: false,
        is_secret: Some(is_secret),
    }
}

fn text_of(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Imports a file of `tests/data`, and compares the result and its notes with the golden file.
fn check(file: &str, change: impl Fn(&mut ImportRules<'_>), golden: &str) {
    weir_text::name_settings(flag);
    let mut rules = rules(file);
    change(&mut rules);
    let ImportedScenario { text, notes } = ImportedScenario::of(&text_of(file), rules)
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    ScenarioFile::parse(&text).unwrap_or_else(|error| panic!("{file}: {error}\n{text}"));
    let notes: String = notes.iter().map(|note| format!("\n# note: {note}")).collect();
    let found = format!("{text}{notes}\n");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).expect("a writable file");
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 makes it");
    assert_eq!(found, expected, "{golden}");
}

#[test]
fn a_session_of_a_browser() {
    check("shop.har", |_| {}, "har.toml");
}

#[test]
fn a_session_with_its_resources_and_secrets() {
    let all = |rules: &mut ImportRules<'_>| {
        rules.has_resources = true;
        rules.is_secret = None;
    };
    check("shop.har", all, "har-all.toml");
}

#[test]
fn a_collection_of_postman() {
    check("shop.postman.json", |_| {}, "postman.toml");
}

#[test]
fn a_http_file() {
    check("shop.http", |_| {}, "http.toml");
}

#[test]
fn curl_commands() {
    check("shop.curl", |_| {}, "curl.toml");
}
