//! Words that are spelled alike, for hints.

/// Returns the known word that is nearest to a misspelled one: at most two edits away, and no more
/// than half of the word.
pub fn similar<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let nearest = known.into_iter().map(|known| (distance(word, known), known)).min();
    nearest.filter(|(slips, _)| *slips <= 2 && slips * 2 <= word.len()).map(|(_, known)| known)
}

/// Edit distance: letters to insert, remove or change to turn one word into the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.bytes().enumerate() {
            let changed = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in
            [("", "", 0), ("a", "", 1), ("eror", "errors", 2), ("rate", "rate", 0), ("ab", "ba", 2)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn two_slips_are_similar() {
        let known = ["search", "serve", "sweep", "ab"];
        for (word, expected) in [
            ("serach", Some("search")),
            ("srve", Some("serve")),
            ("seep", Some("sweep")),
            ("b", None),
            ("localhost", None),
        ] {
            assert_eq!(similar(word, known), expected, "{word}");
        }
    }
}
