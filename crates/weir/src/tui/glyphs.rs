//! The characters of the screen: block elements, or ASCII where the locale has no UTF-8.

use std::borrow::Cow;

use ratatui::symbols::bar;

use crate::screen;

/// Characters that the terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Glyphs {
    /// Unicode's block elements.
    #[default]
    Blocks,
    /// ASCII alone.
    Ascii,
}

impl Glyphs {
    /// Returns the characters of the user's locale.
    pub(super) fn of_environment() -> Glyphs {
        if screen::is_utf8() { Glyphs::Blocks } else { Glyphs::Ascii }
    }

    /// Shades of the heat map, from empty to full.
    pub(super) fn shades(self) -> [&'static str; 5] {
        match self {
            Glyphs::Blocks => [" ", "░", "▒", "▓", "█"],
            Glyphs::Ascii => [" ", ".", ":", "+", "#"],
        }
    }

    /// Parts of a bar.
    pub(super) fn bars(self) -> bar::Set<'static> {
        match self {
            Glyphs::Blocks => bar::NINE_LEVELS,
            Glyphs::Ascii => bar::Set {
                empty: " ",
                one_eighth: ".",
                one_quarter: ".",
                three_eighths: ":",
                half: ":",
                five_eighths: "|",
                three_quarters: "|",
                seven_eighths: "#",
                full: "#",
            },
        }
    }

    /// Returns text in these characters: `µs` becomes `us`.
    pub(super) fn text(self, text: &str) -> Cow<'_, str> {
        if self == Glyphs::Blocks || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let plain = |c: char| match c {
            'µ' => 'u',
            c if c.is_ascii() => c,
            _ => '?',
        };
        Cow::Owned(text.chars().map(plain).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_ascii_terminal_is_ascii() {
        assert_eq!(Glyphs::Ascii.text("12.3 µs"), "12.3 us");
        assert_eq!(Glyphs::Blocks.text("12.3 µs"), "12.3 µs");
        assert!(Glyphs::Ascii.shades().iter().all(|shade| shade.is_ascii()));
    }
}
