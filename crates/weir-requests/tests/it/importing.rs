//! Scenarios made from files of other programs, against golden files. `UPDATE_GOLDEN=1` rewrites
//! them; read the difference before committing it.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value;
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

/// Texts that a reader or the writer could take for something else.
const PIECES: [&str; 24] = [
    "{{",
    "}}",
    "{{user.x}}",
    "{{env:X}}",
    "{{x}}",
    "\u{fdd0}",
    "\\u007b{",
    "%7B%7Bx%7D%7D",
    "%",
    "'",
    "\'\'\'",
    "\"",
    "\\",
    "\n",
    "\r\n",
    "\r",
    "\u{0}",
    "\u{7f}",
    "&",
    "=",
    "#",
    "\n###\n",
    "<",
    "\u{1F600}",
];

/// Adds a piece to the string of a JSON document with this number, counted down.
fn add_piece(value: &mut Value, number: &mut usize, piece: &str, at: usize) {
    match value {
        Value::String(text) if *number == 0 => {
            *number = usize::MAX;
            let place = (at % (text.len() + 1)..=text.len()).find(|at| text.is_char_boundary(*at));
            text.insert_str(place.unwrap_or(0), piece);
        }
        Value::String(_) => *number = number.saturating_sub(1),
        Value::Array(items) => {
            items.iter_mut().for_each(|item| add_piece(item, number, piece, at));
        }
        Value::Object(members) => {
            members.values_mut().for_each(|member| add_piece(member, number, piece, at));
        }
        _ => {}
    }
}

/// Imports a text, and checks that the result can be read, or that the text is refused for a
/// reason of its own.
fn check_any(text: &str) {
    for is_secret in [None, Some(is_secret as fn(&str, &str) -> bool)] {
        let rules = ImportRules { is_secret, ..rules("any") };
        match ImportedScenario::of(text, rules) {
            Ok(imported) => {
                let read = ScenarioFile::parse(&imported.text);
                assert!(read.is_ok(), "{read:?}: {text}");
            }
            Err(error) => {
                let error = error.of_file();
                assert!(!error.contains("scenario cannot be read"), "{error}: {text}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_strings_of_json_are_imported_or_refused(
        is_har: bool, number in 0_usize..400, piece in 0..PIECES.len(), at in 0_usize..200,
    ) {
        let text = text_of(if is_har { "shop.har" } else { "shop.postman.json" });
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let mut number = number;
        add_piece(&mut value, &mut number, PIECES[piece], at);
        check_any(&value.to_string());
    }

    #[test]
    fn changed_texts_are_imported_or_refused(
        file in 0_usize..4, at in 0_usize..8_000, length in 0_usize..30, piece in 0..PIECES.len(),
    ) {
        let mut text = text_of(["shop.har", "shop.postman.json", "shop.http", "shop.curl"][file]);
        let at = at % text.len();
        let end = (at + length).min(text.len());
        text.replace_range(at..end, PIECES[piece]);
        check_any(&text);
    }

    #[test]
    fn any_text_is_imported_or_refused(text: String, start in 0_usize..5) {
        let starts = ["", "GET http://h/", "{\"log\":", "curl ", "### "];
        check_any(&format!("{}{text}", starts[start]));
    }
}
