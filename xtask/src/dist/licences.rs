//! The licences of everything that is linked into the program, as their authors wrote them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::checkout::{Checkout, PACKAGE};
use crate::plots;
use crate::shell::output;

/// Beginnings of the names of files with licences.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "unlicense"];

/// Directories between a package's root and bundled software: `zstd/LICENSE`.
const DEPTH: usize = 1;

/// Returns the texts, each after the names of the packages that have it.
pub(super) fn of_dependencies(checkout: &Checkout<'_>) -> Result<String> {
    let words = ["metadata", "--locked", "--format-version=1", "--filter-platform"];
    let metadata = output(checkout.cargo(&words, "metadata", &[])?.arg(&checkout.triple))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let words = ["tree", "--locked", "--edges=normal,build", "--prefix=none", "--format={p}"];
    let mut tree = checkout.cargo(&words, "metadata", &[])?;
    let tree = output(tree.args(["--package", PACKAGE, "--target", &checkout.triple]))?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    for package in packages.iter().filter(|package| package["source"].is_string()) {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let name = format!("{} v{}", text("name"), text("version"));
        // Behind the name may be ` (*)`, for a repetition, and other remarks.
        if !tree.lines().any(|line| line.split(" (").next() == Some(&name)) {
            continue;
        }
        let place = Path::new(text("manifest_path")).parent().context("a manifest has a place")?;
        let mut files = Vec::new();
        find(place, DEPTH, &mut files)?;
        files.sort();
        let label = format!("{name} ({})", text("license"));
        if files.is_empty() {
            let none = "(The package has no file with its licence.)\n".to_owned();
            texts.entry(none).or_default().push(label.clone());
        }
        for file in files {
            let content = String::from_utf8_lossy(&fs::read(&file)?).trim().to_owned() + "\n";
            let names = texts.entry(content).or_default();
            if !names.contains(&label) {
                names.push(label.clone());
            }
        }
    }
    ensure!(texts.len() > 1, "no dependency has a licence");
    let (label, text) = of_plots(&plots::committed(&checkout.source)?)?;
    texts.entry(text).or_default().push(label);
    Ok(page(texts))
}

/// Returns the label and the licences of the plot library: the comment that it begins with.
fn of_plots(bundle: &str) -> Result<(String, String)> {
    let comment = bundle.strip_prefix("/*!\n").and_then(|rest| rest.split_once(" */\n"));
    let (comment, _) = comment.context("the plot library begins without its licences")?;
    let lines = comment.lines().map(|line| line.trim_start_matches(" *").trim_start_matches(' '));
    let text = lines.fold(String::new(), |text, line| text + line + "\n");
    Ok(("The plot library of HTML reports".to_owned(), text))
}

fn find(place: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files)?;
        } else if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    Ok(())
}

/// All texts, in the order of the first package that has each.
fn page(texts: BTreeMap<String, Vec<String>>) -> String {
    let mut texts: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, names)| (names, text)).collect();
    texts.sort();
    let rule = "=".repeat(80);
    let mut page = "Software that the program weir contains, and its licences\n".to_owned();
    for (names, text) in texts {
        page += &format!("\n{rule}\n{}\n{rule}\n\n{text}", names.join("\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plot_library_begins_with_its_licences() {
        let (_, text) = of_plots("/*!\n * Plot\n *\n *   ISC\n */\nvar a;\n").expect("a comment");
        assert_eq!(text, "Plot\n\nISC\n");
        of_plots("var a;\n").expect_err("no comment");
    }

    #[test]
    fn a_text_stands_once_behind_all_that_have_it() {
        let texts = BTreeMap::from([
            ("B\n".to_owned(), vec!["a v1 (MIT)".to_owned(), "c v1 (MIT)".to_owned()]),
            ("A\n".to_owned(), vec!["b v2 (ISC)".to_owned()]),
        ]);
        let page = page(texts);
        assert!(page.contains("a v1 (MIT)\nc v1 (MIT)\n="), "{page}");
        assert!(page.find("a v1") < page.find("b v2"), "{page}");
    }
}
