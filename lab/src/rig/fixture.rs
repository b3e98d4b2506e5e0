//! Environment of the cases: a fresh weir, servers with known behaviour, and clients that end with
//! the case in any event.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Root, SchedStat};
use weir_result::Document;
use xtask::guard::Guarded;
use xtask::measured::Page;
use xtask::shell::{build_weir, need_program, target_dir};

use super::clients::{self, ClientRun, show};
use super::log::{self, Record};
use super::machine::Placement;
use super::servers::{Server, Transport, pinned, python};

/// Protocol between weir and `weir serve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseTransport {
    /// HTTP/1.1 in the clear.
    Http1,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 in the clear.
    Http2 {
        /// Requests in flight on each connection.
        streams: u32,
    },
}

impl CaseTransport {
    /// Returns the flags of weir.
    fn client_flags(self) -> String {
        match self {
            CaseTransport::Http1 => String::new(),
            CaseTransport::Tls => "--http 1.1 --insecure".to_owned(),
            CaseTransport::Http2 { streams } => format!("--http 2 --streams {streams}"),
        }
    }
}

/// The end of a case's title.
impl fmt::Display for CaseTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaseTransport::Http1 => Ok(()),
            CaseTransport::Tls => f.write_str(", over TLS"),
            CaseTransport::Http2 { streams: 1 } => f.write_str(", over HTTP/2"),
            CaseTransport::Http2 { streams } => write!(f, ", over HTTP/2 with {streams} streams"),
        }
    }
}

/// Environment of the cases.
pub(crate) struct Fixture {
    pub(crate) options: Options,
    /// Protocol of the case.
    pub(crate) over: CaseTransport,
    pub(crate) weir: PathBuf,
    pub(crate) nginx: PathBuf,
    pub(crate) placement: Placement,
    /// Directory for files of servers and clients, in the build directory.
    pub(crate) directory: PathBuf,
    waited: Waited,
}

/// Largest share of its time in which a thread of a server or client of the case was runnable but
/// not running (`cpu-contention`, METHOD 1.9).
type Waited = Rc<Cell<f64>>;

impl Fixture {
    /// Builds weir. `task` names the directory for files.
    pub(crate) fn new(task: &str, options: Options) -> Result<Fixture> {
        let nginx = need_program("nginx", task)?;
        let directory = target_dir()?.join(task);
        fs::create_dir_all(&directory).context("failed to make a directory for files")?;
        let over = CaseTransport::Http1;
        let placement = Placement::of_this_machine();
        let weir = build_weir()?;
        let waited = Waited::default();
        Ok(Fixture { options, over, weir, nginx, placement, directory, waited })
    }

    /// Returns a length of time in seconds, or a number of runs; `quick` in a quick run.
    pub(crate) fn span<T>(&self, full: T, quick: T) -> T {
        if self.options.is_quick { quick } else { full }
    }

    /// Returns the number of runs of each kind; `quick` in a quick run.
    pub(crate) fn runs(&self, full: usize, quick: usize) -> usize {
        self.options.runs.map_or_else(|| self.span(full, quick), |runs| runs as usize)
    }

