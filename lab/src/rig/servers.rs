//! Servers under load: a private nginx, `weir serve` and scripts, each on a separate port.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use weir_machine::{Process, Root, TICK_NS, processes};
use xtask::guard::Guarded;
use xtask::shell::{is_root, need_program, root, target_dir};

/// Maximum of connections of the private nginx: the largest case's, and some for its status.
pub(crate) const NGINX_CONNECTIONS: u32 = 12_000;

/// Bodies that the private nginx has as files, in bytes; `weir serve` sends any length.
const NGINX_BODIES: [u32; 4] = [1 << 10, 10 << 10, 128 << 10, 1 << 20];

/// Connections per thread of weir, whose descriptor table holds somewhat more. The kernel
/// distributes connections to the threads of `weir serve` at random, so unevenly.
pub(crate) const PER_THREAD: u32 = 19_500;
pub(crate) const PER_SERVER_THREAD: u32 = 15_625;

/// Longest time for a server to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// Name of h2o's log.
const LOG: &str = "access.log";

/// Counters of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerCounts {
    /// Connections accepted.
    pub(crate) accepted: u64,
    pub(crate) requests: u64,
}

/// Program of a server.
enum Kind {
    Nginx,
    Weir,
    /// h2o, whose log has the number of its connection for each request.
    H2o,
    /// A script that returns its counters at `/counts`, without that request itself.
    Script,
}

/// A server under load.
pub(crate) struct Server {
    #[expect(dead_code, reason = "ends the server when it is dropped")]
    guarded: Guarded,
    kind: Kind,
    pub(crate) name: &'static str,
    pub(crate) url: String,
    /// Address of its counters, which are served over plain HTTP/1.
    counts_at: SocketAddr,
    /// Process that does the work.
    pub(crate) worker: u32,
    /// Removed after the server has ended, as fields are dropped in order.
    directory: Option<Directory>,
}

impl Server {
    /// Starts an nginx with this number of workers, behind a protocol, that responds without
    /// reading a file.
    pub(crate) fn nginx(
        transport: Transport,
        program: &Path,
        cpu: Option<u32>,
        workers: u32,
    ) -> Result<Server> {
        let address = free_address()?;
        let status = free_address()?;
        let (name, scheme, protocol, tls) = match transport {
            Transport::Plain => ("nginx", "http", "", ""),
            Transport::Tls => {
                ("nginx over TLS 1.3", "https", " ssl", include_str!("servers/tls.conf"))
            }
            Transport::Http2 => ("nginx over HTTP/2", "http", " http2", ""),
        };
        let config = filled(
            include_str!("servers/nginx.conf"),
            &[
                // Otherwise root's worker runs as a user who may not read the build directory.
                ("user", &if is_root()? { "user root;\n" } else { "" }),
                ("workers", &workers),
                ("connections", &NGINX_CONNECTIONS),
                ("files", &(NGINX_CONNECTIONS + 100)),
                ("tls", &tls),
                ("address", &address),
                ("protocol", &protocol),
                ("status", &status),
            ],
        );
        let directory = Directory::new("nginx", address, &config)?;
        write_certificate(&directory.0)?;
        write_bodies(&directory.0).context("failed to write nginx's files")?;
        let mut words = pinned(cpu, program);
        words.extend(["-p".into(), directory.0.clone().into()]);
        words.extend(["-c", "config", "-e", "stderr"].map(OsString::from));
        let guarded = Guarded::start(&words)?;
        let url = format!("{scheme}://{address}/");
        let mut server = Server::of(Kind::Nginx, name, guarded, url, status, Some(directory));
        server.await_nginx(status, workers).context("failed to start nginx")?;
        Ok(server)
    }

    /// Starts a `weir serve` with these flags.
    pub(crate) fn weir(weir: &Path, cpu: Option<u32>, flags: &str) -> Result<Server> {
        let mut words = pinned(cpu, weir);
        let serve = format!("serve --listen 127.0.0.1:0 {flags}");
        words.extend(serve.split_whitespace().map(OsString::from));
        Server::listening(Kind::Weir, "weir serve", &words)
    }

    /// Starts an h2o with one thread that speaks HTTP/2 without TLS.
    pub(crate) fn h2o(program: &Path, cpu: Option<u32>) -> Result<Server> {
        let address = free_address()?;
        let config = filled(include_str!("servers/h2o.conf"), &[("port", &address.port())]);
        let directory = Directory::new("h2o", address, &config)?;
        fs::write(directory.0.join("index.html"), "Hello, World!\n")
            .context("failed to write h2o's file")?;
        // The paths of its configuration are relative.
        let mut words: Vec<OsString> = vec!["env".into(), "-C".into(), directory.0.clone().into()];
        words.extend(pinned(cpu, program));
        words.extend(["-c", "config"].map(OsString::from));
        let guarded = Guarded::start(&words)?;
        answers(address).context("failed to start h2o")?;
        let url = format!("http://{address}/");
        Ok(Server::of(Kind::H2o, "h2o over HTTP/2", guarded, url, address, Some(directory)))
    }

