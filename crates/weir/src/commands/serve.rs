//! `weir serve`: the reference server, with its behaviour as flags.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{ArgAction, Args};
use weir_io::Endpoint;
use weir_runner::NoThread;
use weir_serve::{
    Behaviour, Delay, Drip, ExtraHeader, Fault, Framing, Handle, Http2Options, HttpVersion,
    IoEngine, Mode, ServeOptions, Stall, Stats,
};
use weir_sys::Signals;
use weir_text::printable;
use weir_text::units::{parse_bytes, parse_count, parse_duration_ns};

use crate::args::target::check_unix;
use crate::args::values::listen_address;
use crate::errors::NotWritten;
use crate::terminal::{self, shown};
use tls::TlsArgs;

mod authority_file;
mod tls;

/// `weir serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Delays: 5ms, uniform:1ms..5ms, exp:2ms (mean), lognormal:2ms,0.5 (median, sigma),
  bimodal:1ms,100ms,0.01 (share of slow responses), pareto:1ms,1.5 (scale, alpha).
Faults: reset, close, blackhole, partial, garbage, and in HTTP/2 reset-stream, refuse-stream;
  each with a probability (reset:0.01) or every k-th request (reset:1/100).
Per request: /?delay=5ms&size=10k&status=503&fault=reset, or headers x-delay, x-size,
  x-status, x-fault. /weir/stats returns the counters and is not counted.
Examples:
  weir serve
  weir serve --listen 127.0.0.1:8080 --delay exp:1ms --mode fifo
  weir serve --size 10k --stall 5s+1.4s --fault reset:1/1000
  weir serve --tls    # and then: weir --cacert weir-serve-ca.pem https://localhost:8080/
  weir serve --http 2 --h2-streams 10 --requests-per-connection 1000")]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one; repeatable
    #[arg(
        short,
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        help_heading = "Server"
    )]
    listen: Vec<String>,
    /// Unix socket to listen on instead
    #[arg(long, value_name = "PATH", conflicts_with = "listen", help_heading = "Server")]
    unix: Option<PathBuf>,
    /// Threads, each with its own listening socket
    #[arg(short, long, value_name = "N", default_value_t = 1, help_heading = "Server")]
    threads: usize,
    /// Connections that each thread accepts; others wait in the backlog
    #[arg(short, long, value_name = "N", default_value_t = 16_384, help_heading = "Server")]
    connections: usize,
    /// I/O engine; auto: io_uring where it works, else epoll
    #[arg(long, value_name = "auto|uring|epoll", default_value = "auto", help_heading = "Server")]
    io: IoEngine,
    /// Pin each thread to a CPU
    #[arg(long, help_heading = "Server")]
    pin: bool,
    /// Never sleep: faster and steadier responses, one whole core per thread
    #[arg(long, help_heading = "Server")]
    spin: bool,
    /// Protocol; auto: HTTP/2 if the client begins with its preface, over TLS by ALPN
    #[arg(long, value_name = "1.1|2|auto", default_value = "auto", help_heading = "Server")]
    http: HttpVersion,
    /// Exit after this time
    #[arg(short, long, value_name = "T", value_parser = span, help_heading = "Server")]
    duration: Option<Duration>,

    /// Status code
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Response")]
    status: u16,
    /// Body size in bytes
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "14",
          help_heading = "Response")]
    size: u64,
    /// Chunked transfer coding, with chunks of this size [default size: 16Ki]
    #[arg(long, value_name = "BYTES", value_parser = bytes, num_args = 0..=1,
          default_missing_value = "16Ki", conflicts_with = "until_close",
          help_heading = "Response")]
    chunked: Option<u64>,
    /// Delimit the body by closing the connection
    #[arg(long, help_heading = "Response")]
    until_close: bool,
    /// Send the body in K pieces, SPACING apart: 8@10ms
    #[arg(long, value_name = "K@SPACING", help_heading = "Response")]
    drip: Option<Drip>,
    /// Add a header, "Name: value"; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Response")]
    headers: Vec<ExtraHeader>,
    /// Respond as an HTTP/1.0 server
    #[arg(long, help_heading = "Response")]
    http10: bool,
    /// Add x-srv-recv-ns and x-srv-send-ns (CLOCK_MONOTONIC), and repeat x-slot
    #[arg(long, help_heading = "Response")]
    stamps: bool,

    #[command(flatten)]
    tls: TlsArgs,

    /// Close the connection after every response
    #[arg(long, help_heading = "Connections")]
    close: bool,
    /// Close a connection after this many responses; in HTTP/2, GOAWAY after this many requests
    #[arg(long, value_name = "N", help_heading = "Connections")]
    requests_per_connection: Option<u64>,
    /// Close connections that have been idle for this long
    #[arg(long, value_name = "T", value_parser = span, help_heading = "Connections")]
    idle_timeout: Option<Duration>,

    /// Maximum of open streams on an HTTP/2 connection
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Connections")]
    h2_streams: u32,
    /// Flow-control window of each HTTP/2 stream for request bodies [default: 1Gi-1]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Connections")]
    h2_window: Option<u64>,
    /// Delay of the SETTINGS of HTTP/2, and of all later frames
    #[arg(long, value_name = "T", value_parser = span, default_value = "0ms",
          help_heading = "Connections")]
    h2_settings_delay: Duration,

    /// Delay of responses: 5ms, exp:2ms, … (see below)
    #[arg(long, value_name = "DELAY", default_value = "0ms", help_heading = "Delays and faults")]
    delay: Delay,
    /// concurrent: delays overlap; fifo: one request is served after the other
    #[arg(
        long,
        value_name = "concurrent|fifo",
        default_value = "concurrent",
        help_heading = "Delays and faults"
    )]
    mode: Mode,
    /// Stall: 3s+1.4s is 3 s after the first request, for 1.4 s; repeatable
    #[arg(long, value_name = "AT+LENGTH", help_heading = "Delays and faults")]
    stall: Vec<Stall>,
    /// Inject faults: reset:0.01, blackhole:1/1000, … (see below); repeatable
    #[arg(long, value_name = "FAULT", help_heading = "Delays and faults")]
    fault: Vec<Fault>,
    /// Seed of random delays and faults
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Delays and faults")]
    seed: u64,

    /// Write arrival and response times of every request to this file at exit, as CSV
    #[arg(long, value_name = "FILE", help_heading = "Log")]
    log: Option<PathBuf>,
    /// Requests to keep for --log; later ones are only counted
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "4M",
          requires = "log", help_heading = "Log")]
    log_max: u64,

    /// Print this help
    #[arg(short, long, action = ArgAction::HelpShort, help_heading = "Other")]
    help: Option<bool>,
}

