//! `weir serve` as a separate process: for tests that stop a process, or whose client and server
//! must not share their limits.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use super::process::Process;
use super::wait;
use super::weir::WEIR;

/// A server process that ends with its test.
#[derive(Debug)]
pub(crate) struct Serve {
    process: Process,
    address: String,
}

impl Serve {
    /// Starts a server on a free port of the loopback address.
    pub(crate) fn start(flags: &[&str]) -> Serve {
        let mut command = Command::new(WEIR);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags);
        let mut process = Process::start(&mut command);
        let line = process.next_line();
        let address = line.strip_prefix("listening on http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Serve { process, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// Requests it has read so far.
    pub(crate) fn requests(&self) -> u64 {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(wait::GUARD)).expect("a valid timeout");
        let question = "GET /weir/stats HTTP/1.1\r\nHost: stats\r\nConnection: close\r\n\r\n";
        stream.write_all(question.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_else(|| panic!("{answer}"));
        count_of_requests(body)
    }

    /// Waits until it has read that many requests.
    pub(crate) fn await_requests(&self, count: u64) {
        wait::until("requests at the server", || (self.requests() >= count).then_some(()));
    }

    /// Ends it in order, and returns the number of requests that it has read.
    pub(crate) fn stop(self) -> u64 {
        let stats = self.stop_with_stats();
        stats["requests"].as_u64().unwrap_or_else(|| panic!("{stats}"))
    }

    /// Ends it in order, and returns its counters.
    pub(crate) fn stop_with_stats(self) -> serde_json::Value {
        self.process.signal(&["TERM"]);
        let output = self.process.wait();
        assert!(output.status.success(), "{output:?}");
        // The counters of a shop are also in the line before.
        let last = output.stdout.lines().last().unwrap_or_default();
        let stats = serde_json::from_str(last);
        stats.unwrap_or_else(|_| panic!("its counters are JSON: {output:?}"))
    }
}

fn count_of_requests(stats: &str) -> u64 {
    let stats: serde_json::Value = serde_json::from_str(stats).expect("its counters are JSON");
    stats["requests"].as_u64().unwrap_or_else(|| panic!("{stats}"))
}