    /// Starts a server with this command line, which prints its address as `weir serve` does.
    pub(crate) fn script(name: &'static str, words: &[OsString]) -> Result<Server> {
        Server::listening(Kind::Script, name, words)
    }

    fn listening(kind: Kind, name: &'static str, words: &[OsString]) -> Result<Server> {
        let mut guarded = Guarded::start(words)?;
        let url = guarded.listening_url().with_context(|| format!("failed to start {name}"))?;
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let address = address.parse().with_context(|| format!("no address is in {url}"))?;
        Ok(Server::of(kind, name, guarded, url, address, None))
    }

    fn of(
        kind: Kind,
        name: &'static str,
        guarded: Guarded,
        url: String,
        counts_at: SocketAddr,
        directory: Option<Directory>,
    ) -> Server {
        Server { worker: guarded.pid, guarded, kind, name, url, counts_at, directory }
    }

    /// Returns the CPU seconds that the worker has used; the first worker if there are several.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let worker = Process::read(&Root::machine(), self.worker)
            .with_context(|| format!("failed to see {}: has it ended?", self.name))?;
        Ok(Duration::from_nanos(worker.ticks * TICK_NS).as_secs_f64())
    }

    /// Returns the URL whose responses have a body of this length; nginx has only some lengths, and
    /// else responds 404.
    pub(crate) fn url_of_body(&self, bytes: u32) -> String {
        match self.kind {
            Kind::Nginx => format!("{}body/{bytes}", self.url),
            Kind::Weir => format!("{}/?size={bytes}", self.url.trim_end_matches('/')),
            Kind::Script | Kind::H2o => self.url.clone(),
        }
    }

    /// Returns the counters, including this request if the server counts it.
    pub(crate) fn counts(&self) -> Result<ServerCounts> {
        let (path, read): (&str, fn(&str) -> Option<ServerCounts>) = match self.kind {
            Kind::Nginx => ("/status", nginx_counts),
            Kind::Weir => ("/weir/stats", json_counts),
            Kind::Script => ("/counts", json_counts),
            Kind::H2o => return self.logged_counts(),
        };
        let answer = request(&self.counts_at.to_string(), path)
            .with_context(|| format!("failed to ask {} for its counts", self.name))?;
        read(&answer).with_context(|| format!("failed to find {}'s counts in {answer}", self.name))
    }

    /// Returns one of the counters of `weir serve`.
    pub(crate) fn counter(&self, name: &str) -> Result<u64> {
        let answer = request(&self.counts_at.to_string(), "/weir/stats")?;
        let counts = json(&answer).with_context(|| format!("no counters in {answer}"))?;
        counts[name].as_u64().with_context(|| format!("no {name} in {answer}"))
    }

    /// Returns the counts in the log, which has a line for each request.
    fn logged_counts(&self) -> Result<ServerCounts> {
        let directory = self.directory.as_ref().context("failed to find the log: no directory")?;
        let log = fs::read_to_string(directory.0.join(LOG)).context("failed to read the log")?;
        let numbers = log.lines().map(str::parse::<u64>);
        let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().context("no number of a line")?;
        let accepted = numbers.iter().copied().max().unwrap_or(0);
        Ok(ServerCounts { accepted, requests: numbers.len() as u64 })
    }

    /// Returns the number of connections that nginx has open, with that of this request.
    pub(crate) fn open_connections(&self) -> Result<u32> {
        let answer =
            request(&self.counts_at.to_string(), "/status").context("failed to ask nginx")?;
        let number = answer.split_once("Active connections:").and_then(|(_, rest)| {
            rest.split_whitespace().next().and_then(|number| number.parse().ok())
        });
        number.with_context(|| format!("failed to find the open connections in {answer}"))
    }

    /// Returns the counts since `before`, without this request.
    pub(crate) fn counts_since(&self, before: ServerCounts) -> Result<ServerCounts> {
        let now = self.counts()?;
        let (accepted, requests) = match self.kind {
            Kind::Nginx => (1, 1),
            Kind::Weir | Kind::Script => (1, 0),
            Kind::H2o => (0, 0),
        };
        Ok(ServerCounts {
            accepted: now.accepted - before.accepted - accepted,
            requests: now.requests - before.requests - requests,
        })
    }

    /// Waits until nginx responds, and determines the worker's process.
    fn await_nginx(&mut self, address: SocketAddr, workers: u32) -> Result<()> {
        let since = Instant::now();
        while request(&address.to_string(), "/status").is_err() {
            let is_alive = Path::new(&format!("/proc/{}", self.worker)).exists();
            ensure!(is_alive, "it ended; its messages are above");
            ensure!(since.elapsed() < PATIENCE, "it does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
        match children(self.worker).as_slice() {
            all @ [worker, ..] if all.len() == workers as usize => self.worker = *worker,
            others => bail!("it should have {workers} workers, not {}", others.len()),
        }
        Ok(())
    }
}

/// Protocol in front of the private nginx.
pub(crate) enum Transport {
    /// HTTP/1.1 in the clear.
    Plain,
    /// HTTP/1.1 over TLS 1.3, without session cache and tickets: every handshake is a full one.
    Tls,
    /// HTTP/2 in the clear.
    Http2,
}

/// A directory that is removed when the value is dropped.
struct Directory(PathBuf);

impl Directory {
    /// Makes the directory of a server at this address, with its file `config`.
    fn new(name: &str, address: SocketAddr, config: &str) -> Result<Directory> {
        let directory = target_dir()?.join("bench").join(format!("{name}-{}", address.port()));
        let directory = Directory(directory);
        fs::create_dir_all(&directory.0)
            .and_then(|()| fs::write(directory.0.join("config"), config))
            .with_context(|| format!("failed to make a directory for {name}"))?;
        Ok(directory)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Leftovers are harmless in the build directory.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Returns the words that start `program`, on one CPU if one is given.
pub(crate) fn pinned(cpu: Option<u32>, program: &Path) -> Vec<OsString> {
    let mut words = Vec::new();
    if let Some(cpu) = cpu {
        words.extend(["taskset".into(), "-c".into(), cpu.to_string().into()]);
    }
    words.push(program.into());
    words
}

/// Starts a script for Python, which is named by its path in this crate's sources.
pub(crate) fn python(cpu: Option<u32>, script: &str, arguments: &[&str]) -> Result<Guarded> {
    let mut words = pinned(cpu, &need_program("python3", "accuracy")?);
    words.push(root()?.join("lab/src").join(script).into());
    words.extend(arguments.iter().map(OsString::from));
    Guarded::start(&words)
}

/// Waits until a server accepts connections.
pub(crate) fn answers(address: SocketAddr) -> Result<()> {
    let since = Instant::now();
    while TcpStream::connect(address).is_err() {
        ensure!(since.elapsed() < PATIENCE, "it does not accept connections");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Returns a free port of 127.0.0.1.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("failed to find a free port")?;
    listener.local_addr().context("failed to find a free port")
}

/// Writes a certificate for 127.0.0.1 and its key.
pub(crate) fn write_certificate(directory: &Path) -> Result<()> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).context("failed to make a certificate")?;
    fs::write(directory.join("cert.pem"), made.cert.pem())
        .and_then(|()| fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()))
        .context("failed to write nginx's certificate")
}

/// Returns a text with these values in the place of their names in braces.
pub(crate) fn filled(text: &str, values: &[(&str, &dyn Display)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    })
}

