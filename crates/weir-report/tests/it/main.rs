//! The tests of weir-report's public interface, as one program so that it is linked once.

mod dialect;
mod exports;
mod fixture;
mod hostile;
mod html;
mod markdown;
mod properties;
mod rare;
mod raw;
mod studies;
mod text;
mod tools;
