//! `weir serve`: the reference server, with its behaviour as flags (args/serve.rs).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weir_io::Endpoint;
use weir_machine::sys::{self, Signals};
use weir_runner::NoThread;
use weir_serve::{Behaviour, Framing, Handle, Http2Options, ServeOptions, Stats, WebSocketOptions};
use weir_text::printable;

use crate::args::serve::ServeArgs;
use crate::args::target::check_unix;
use crate::args::values::listen_address;
use crate::errors::NotWritten;
use crate::terminal::{self, shown};

mod authority_file;
mod routes;
mod tls;

/// Serves until a signal comes or the time is up, then prints the counters.
///
/// # Errors
/// When the flags do not fit together or an address cannot be listened on.
pub(crate) fn serve(args: &ServeArgs) -> Result<ExitCode> {
    let mut options = options(args)?;
    // Created now, so that a file that cannot be written is reported before the load and not after
    // it.
    let log = args.log.log.as_deref().map(create).transpose()?;
    let (tls, authority) = args.tls.config(&options.listen)?;
    options.tls = tls;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let _as_it_was = sys::raise_descriptor_limit();
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
    await_end(args.server.duration, signals, &handle)?;
    drop(authority);
    let failed = handle.has_failed();
    if let Some(path) = &args.server.unix {
        // A leftover socket would keep the next server from listening.
        let _gone = std::fs::remove_file(path);
    }
    let stats = handle.stop()?;
    if let Some(log) = log {
        write_log(log, &stats).map_err(|error| NotWritten { place: "--log", error })?;
    }
    // The reader of the pipe may have closed it by now.
    let _gone = terminal::print(|out| {
        if let Some(shop) = &stats.shop {
            writeln!(out, "{}", shop.broken_line())?;
        }
        writeln!(out, "{}", stats.to_json())
    });
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
    let listen = match &args.server.unix {
        Some(path) => {
            check_unix(path).map_err(anyhow::Error::msg)?;
            vec![Endpoint::Unix(path.clone())]
        }
        None => {
            let address = |text: &String| listen_address(text).map(Endpoint::Tcp);
            args.server.listen.iter().map(address).collect::<Result<_>>()?
        }
    };
    let chunk_bytes = args.response.chunked.map(u32::try_from).transpose();
    let chunk_bytes = chunk_bytes.ok().context("--chunked is too large: at most 1Mi")?;
    let framing = match chunk_bytes {
        Some(chunk_bytes) => Framing::Chunked { chunk_bytes },
        None if args.response.until_close => Framing::UntilClose,
        None => Framing::Length,
    };
    let window_bytes = args.closing.h2_window.map(u32::try_from).transpose();
    let window_bytes = window_bytes.ok().context("--h2-window is too large: at most 2Gi-1")?;
    let routes = args.response.routes.as_deref().map(routes::read).transpose()?;
    let routes = routes.unwrap_or_default();
    let log_max = usize::try_from(args.log.log_max).unwrap_or(usize::MAX);
    let options = ServeOptions {
        listen,
        threads: args.server.threads,
        connections: args.server.connections,
        engine: args.server.io,
        pin: args.server.pin,
        spin: args.server.spin,
        tls: None,
        behaviour: Behaviour {
            http: args.server.http,
            http2: Http2Options {
                streams: args.closing.h2_streams,
                window_bytes: window_bytes.unwrap_or(Http2Options::default().window_bytes),
                settings_delay: args.closing.h2_settings_delay,
            },
            websocket: WebSocketOptions {
                ping: args.closing.ws_ping,
                is_unordered: args.closing.ws_unordered,
                deflates: args.closing.ws_deflate,
            },
            status: args.response.status,
            body_bytes: args.response.size.unwrap_or(Behaviour::default().body_bytes),
            message_bytes: args.response.size,
            grpc_faults: args.faults.grpc_status.clone(),
            framing,
            drip: args.response.drip,
            events: args.events.stream(),
            headers: args.response.headers.clone(),
            routes,
            shop: args.shop.options(),
            close: args.closing.close,
            http10: args.response.http10,
            requests_per_connection: args.closing.requests_per_connection,
            idle_timeout: args.closing.idle_timeout,
            delay: args.faults.delay,
            mode: args.faults.mode,
            seed: args.faults.seed,
            stalls: args.faults.stall.clone(),
            faults: args.faults.fault.clone(),
            stamps: args.response.stamps,
            // The threads share the capacity of the log.
            arrivals_max: args.log.log.as_ref().map_or(0, |_| log_max / args.server.threads.max(1)),
        },
    };
    options.check()?;
    Ok(options)
}