/// Serves until a signal comes or the time is up, then prints the counters.
///
/// # Errors
/// When the flags do not fit together or an address cannot be listened on.
pub(crate) fn serve(args: &ServeArgs) -> Result<ExitCode> {
    let mut options = options(args)?;
    // Created now, so that a file that cannot be written is reported before the load and not after
    // it.
    let log = args.log.as_deref().map(create).transpose()?;
    let (tls, authority) = args.tls.config(&options.listen)?;
    options.tls = tls;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let _as_it_was = weir_sys::raise_descriptor_limit();
    let signals = Signals::block().context("signals cannot be waited for")?;
    let handle = weir_serve::spawn(options)?;
    terminal::print(|out| {
        handle.endpoints().iter().try_for_each(|endpoint| match endpoint {
            Endpoint::Tcp(address) => writeln!(out, "listening on {scheme}://{address}"),
            Endpoint::Unix(_) => writeln!(out, "listening on {}", printable(&endpoint.to_string())),
        })?;
        authority
            .as_ref()
            .map_or(Ok(()), |authority| writeln!(out, "{}", authority.advice(handle.endpoint())))
    })?;
    await_end(args.duration, signals, &handle)?;
    drop(authority);
    let failed = handle.has_failed();
    if let Some(path) = &args.unix {
        // A leftover socket would keep the next server from listening.
        let _gone = std::fs::remove_file(path);
    }
    let stats = handle.stop()?;
    if let Some(log) = log {
        write_log(log, &stats).map_err(|error| NotWritten { place: "--log", error })?;
    }
    // The reader of the pipe may have closed it by now.
    let _gone = terminal::print(|out| writeln!(out, "{}", stats.to_json()));
    if failed {
        bail!("a worker of the server failed");
    }
    Ok(ExitCode::SUCCESS)
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("failed to create --log {}", shown(path)))
}

