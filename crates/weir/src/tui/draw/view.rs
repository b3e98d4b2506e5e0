//! A state with its view, and the styles of its texts.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::tui::glyphs::Glyphs;
use crate::tui::state::State;

/// A state, and how it is shown.
pub(in crate::tui) struct View<'s> {
    pub(in crate::tui) state: &'s State,
    pub(in crate::tui) glyphs: Glyphs,
    pub(in crate::tui) is_paused: bool,
    /// True between the loads of a study.
    pub(in crate::tui) is_between: bool,
    pub(in crate::tui) is_help_open: bool,
}

impl View<'_> {
    /// Name of the whole that the keys end.
    pub(super) fn ended(&self) -> &'static str {
        if self.state.trial.is_some() { "study" } else { "run" }
    }
}

/// Columns of a label.
pub(super) const LABEL: usize = 12;

pub(super) fn label(name: &str) -> Span<'static> {
    Span::styled(format!("{name:LABEL$}"), dim())
}

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}
