//! The verdict as METHOD 1.9 specifies it: each rule with a document that triggers it and one that
//! does not, each grade, each line, each bound, and the sentences.

mod arrivals;
mod bounds;
mod client;
mod grade;
mod limit;
mod load;
mod loading;
mod machine;
mod run;
mod sentences;
mod server;
mod statistics;
mod target;
mod triggers;