fn write_log(log: File, stats: &Stats) -> io::Result<()> {
    let mut log = BufWriter::new(log);
    weir_serve::write_arrivals(&stats.arrivals, &mut log)?;
    log.flush()?;
    if stats.arrivals_lost > 0 {
        let lost = stats.arrivals_lost;
        terminal::eprint_line(format_args!("weir serve: --log-max left out {lost} requests"));
    }
    Ok(())
}

/// Waits for a signal or for the end of `duration`. Meanwhile it writes each reason of TLS failures
/// once to standard error.
fn await_end(duration: Option<Duration>, signals: Signals, handle: &Handle) -> Result<()> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let builder = std::thread::Builder::new().name("weir-signals".to_owned());
    builder.spawn(move || sender.send(signals.wait().is_ok())).map_err(NoThread)?;
    let begun = Instant::now();
    let mut known = 0;
    loop {
        let left = duration.map(|duration| duration.saturating_sub(begun.elapsed()));
        let ended = receiver.recv_timeout(left.map_or(ERRORS_EVERY, |left| left.min(ERRORS_EVERY)));
        let errors = handle.tls_errors(known);
        known += errors.len();
        for error in errors {
            terminal::eprint_line(format_args!("weir serve: TLS: {error}"));
        }
        if ended != Err(RecvTimeoutError::Timeout) || left.is_some_and(|left| left.is_zero()) {
            return Ok(());
        }
    }
}

/// Interval at which new reasons of TLS failures are written.
const ERRORS_EVERY: Duration = Duration::from_millis(500);

fn options(args: &ServeArgs) -> Result<ServeOptions> {
    let listen = match &args.unix {
        Some(path) => {
            check_unix(path).map_err(anyhow::Error::msg)?;
            vec![Endpoint::Unix(path.clone())]
        }
        None => {
            let address = |text: &String| listen_address(text).map(Endpoint::Tcp);
            args.listen.iter().map(address).collect::<Result<_>>()?
        }
    };
    let framing = match args.chunked {
        Some(chunk) => Framing::Chunked {
            chunk_bytes: u32::try_from(chunk).context("--chunked is too large: at most 1Mi")?,
        },
        None if args.until_close => Framing::UntilClose,
        None => Framing::Length,
    };
    let options = ServeOptions {
        listen,
        threads: args.threads,
        connections: args.connections,
        engine: args.io,
        pin: args.pin,
        spin: args.spin,
        tls: None,
        behaviour: Behaviour {
            http: args.http,
            http2: http2(args)?,
            status: args.status,
            body_bytes: args.size,
            framing,
            drip: args.drip,
            headers: args.headers.clone(),
            close: args.close,
            http10: args.http10,
            requests_per_connection: args.requests_per_connection,
            idle_timeout: args.idle_timeout,
            delay: args.delay,
            mode: args.mode,
            seed: args.seed,
            stalls: args.stall.clone(),
            faults: args.fault.clone(),
            stamps: args.stamps,
            arrivals_max: match args.log {
                // The threads share the capacity of the log.
                Some(_) => {
                    usize::try_from(args.log_max).unwrap_or(usize::MAX) / args.threads.max(1)
                }
                None => 0,
            },
        },
    };
    options.check()?;
    Ok(options)
}

fn http2(args: &ServeArgs) -> Result<Http2Options> {
    let default = Http2Options::default();
    let window_bytes = match args.h2_window {
        Some(bytes) => u32::try_from(bytes).context("--h2-window is too large: at most 2Gi-1")?,
        None => default.window_bytes,
    };
    let settings_delay = args.h2_settings_delay;
    Ok(Http2Options { streams: args.h2_streams, window_bytes, settings_delay })
}

fn span(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos).map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|error| error.to_string())
}