    /// Returns the I/O engines available here, each as the flags that select it.
    pub(crate) fn engines(&self) -> Result<Vec<&'static [&'static str]>> {
        let server = self.weir_serve()?;
        let engines: [&[&str]; 2] = [&["--io", "uring"], &["--io", "epoll"]];
        let works = |flags: &&'static [&'static str]| {
            let flags = format!("-t1 -c1 -d 50ms --warmup 0 {}", flags.join(" "));
            let tried = self.timed_weir(&flags, &server.url);
            tried.inspect_err(|error| eprintln!("bench: without {flags}: {error:#}")).is_ok()
        };
        let engines: Vec<_> = engines.into_iter().filter(works).collect();
        ensure!(!engines.is_empty(), "weir answers with no I/O engine");
        Ok(engines)
    }

    /// Starts a spinner that uses this share of the client's CPU, or of any CPU if client and
    /// server are not pinned.
    pub(crate) fn spin(&self, share: f64) -> Result<Guarded> {
        let share = share.to_string();
        let mut spinner = python(self.placement.client, "rig/fixture/spinner.py", &[&share])?;
        spinner.await_line("ready")?;
        Ok(spinner)
    }

    /// Starts a `weir serve` of one thread with these flags, with a log.
    pub(crate) fn serve(&self, flags: &str) -> Result<Serving> {
        eprintln!("accuracy: weir serve {flags}");
        // The last server's log is no longer needed.
        let log = self.directory.join("serve.csv");
        let mut words = pinned(self.placement.server, &self.weir);
        words.extend(["serve", "--threads", "1", "--listen", "127.0.0.1:0"].map(OsString::from));
        words.extend(["--log".into(), log.clone().into()]);
        if self.over == CaseTransport::Tls {
            let authority = self.directory.join("authority.pem");
            // It is left over if the last server was killed; weir serve overwrites no file.
            fs::remove_file(&authority).ok();
            words.extend(["--tls".into(), "--tls-ca".into(), authority.into()]);
        }
        words.extend(flags.split_whitespace().map(OsString::from));
        let mut guarded = Guarded::start(&words)?;
        let url = guarded.listening_url()?;
        let waited = self.waited.clone();
        Ok(Serving { guarded, url, log, since: Instant::now(), waited })
    }

    /// Starts an nginx with one worker.
    pub(crate) fn nginx(&self) -> Result<Server> {
        self.nginx_over(Transport::Plain)
    }

    /// Does the same behind another protocol.
    pub(crate) fn nginx_over(&self, transport: Transport) -> Result<Server> {
        Server::nginx(transport, &self.nginx, self.placement.server, 1)
    }

    /// Starts a `weir serve` of one thread, without a log.
    pub(crate) fn weir_serve(&self) -> Result<Server> {
        Server::weir(&self.weir, self.placement.server, "--threads 1")
    }

    /// Runs weir with these flags against a fresh server with those, and returns its document and
    /// the server's log.
    pub(crate) fn run(&self, server: &str, flags: &str) -> Result<(Document, Vec<Record>)> {
        let server = self.serve(server)?;
        let document = self.weir(flags, &server.url)?;
        Ok((document, server.finish()?))
    }

    /// Runs weir with these flags as users do, and measures its cost.
    pub(crate) fn timed_weir(&self, flags: &str, url: &str) -> Result<(ClientRun, Document)> {
        eprintln!("bench: weir {flags} {url}");
        let flags: Vec<&str> = flags.split_whitespace().collect();
        clients::weir(&self.weir, self.placement.client, &flags, url)
    }

    /// Runs weir with these flags against `url` and reads its document.
    pub(crate) fn weir(&self, flags: &str, url: &str) -> Result<Document> {
        self.start_weir(flags, url)?.finish()
    }

    /// Does the same beside a spinner. The client's wait for its CPU is then intended and not
    /// recorded.
    pub(crate) fn weir_beside_spinner(&self, flags: &str, url: &str) -> Result<Document> {
        let waited = self.waited.get();
        let document = self.weir(flags, url);
        self.waited.set(waited);
        document
    }

    /// Starts weir with these flags, without a preflight request, so that the server's first
    /// request is the plan's first.
    pub(crate) fn start_weir(&self, flags: &str, url: &str) -> Result<RunningWeir> {
        self.start_weir_by(Vec::new(), flags, url)
    }

    /// Does the same by a command that execs the program appended to `words`.
    pub(crate) fn start_weir_by(
        &self,
        mut words: Vec<OsString>,
        flags: &str,
        url: &str,
    ) -> Result<RunningWeir> {
        eprintln!("accuracy: weir {flags}");
        words.extend(pinned(self.placement.client, &self.weir));
        words.extend(self.over.client_flags().split_whitespace().map(OsString::from));
        words.extend(flags.split_whitespace().map(OsString::from));
        words.extend(["--no-preflight", "--format", "json", url].map(OsString::from));
        let child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {}", show(&words)))?;
        Ok(RunningWeir { child, waited: self.waited.clone() })
    }

    /// Returns the longest wait for a CPU since the last call, as a share of the time, and resets
    /// it.
    pub(crate) fn take_waited(&self) -> f64 {
        self.waited.take()
    }
}

