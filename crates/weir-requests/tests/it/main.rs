//! The crate as its users see it.

mod importing;
