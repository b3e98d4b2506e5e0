//! The program as users run it: the real `weir`, started as a process, against real servers over
//! real sockets. The tests assert counts, codes and bounds that hold on a busy machine too. Speed
//! and punctuality are covered by simulations and `make bench`. `corpus` alone starts no process:
//! it replays the corpora of the fuzz targets.
//!
//! One program of tests rather than several, so that it is linked once.

mod checks;
#[path = "../../../weir-http/tests/it/check/mod.rs"]
#[expect(dead_code, reason = "each user of the module uses a part of it")]
mod http;
mod support;

mod aborting;
mod answers;
mod assertions;
mod ci;
mod cli;
mod comparing;
mod compat;
mod compat_habits;
mod connections;
mod conversations;
mod corpus;
mod credentials;
mod debug;
mod doctor;
mod errors;
mod expectations;
mod fleet;
mod foreign;
mod growing;
mod grpc;
mod help;
mod history;
mod http2;
mod https;
mod importing;
mod kubernetes;
mod list_formats;
mod lists;
mod live;
mod messages;
mod names;
mod nginx;
mod otlp;
mod pages;
mod parts;
mod preload;
mod rare;
mod readme;
mod renewing;
mod replay;
mod requests;
mod robustness;
mod rows;
mod scale;
mod script_calls;
mod scripts;
mod search;
mod serving;
mod signals;
mod slowness;
mod stages;
mod stall;
mod stops;
mod studies;
mod time;
mod tls;
mod trials;
mod tui;
mod users;
mod verdict;
mod watching;
mod websocket;