/// A running `weir serve`.
pub(crate) struct Serving {
    guarded: Guarded,
    /// URL without a path.
    pub(crate) url: String,
    log: PathBuf,
    since: Instant,
    waited: Waited,
}

impl Serving {
    pub(crate) fn pid(&self) -> u32 {
        self.guarded.pid
    }

    /// Ends the server and reads its log, in order of arrival.
    pub(crate) fn finish(self) -> Result<Vec<Record>> {
        let Serving { guarded, log, since, waited, .. } = self;
        let share = run_delay_s(guarded.pid) / since.elapsed().as_secs_f64();
        waited.set(waited.get().max(share));
        drop(guarded);
        let text = fs::read_to_string(&log).context("the server wrote no log")?;
        log::read(&text).context("failed to read the server's log")
    }
}

/// A running client, killed when the value is dropped.
pub(crate) struct RunningWeir {
    child: Child,
    waited: Waited,
}

impl RunningWeir {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the client's end and reads its document. Exit code 1, no response at all, is a
    /// result.
    pub(crate) fn finish(mut self) -> Result<Document> {
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().context("weir's output was taken")?;
        std::io::Read::read_to_string(&mut stdout, &mut text).context("failed to read weir")?;
        let status = self.child.wait().context("failed to wait for weir")?;
        match status.code() {
            Some(0 | 1 | 3) => {}
            _ => bail!("weir ended with {status}"),
        }
        let document = clients::document(&text)?;
        self.waited.set(self.waited.get().max(run_delay(&document)));
        Ok(document)
    }
}

impl Drop for RunningWeir {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the largest share of the window in which a worker of the run was runnable but not
/// running.
pub(crate) fn run_delay(document: &Document) -> f64 {
    let usages = document.phases.iter().map(|worker| worker.usage);
    let shares = usages.filter_map(|usage| Some(usage.run_delay_ns? as f64 / usage.wall_ns as f64));
    shares.fold(0.0, f64::max)
}

/// Returns the time in which the threads of a process were runnable but not running, in seconds; 0
/// if the kernel does not report it.
fn run_delay_s(pid: u32) -> f64 {
    let root = Root::machine();
    let threads = format!("proc/{pid}/task");
    let waited_ns = root.entries(&threads).filter_map(|thread| {
        let schedstat = root.text(&format!("{threads}/{thread}/schedstat")).ok()?;
        Some(SchedStat::parse(&schedstat)?.waited_ns)
    });
    waited_ns.sum::<u64>() as f64 / 1e9
}

/// Stops a process by SIGSTOP and SIGCONT for `length`. Returns the shortest and the longest
/// possible stop: the time between the calls, and that including them.
pub(crate) fn freeze(pid: u32, length: Duration) -> Result<(f64, f64)> {
    let before = Instant::now();
    signal("STOP", pid)?;
    let stopped = Instant::now();
    std::thread::sleep(length);
    let continued = Instant::now();
    signal("CONT", pid)?;
    let after = Instant::now();
    Ok(((continued - stopped).as_secs_f64(), (after - before).as_secs_f64()))
}

/// Sends a signal, named without `SIG`, to a process.
pub(crate) fn signal(name: &str, pid: u32) -> Result<()> {
    let mut kill = Command::new("kill");
    let status = kill.arg(format!("-{name}")).arg(pid.to_string()).status();
    let status = status.context("failed to start kill")?;
    ensure!(status.success(), "failed to send SIG{name} to {pid}");
    Ok(())
}

/// Selection of cases, and their length.
pub(crate) struct Options {
    /// True for short runs: a smoke test or a first estimate.
    pub(crate) is_quick: bool,
    /// True if the page is updated with the measured sections.
    pub(crate) writes_page: bool,
    /// Runs of each kind in `accuracy`, for cases with several.
    pub(crate) runs: Option<u32>,
    /// Paired rounds of each comparison in `bench`.
    pub(crate) rounds: u32,
    /// Length of one side of a round in `bench`, in seconds.
    pub(crate) seconds: u32,
    /// Selected cases by name; empty for all.
    only: Vec<String>,
}

impl Options {
    /// Parses the words after the name of the task that measures this page.
    pub(crate) fn parse(page: &Page, words: &[&str]) -> Result<Options> {
        let is_quick = words.contains(&"--quick");
        let (rounds, seconds) = if is_quick { (2, 1) } else { (6, 2) };
        let writes_page = true;
        let only = Vec::new();
        let mut options = Options { is_quick, writes_page, runs: None, rounds, seconds, only };
        let numbers =
            if page.task == "bench" { "[--rounds N] [--seconds S]" } else { "[--runs N]" };
        let usage = format!("use [--quick] [--print] {numbers} [--only NAME,NAME]");
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|word| word.parse().ok());
                let number = number.filter(|number| *number > 0);
                number.with_context(|| format!("{word} takes a number above 0; {usage}"))
            };
            match (page.task, *word) {
                (_, "--quick") => {}
                (_, "--print") => options.writes_page = false,
                ("accuracy", "--runs") => options.runs = Some(number()?),
                ("bench", "--rounds") => options.rounds = number()?,
                ("bench", "--seconds") => options.seconds = number()?,
                (_, "--only") => {
                    let list = words.next().with_context(|| format!("no cases named; {usage}"))?;
                    options.only.extend(list.split(',').map(str::to_owned));
                }
                (_, other) => bail!("failed to read `{other}`; {usage}"),
            }
        }
        for id in &options.only {
            let known: Vec<&str> = page.entries().collect();
            ensure!(known.contains(&id.as_str()), "no case {id}; there are {}", known.join(", "));
        }
        Ok(options)
    }

    pub(crate) fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == id)
    }
}

