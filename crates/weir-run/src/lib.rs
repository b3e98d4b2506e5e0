//! The document of a run: what was planned, what was measured, and how numbers become text.
