//! The measured figures of README.md are those of the pages that they come from.

use super::finding::Finding;
use crate::readme::{ACCURACY, PERFORMANCE, README, updated};
use crate::source::tree::Tree;

pub(super) fn check(tree: &Tree) -> Option<Finding> {
    let text = |path: &str| tree.file(path).map(|file| file.text.as_str());
    let (readme, performance, accuracy) = (text(README)?, text(PERFORMANCE)?, text(ACCURACY)?);
    let is_current = updated(readme, performance, accuracy).as_deref() == Some(readme);
    let advice = "the measured figures are not those of docs/: run `cargo xtask readme`";
    (!is_current).then(|| Finding::new(README, 1, "measured", advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_figures_are_found() {
        let readme = "<!-- measured: written by `cargo xtask readme` -->\nold\n\
                      <!-- end of measured -->\n";
        let pages = |readme| Tree::of(&[(README, readme), (PERFORMANCE, ""), (ACCURACY, "")]);
        assert!(check(&pages(readme)).is_some());
        let new = updated(readme, "", "").expect("it has the place");
        assert!(check(&pages(&new)).is_none());
    }
}
