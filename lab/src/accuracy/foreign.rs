//! V30: servers of others, over each protocol that they speak. Each writes a line of its log for
//! every request that it has processed, and their number is compared with weir's count.

use std::fmt::{self, Display};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use weir_result::Document;
use xtask::guard::Guarded;
use xtask::shell::find_program;

use crate::rig::{
    Fixture, Section, answers, filled, free_address, seconds, thousands, write_certificate,
};

/// A server program. In its texts `{http1}`, `{plain}` and `{secure}` stand for its addresses, the
/// same with `_port` for their ports, and `{dir}` for its directory, which has `cert.pem`,
/// `key.pem`, both of them in `both.pem`, and an `index.html`.
struct Foreign {
    program: &'static str,
    /// Protocols that these listeners speak.
    speaks: &'static [HttpVariant],
    /// File of its configuration; empty if it needs none.
    config: &'static str,
    /// Command for a shell, which runs in the directory.
    command: &'static str,
    /// Text in a line of the log that is one of a request, if the version of HTTP is not.
    mark: Option<&'static str>,
}

/// Protocol of a listener: HTTP/1.1 in the clear at `{http1}`, since not every server tells it from
/// HTTP/2 by itself; HTTP/2 in the clear at `{plain}`, by prior knowledge; both over TLS at
/// `{secure}`.
#[derive(Clone, Copy)]
struct HttpVariant {
    is_http2: bool,
    is_secure: bool,
}

const HTTP1: HttpVariant = HttpVariant { is_http2: false, is_secure: false };
const HTTP2: HttpVariant = HttpVariant { is_http2: true, is_secure: false };
const HTTP2_TLS: HttpVariant = HttpVariant { is_http2: true, is_secure: true };
const ALL: [HttpVariant; 4] = [HTTP1, HttpVariant { is_secure: true, ..HTTP1 }, HTTP2, HTTP2_TLS];

impl HttpVariant {
    /// Returns the version as logs write it.
    fn version(self) -> &'static str {
        if self.is_http2 { "HTTP/2" } else { "HTTP/1.1" }
    }
}

impl Display for HttpVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())?;
        f.write_str(if self.is_secure { ", TLS" } else { "" })
    }
}

/// Log of each server.
const LOG: &str = "access.log";

const FOREIGNS: [Foreign; 7] = [
    Foreign {
        config: include_str!("foreign/nginx.conf"),
        ..foreign("nginx", "exec nginx -p . -c config -e stderr")
    },
    Foreign { config: include_str!("foreign/h2o.conf"), ..foreign("h2o", "exec h2o -c config") },
    Foreign {
        speaks: &[HTTP2],
        mark: Some("recv HEADERS frame"),
        ..foreign("nghttpd", "exec nghttpd -v --no-tls -d . -a 127.0.0.1 {plain_port} > access.log")
    },
    Foreign {
        speaks: &[HTTP2_TLS],
        mark: Some("recv HEADERS frame"),
        ..foreign(
            "nghttpd",
            "exec nghttpd -v -d . -a 127.0.0.1 {secure_port} key.pem cert.pem > access.log",
        )
    },
    Foreign {
        config: include_str!("foreign/haproxy.conf"),
        ..foreign("haproxy", "exec haproxy -db -f config > access.log")
    },
    Foreign {
        config: include_str!("foreign/lighttpd.conf"),
        ..foreign("lighttpd", "exec lighttpd -D -f config")
    },
    Foreign {
        config: include_str!("foreign/caddy.conf"),
        ..foreign("caddy", "exec caddy run --config config --adapter caddyfile 2> errors.log")
    },
];

/// Returns a server without a configuration that speaks everything.
const fn foreign(program: &'static str, command: &'static str) -> Foreign {
    Foreign { program, speaks: &ALL, config: "", command, mark: None }
}

/// Loads over HTTP/1.1.
const HTTP1_LOADS: [&str; 2] = ["-t1 -c4 -n 20000", "-t1 -c4 -R2000 -d3s --warmup 500ms"];

/// Loads over HTTP/2.
const HTTP2_LOADS: [&str; 3] = [
    "-t1 -c4 --streams 10 -n 20000",
    "-t1 -c4 -n 5000",
    "-t1 -c4 --streams 20 -R2000 -d3s --warmup 500ms",
];

/// Runs case V30 of METHOD 2.1.
pub(super) fn servers_of_others(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "servers of others",
        "Do counts agree with the logs of other servers, which end connections as they like?",
        "Requests in the server's log = requests sent − returned, and every planned request ok.",
    );
    for foreign in &FOREIGNS {
        let name = foreign.program;
        let Some(program) = find_program(name) else {
            section.note(format!("{name} is not installed: it is not compared."));
            continue;
        };
        for &wire in foreign.speaks {
            let loads: &[&str] = if wire.is_http2 { &HTTP2_LOADS } else { &HTTP1_LOADS };
            for load in loads {
                add(fixture, &mut section, foreign, &program, wire, load)
                    .with_context(|| format!("failed to compare {name} over {wire}"))?;
            }
        }
    }
    section.verdict(format!(
        "{} requests were sent, {} returned unprocessed, and {} are in the servers' logs.",
        thousands(section.sum("sent")),
        thousands(section.sum("returned")),
        thousands(section.sum("in the server's log"))
    ));
    Ok(section)
}

