//! The tests of weir-study's public interface, as one program so that it is linked once.

mod compare;
mod conductor;
mod names;
mod rare;
mod sweeps;