#[cfg(test)]
mod tests {
    use xtask::measured::{ACCURACY, PERFORMANCE};

    use super::*;

    #[test]
    fn options_of_accuracy_are_read() {
        let all = Options::parse(&ACCURACY, &[]).expect("none are needed");
        assert!(all.writes_page && all.wants("V5"));
        let some = Options::parse(&ACCURACY, &["--quick", "--print", "--only", "V5,V6"])
            .expect("these are right");
        assert!(!some.writes_page && some.wants("V6") && !some.wants("V8"));
        assert_eq!(Options::parse(&ACCURACY, &["--runs", "5"]).expect("a number").runs, Some(5));
        let wrong: [&[&str]; 6] = [
            &["--only"],
            &["V5"],
            &["--only", "V99"],
            &["--runs"],
            &["--runs", "0"],
            &["--rounds", "5"],
        ];
        for wrong in wrong {
            assert!(Options::parse(&ACCURACY, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn options_of_the_bench_are_read() {
        let check = |words: &[&str], rounds, seconds, writes_page| {
            let options = Options::parse(&PERFORMANCE, words).expect("these are right");
            assert_eq!((options.rounds, options.seconds), (rounds, seconds), "{words:?}");
            assert_eq!(options.writes_page, writes_page, "{words:?}");
            options
        };
        assert!(check(&[], 6, 2, true).wants("depth"));
        assert!(!check(&["--quick", "--only", "serve"], 2, 1, true).wants("depth"));
        let some = ["--rounds", "20", "--print", "--only", "serve,tls", "--seconds", "3"];
        assert!(check(&some, 20, 3, false).wants("tls"));
        for wrong in [&["--rounds"] as &[&str], &["--seconds", "0"], &["serve"], &["--only"]] {
            assert!(Options::parse(&PERFORMANCE, wrong).is_err(), "{wrong:?}");
        }
        assert!(Options::parse(&PERFORMANCE, &["--only", "depths"]).is_err());
    }
}
