//! Scenarios made from any text.

use weir_requests::scenario::{ImportFormat, ImportRules, ImportedScenario, ScenarioFile};

const FORMATS: [Option<ImportFormat>; 5] = [
    None,
    Some(ImportFormat::Har),
    Some(ImportFormat::Postman),
    Some(ImportFormat::Http),
    Some(ImportFormat::Curl),
];

/// Checks a file in each format: it becomes a scenario that can be read, the same each time, or it
/// is refused with a sentence. No recorded password is in the scenario.
pub(crate) fn scenario_import(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for format in FORMATS {
        let rules = ImportRules {
            format,
            file: "session",
            name: "session",
            origin: text.contains("{{").then_some("https://shop.example"),
            has_resources: text.len().is_multiple_of(2),
            is_secret: Some(|name, value| name == "password" || value.contains("SECRET")),
        };
        let imported = ImportedScenario::of(text, rules);
        assert_eq!(imported, ImportedScenario::of(text, rules));
        match imported {
            Err(error) => {
                let text = error.of_file();
                assert!(!text.is_empty() && !text.contains("scenario cannot be read"), "{text}");
            }
            Ok(ImportedScenario { text, notes }) => {
                let file = ScenarioFile::parse(&text);
                assert!(file.is_ok_and(|file| file.scenarios.all.len() == 1), "{text}");
                assert!(notes.iter().all(|note| !note.is_empty()), "{notes:?}");
            }
        }
    }
}
