//! A committed page of figures: its sections by case. A run replaces the sections that it has
//! measured. This module is independent of the contents.

use std::collections::BTreeMap;

/// Beginning of a section.
const HEADING: &str = "\n## ";

/// Sections of a page, by the case's name.
#[derive(Debug, Default)]
pub(crate) struct Page {
    sections: BTreeMap<String, String>,
}

impl Page {
    /// Reads the page as it was written.
    pub(crate) fn of(text: &str) -> Page {
        let parts = text.split(HEADING).skip(1);
        let named = parts.filter_map(|part| Some((part.split_once(':')?.0.to_owned(), part)));
        let sections = named.map(|(id, part)| (id, format!("{HEADING}{}\n", part.trim_end())));
        Page { sections: sections.collect() }
    }

    /// Inserts a section or replaces its older version.
    pub(crate) fn put(&mut self, id: &str, section: String) {
        self.sections.insert(id.to_owned(), section);
    }

    /// Returns the text, in the order of `cases`.
    pub(crate) fn text<'c>(&self, head: &str, cases: impl Iterator<Item = &'c str>) -> String {
        let mut text = head.to_owned();
        for id in cases {
            match self.sections.get(id) {
                Some(section) => text.push_str(section),
                None => text.push_str(&format!("{HEADING}{id}: not measured yet\n")),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_what_it_measured() {
        let written = "# A\n\nhead\n\n## V2: two (as expected)\n\nold\n\n## V3: three\n\nkept\n";
        let mut page = Page::of(written);
        page.put("V2", "\n## V2: two (as expected)\n\nnew\n".to_owned());
        let text = page.text("# B\n", ["V2", "V3", "V4"].into_iter());
        let expected = "# B\n\n## V2: two (as expected)\n\nnew\n\n## V3: three\n\nkept\n\n## V4: \
                        not measured yet\n";
        assert_eq!(text, expected);
        let again = Page::of(&text).text("# B\n", ["V2", "V3", "V4"].into_iter());
        assert_eq!(again, expected);
    }
}
