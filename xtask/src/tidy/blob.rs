//! Size of each file of the tree, text or not: a clone should hold what people wrote. What tools
//! generate, other projects publish, or a run has measured is kept compressed, or installed by a
//! lock file.

use super::finding::Finding;
use crate::source::Tree;

const BYTES_MAX: u64 = 256 * 1024;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let too_large = tree.sizes.iter().filter(|(_, bytes)| *bytes > BYTES_MAX);
    too_large
        .map(|(path, bytes)| {
            let advice = format!(
                "{bytes} bytes, {BYTES_MAX} at most: compress it, or install it by a lock file"
            );
            Finding::new(path, 1, "blob", advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_size(bytes: u64, expected: &[&str]) {
        let sizes = vec![("a.bin".to_owned(), bytes)];
        let found = check(&Tree { sizes, ..Tree::of(&[]) });
        let found: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected, "{bytes} bytes");
    }

    #[test]
    fn large_files_are_found() {
        check_size(0, &[]);
        check_size(BYTES_MAX, &[]);
        check_size(BYTES_MAX + 1, &["blob"]);
    }

    #[test]
    fn sizes_of_texts_are_in_bytes() {
        let text = "ä".repeat(usize::try_from(BYTES_MAX / 2).expect("a small number"));
        assert_eq!(check(&Tree::of(&[("a.md", &text)])), []);
        assert_eq!(check(&Tree::of(&[("a.md", &format!("{text}.")), ("b.md", "")])).len(), 1);
    }
}
