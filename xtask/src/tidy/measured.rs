//! The pages of verdicts and the figures of README.md are made of the measured entries.

use anyhow::Result;
use xtask::measured::{PAGES, Page};

use super::finding::Finding;
use crate::pages::{README, updated};
use crate::source::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = PAGES.iter().flat_map(|page| strangers(tree, page)).collect();
    let read = |path: &str| tree.file(path).map(|file| file.text.clone());
    for page in PAGES {
        findings.extend(stale(tree, page.path, page.text(read).map(Some)));
    }
    let readme = tree.file(README).map_or("", |file| &file.text);
    findings.extend(stale(tree, README, updated(readme, read)));
    findings
}

/// Finds a page that is not what the entries give.
fn stale(tree: &Tree, path: &str, rendered: Result<Option<String>>) -> Option<Finding> {
    let file = tree.file(path)?;
    let advice = match rendered {
        Ok(text) if text.as_ref() == Some(&file.text) => return None,
        Ok(_) => "not what docs/measured gives: run `cargo xtask pages`".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Some(Finding::new(path, 1, "measured", advice))
}

/// Finds files that no case writes.
fn strangers(tree: &Tree, page: &Page) -> Vec<Finding> {
    let known: Vec<String> = page.entries().map(|id| page.file(id)).collect();
    let inside = tree.files.iter().filter(|file| file.path.starts_with(page.directory));
    let strange = inside.filter(|file| !known.contains(&file.path));
    let advice = "no case has this name, so no page shows it";
    strange.map(|file| Finding::new(&file.path, 1, "measured", advice)).collect()
}

#[cfg(test)]
mod tests {
    use xtask::measured::{ACCURACY, Entry};

    use super::*;

    fn check_files(files: &[(&str, &str)], expected: &[&str]) {
        let found = check(&Tree::of(files));
        let found: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn pages_are_what_their_entries_give() {
        let path = ACCURACY.file("V2");
        let data = Entry { id: "V2".to_owned(), ..Entry::default() }.to_json();
        let page = ACCURACY.text(|requested| (requested == path).then(|| data.clone()));
        let page = page.expect("the entry is whole");
        check_files(&[(ACCURACY.path, &page), (&path, &data)], &[]);
        check_files(&[(ACCURACY.path, &page)], &[ACCURACY.path]);
        check_files(&[(ACCURACY.path, "# A"), (&path, &data)], &[ACCURACY.path]);
        check_files(&[(ACCURACY.path, &page), (&path, "{")], &[ACCURACY.path]);
    }

    #[test]
    fn old_figures_of_the_readme_are_found() {
        let old = "<!-- measured: written by `cargo xtask pages` -->\nold\n\
                   <!-- end of measured -->\n";
        check_files(&[(README, old)], &[README]);
        let new = updated(old, |_| None).expect("no file").expect("it has the place");
        check_files(&[(README, &new)], &[]);
    }

    #[test]
    fn a_file_of_no_case_is_found() {
        let path = ACCURACY.file("V99");
        check_files(&[(&path, "{}")], &[&path]);
    }
}