/// Runs one load on a fresh server, and compares the counts.
fn add(
    fixture: &Fixture,
    section: &mut Section,
    foreign: &Foreign,
    program: &Path,
    wire: HttpVariant,
    load: &str,
) -> Result<()> {
    let running = Running::start(fixture, foreign, program)?;
    let version = if wire.is_http2 { "2" } else { "1.1" };
    let document =
        fixture.weir(&format!("{load} --http {version} --insecure"), &running.url(wire))?;
    let counted = running.finish(foreign.mark.unwrap_or(wire.version()))?;
    let results = &document.results;
    let accounting = &document.accounting;
    let sent = accounting.sent.total;
    let returned = accounting.sent.returned;
    section.row(&[
        ("server", &foreign.program),
        ("protocol", &wire),
        ("load", &format!("`{load}`")),
        ("sent", &thousands(sent)),
        ("returned", &thousands(returned)),
        ("in the server's log", &thousands(counted)),
        ("connects", &thousands(document.connections.connects)),
        ("window off by", &window_off(&document)),
        ("ok", &thousands(results.outcomes.ok)),
    ]);
    let name = format!("{} over {wire}, `{load}`", foreign.program);
    section.must(counted == sent - returned, || {
        format!("{name}: {counted} in the log, {sent} sent, {returned} returned")
    });
    section.must(results.outcomes.ok == results.planned, || {
        format!("{name}: {} of {} are ok", results.outcomes.ok, results.planned)
    });
    Ok(())
}

/// Formats the largest difference of a worker's window from the requested length, if there is one.
fn window_off(document: &Document) -> String {
    let Some(requested_ns) = document.plan.load.length_ns() else { return "–".to_owned() };
    let windows_ns = document.phases.iter().map(|worker| worker.t1_ns - worker.t0_ns);
    let off_ns = windows_ns.map(|ns| ns.abs_diff(requested_ns)).max().unwrap_or(0);
    seconds(off_ns as f64 / 1e9)
}

/// A running server.
struct Running {
    guarded: Guarded,
    directory: PathBuf,
    http1: SocketAddr,
    plain: SocketAddr,
    secure: SocketAddr,
}

impl Running {
    fn start(fixture: &Fixture, foreign: &Foreign, program: &Path) -> Result<Running> {
        let directory = fixture.directory.join(foreign.program);
        // A log of an earlier run would be counted.
        fs::remove_dir_all(&directory).ok();
        fs::create_dir_all(&directory).context("failed to make a directory")?;
        write_certificate(&directory)?;
        let read = |name: &str| fs::read_to_string(directory.join(name));
        fs::write(directory.join("both.pem"), read("cert.pem")? + &read("key.pem")?)?;
        fs::write(directory.join("index.html"), "ok")?;
        let http1 = free_address()?;
        let plain = free_address()?;
        let secure = free_address()?;
        let fill = |text| {
            let dir = directory.display();
            let port = |address: SocketAddr| address.port();
            let addresses: [(&str, &dyn Display); 7] = [
                ("dir", &dir),
                ("http1", &http1),
                ("plain", &plain),
                ("secure", &secure),
                ("http1_port", &port(http1)),
                ("plain_port", &port(plain)),
                ("secure_port", &port(secure)),
            ];
            filled(text, &addresses)
        };
        fs::write(directory.join("config"), fill(foreign.config))?;
        // It may be in a directory for administrators, which is not in the path of every user.
        let place = program.parent().context("a program is in a directory")?.display();
        let command = fill(foreign.command);
        let command = format!("PATH={place}:$PATH; cd '{}' && {command}", directory.display());
        let guarded = Guarded::start(&["sh", "-c", &command])?;
        let running = Running { guarded, directory, http1, plain, secure };
        let mut listeners = foreign.speaks.iter().map(|wire| running.address(*wire));
        let started = listeners.try_for_each(answers);
        started.with_context(|| format!("failed to start {}", foreign.program))?;
        Ok(running)
    }

    fn address(&self, wire: HttpVariant) -> SocketAddr {
        match wire {
            HttpVariant { is_secure: true, .. } => self.secure,
            HttpVariant { is_http2: true, .. } => self.plain,
            _ => self.http1,
        }
    }

    fn url(&self, wire: HttpVariant) -> String {
        let scheme = if wire.is_secure { "https" } else { "http" };
        format!("{scheme}://{}/", self.address(wire))
    }

    /// Ends the server, which then writes the rest of its log, and returns the number of lines that
    /// have the mark. lighttpd also has a line for each connection's preface, which is no request.
    fn finish(self, mark: &str) -> Result<u64> {
        let Running { guarded, directory, .. } = self;
        let ended = Command::new("kill").arg(guarded.pid.to_string()).status();
        ensure!(ended.context("failed to start kill")?.success(), "the server has ended by itself");
        drop(guarded);
        let log = fs::read_to_string(directory.join(LOG)).context("the server has no log")?;
        let is_request = |line: &&str| line.contains(mark) && !line.starts_with("PRI * ");
        Ok(log.lines().filter(is_request).count() as u64)
    }
}
