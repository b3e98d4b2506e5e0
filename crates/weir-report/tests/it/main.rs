//! The tests of weir-report's public interface, as one program so that it is linked once.

mod dialect;
mod exports;
mod fixture;
mod hostile;
mod html;
mod markdown;
mod page;
mod properties;
mod raw;
mod readers;
mod studies;
mod text;
mod tools;
