//! Importance of a fact, from which a renderer takes its colour.

/// Importance of a fact to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Usual.
    #[default]
    Plain,
    /// The fact to find first.
    Main,
    /// A target that responds.
    Good,
    /// A bound, or a deviation from the plan.
    Caution,
    /// A failure.
    Bad,
    /// Secondary.
    Aside,
}