/// Writes the files that nginx sends, each named by its length.
fn write_bodies(directory: &Path) -> io::Result<()> {
    let directory = directory.join("body");
    fs::create_dir_all(&directory)?;
    let write =
        |bytes: u32| fs::write(directory.join(bytes.to_string()), vec![b'x'; bytes as usize]);
    NGINX_BODIES.into_iter().try_for_each(write)?;
    fs::write(directory.with_file_name("page"), page())
}

/// Returns a text of 64 KiB that compresses about as well as a page does.
fn page() -> String {
    let words = ["flow", "weir", "river", "gauge", "level", "<p>", "</p>\n", "of", "the", "stream"];
    let mut random = 1_u64;
    let mut page = String::new();
    while page.len() < 64 << 10 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        page.push_str(words[(random >> 33) as usize % words.len()]);
        page.push(' ');
    }
    page.truncate(64 << 10);
    page
}

/// Requests a path and returns the response with its head.
pub(crate) fn request(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Returns the first and third numbers after `server accepts handled requests`.
fn nginx_counts(answer: &str) -> Option<ServerCounts> {
    let (_, after) = answer.split_once("handled requests")?;
    let numbers = after.split_whitespace().map_while(|word| word.parse().ok());
    let [accepted, _, requests] = numbers.take(3).collect::<Vec<u64>>()[..] else { return None };
    Some(ServerCounts { accepted, requests })
}

/// Returns the JSON in an answer of `/weir/stats` or `/counts`.
fn json(answer: &str) -> Option<Value> {
    let (_, json) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(json).ok()
}

/// Reads the counts in such an answer.
fn json_counts(answer: &str) -> Option<ServerCounts> {
    let value = json(answer)?;
    Some(ServerCounts {
        accepted: value["accepted"].as_u64()?,
        requests: value["requests"].as_u64()?,
    })
}

/// Returns the child processes of `parent`.
fn children(parent: u32) -> Vec<u32> {
    let root = Root::machine();
    let is_child =
        |id: &u32| Process::read(&root, *id).is_some_and(|process| process.parent == parent);
    processes(&root).filter(is_child).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_servers_are_read() {
        let answer = "Active connections: 1 \nserver accepts handled requests\n 4 3 17 \nReading";
        assert_eq!(nginx_counts(answer), Some(ServerCounts { accepted: 4, requests: 17 }));
        assert_eq!(nginx_counts("404"), None);
        let answer = "HTTP/1.1 200 OK\r\n\r\n{\"accepted\":2,\"requests\":9}";
        assert_eq!(json_counts(answer), Some(ServerCounts { accepted: 2, requests: 9 }));
        assert_eq!(json_counts("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
