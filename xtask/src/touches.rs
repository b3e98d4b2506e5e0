//! `cargo xtask touches`: the number of files that an addition of a usual kind has to edit, counted
//! in the text of any revision.
//!
//! A file has to be edited for one more of some siblings if it names all that exist: it lists them
//! or tells them apart. Files of its own come on top, those called after it (each is one with the
//! directory below it); the sibling with the fewest says how many. For a flag or a metric, a file
//! has to be edited if it names one that exists; the count is the median of some that are typical.
//! Comments and tests do not count.

mod samples;

use std::collections::BTreeSet;

use anyhow::Result;

use crate::shell;
use crate::source::{File, Tree, production_text};
use samples::{Sibling, has_sample};

/// One row of the table.
struct TouchCount {
    about: &'static str,
    max: usize,
    /// Files of others that have to be edited.
    edited: usize,
    /// Files called after it; a file and the directory below it are one.
    own: usize,
    /// Files that name several of the siblings and not all, which may have a case for the new one.
    some: usize,
    /// The evidence.
    details: String,
}

/// The path of a file, and its code without comments and tests.
type Code<'a> = (&'a str, String);

/// Prints the counts of a revision, or of the files as they are.
pub(crate) fn touches(revision: Option<&str>) -> Result<()> {
    let root = shell::root()?;
    let tree = match revision {
        Some(revision) => Tree::at(&root, revision, "crates")?,
        None => Tree::read(&root)?,
    };
    print!("{}", report(&rows(&tree)));
    Ok(())
}

fn rows(tree: &Tree) -> Vec<TouchCount> {
    let production: Vec<Code> = tree.rust().filter(|file| file.is_product()).map(code).collect();
    let mut rows = Vec::new();
    for (about, max, siblings) in samples::SIBLINGS {
        rows.push(of_siblings(about, max, siblings, &production));
    }
    for (about, max, samples) in samples::SAMPLES {
        rows.push(of_samples(about, max, samples, &production));
    }
    rows
}

fn code(file: &File) -> Code<'_> {
    (&file.path, production_text(&file.text))
}

fn of_siblings(
    about: &'static str,
    max: usize,
    siblings: &[Sibling],
    files: &[Code],
) -> TouchCount {
    let named = |text: &str| siblings.iter().filter(|s| s.is_named_in(text)).count();
    let named: Vec<(usize, &str)> = files.iter().map(|(path, text)| (named(text), *path)).collect();
    let all = named.iter().filter(|(number, _)| *number == siblings.len());
    let edited: Vec<&str> = all.map(|(_, path)| *path).collect();
    let some = named.iter().filter(|(number, _)| (2..siblings.len()).contains(number)).count();
    let own = |sibling: &Sibling| {
        files.iter().filter_map(|(path, _)| sibling.room(path)).collect::<BTreeSet<_>>().len()
    };
    let own = siblings.iter().map(own).min().unwrap_or(0);
    TouchCount { about, max, edited: edited.len(), own, some, details: list(&edited) }
}

fn of_samples(about: &'static str, max: usize, samples: &[&str], files: &[Code]) -> TouchCount {
    let mut counts = Vec::new();
    let mut details = String::new();
    for sample in samples {
        let named = files.iter().filter(|(_, text)| has_sample(text, sample));
        let named: Vec<&str> = named.map(|(path, _)| *path).collect();
        details += &format!("  {sample}: {}\n{}", named.len(), list(&named));
        counts.push(named.len());
    }
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or(0);
    TouchCount { about, max, edited: median, own: 0, some: 0, details }
}

/// Writes the files one on a line.
fn list(paths: &[&str]) -> String {
    paths.iter().fold(String::new(), |list, path| list + "    " + path + "\n")
}

/// Writes a table in Markdown, and below it the files that each row counts.
fn report(rows: &[TouchCount]) -> String {
    let mut text = String::from(
        "| new | files | edited | of its own | at most | name several |\n\
         |---|--:|--:|--:|--:|--:|\n",
    );
    for TouchCount { about, max, edited, own, some, .. } in rows {
        let sum = edited + own;
        text += &format!("| {about} | {sum} | {edited} | {own} | {max} | {some} |\n");
    }
    for row in rows {
        text += &format!("\n{}: {} files to edit\n{}", row.about, row.edited, row.details);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: [Sibling; 2] = [
        Sibling { stems: &["one"], words: &["One", "\"one\""] },
        Sibling { stems: &["two"], words: &["Two"] },
    ];

    fn count(files: &[(&str, &str)]) -> TouchCount {
        let tree = Tree::of(files);
        let production: Vec<Code> =
            tree.rust().filter(|file| file.is_product()).map(code).collect();
        of_siblings("a pair", 2, &PAIR, &production)
    }

    #[test]
    fn a_file_is_edited_if_it_names_all_siblings() {
        let row = count(&[
            ("crates/x/src/both.rs", "match a { One => f(), Two => g() }"),
            ("crates/x/src/text.rs", "f(\"one\", Two)"),
            ("crates/x/src/single.rs", "f(One)"),
            ("crates/x/src/longer.rs", "f(OneMore, Two)"),
            ("crates/x/src/comment.rs", "f(One) // Two"),
            ("crates/x/src/tested.rs", "f(One);\n#[cfg(test)]\nmod tests {\n    use Two;\n}\n"),
            ("crates/x/tests/both.rs", "f(One, Two)"),
            ("xtask/src/both.rs", "f(One, Two)"),
        ]);
        assert_eq!((row.edited, row.own), (2, 0));
        assert_eq!(row.details, "    crates/x/src/both.rs\n    crates/x/src/text.rs\n");
    }

    #[test]
    fn the_smallest_sibling_says_how_many_files_are_its_own() {
        let row = count(&[
            ("crates/x/src/one.rs", ""),
            ("crates/y/src/a/one/b.rs", ""),
            ("crates/x/src/two.rs", ""),
            ("crates/x/src/two/c.rs", ""),
            ("crates/y/src/two/d.rs", ""),
            ("crates/z/src/a/two.rs", ""),
            ("crates/x/src/two_more.rs", ""),
        ]);
        assert_eq!((row.edited, row.own), (0, 2));
    }

    #[test]
    fn samples_have_a_median() {
        let files = [
            ("crates/x/src/a.rs", "f(first_one, \"--second-one\", third_one)"),
            ("crates/x/src/b.rs", "f(FirstOne, third_one)"),
            ("crates/x/src/c.rs", "f(third_one, \"first-one\")"),
        ];
        let tree = Tree::of(&files);
        let production: Vec<Code> = tree.rust().map(code).collect();
        let samples = ["third_one", "second_one", "first_one"];
        let row = of_samples("a sample", 4, &samples, &production);
        assert_eq!((row.edited, row.own), (3, 0));
        assert!(
            row.details.contains("  second_one: 1\n    crates/x/src/a.rs\n"),
            "{}",
            row.details
        );
        assert!(row.details.contains("  first_one: 3\n"), "{}", row.details);
    }

    #[test]
    fn the_table_adds_up() {
        let row = |about, edited, own| TouchCount {
            about,
            max: 5,
            edited,
            own,
            some: 1,
            details: String::new(),
        };
        let report = report(&[row("a thing", 3, 2)]);
        assert!(report.contains("| a thing | 5 | 3 | 2 | 5 | 1 |\n"), "{report}");
    }
}
