//! The tests of weir-stats' public interface, as one program so that it is linked once.

mod queue;

mod scipy;
mod truth;
