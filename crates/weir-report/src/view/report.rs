//! A report: sections in the order of reading.

use super::{Block, Entry, Fact, TableKind, Tone};

/// A report in the order of reading.
#[derive(Clone, Debug)]
pub struct Report {
    /// Program that wrote the document.
    pub title: String,
    /// Target of the run.
    pub about: Vec<Fact>,
    /// Figures to show first, where there is room; the sections have them too.
    pub highlights: Vec<Entry>,
    /// Sections; one without blocks has nothing to report.
    pub sections: Vec<Section>,
}

/// A part of a report with a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// Heading.
    pub title: &'static str,
    /// Content in order.
    pub blocks: Vec<Block>,
}

impl Report {
    /// True if an assertion failed.
    pub fn has_failed(&self) -> bool {
        self.sections.iter().any(Section::has_failed)
    }

    /// Returns the sections in the order of a page, which is read from its top: failed assertions
    /// come first.
    pub fn sections_of_page(&self) -> Vec<&Section> {
        let (failed, others): (Vec<&Section>, Vec<&Section>) =
            self.sections.iter().partition(|section| section.has_failed());
        failed.into_iter().chain(others).filter(|section| !section.blocks.is_empty()).collect()
    }
}

impl Section {
    /// True if it has a failed assertion.
    fn has_failed(&self) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Table(table) if table.kind == TableKind::Assertions => {
                table.rows.iter().any(|row| row.tone == Tone::Bad)
            }
            _ => false,
        })
    }
}
