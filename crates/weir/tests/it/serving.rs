//! `weir serve` as a process: its flags of TLS and HTTP/2, the files that it writes and the
//! counters that it prints.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::wait;
use crate::support::weir::{self, WEIR, weir};

/// Starts `weir serve` in a directory on a free port. Returns it with its port.
fn serve(directory: &Directory, flags: &str) -> (Process, u16) {
    let mut command = Command::new(WEIR);
    command.current_dir(directory.path()).args(["serve", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start(command.args(flags.split_whitespace()));
    let line = process.next_line();
    let port = line.rsplit(':').next().and_then(|port| port.parse().ok());
    assert!(line.starts_with("listening on https://127.0.0.1:"), "{line}");
    (process, port.unwrap_or_else(|| panic!("{line}")))
}

/// Ends a server, and returns its output and its counters.
fn stop(process: Process) -> (Output, serde_json::Value) {
    process.signal(&["TERM"]);
    let output = process.wait();
    assert_eq!(output.code(), 0, "{output:?}");
    let last = output.stdout.lines().last().unwrap_or_default();
    let stats = serde_json::from_str(last).unwrap_or_else(|_| panic!("{output:?}"));
    (output, stats)
}

#[test]
fn the_own_authority_is_trusted_by_its_file_while_the_server_runs() {
    let directory = Directory::new();
    let (mut process, port) = serve(&directory, "--tls");
    let advice = process.next_line();
    let url = format!("https://localhost:{port}/");
    assert_eq!(advice, format!("trust it: weir --cacert weir-serve-ca.pem {url}"));
    assert_eq!(directory.names(), ["weir-serve-ca.pem"]);
    let file = directory.file("weir-serve-ca.pem");
    for url in [url, format!("https://127.0.0.1:{port}/")] {
        weir::load("epoll", "-n 50 -c2 --cacert", &[&file, &url]).assert_all_ok();
    }

    // Another server in the same directory would break the trust in the first.
    let mut command = Command::new(WEIR);
    command.current_dir(directory.path()).args(["serve", "--tls", "--listen", "127.0.0.1:0"]);
    let second = Process::start(&mut command).wait();
    assert_eq!((second.code(), second.stdout.as_str()), (2, ""), "{second:?}");
    assert!(second.stderr.contains("weir-serve-ca.pem exists already"), "{second:?}");

    let (output, stats) = stop(process);
    assert_eq!(output.stderr, "", "{output:?}");
    assert_eq!(stats["tls_failures"], 0, "{stats}");
    assert_eq!(stats["tls_handshakes"], stats["accepted"], "{stats}");
    assert!(stats["requests"].as_u64() >= Some(100), "{stats}");
    assert_eq!(directory.names(), [""; 0], "the file is removed");
}

#[test]
fn a_failed_handshake_is_reported_once_and_counted() {
    let directory = Directory::new();
    let (process, port) = serve(&directory, "--tls --tls-ca own.pem");
    for _ in 0..2 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        stream.set_read_timeout(Some(wait::GUARD)).expect("a valid timeout");
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
        // The alert, and the end.
        std::io::copy(&mut stream, &mut std::io::sink()).expect("it closes in order");
    }
    let (output, stats) = stop(process);
    assert_eq!(stats["tls_failures"], 2, "{stats}");
    assert_eq!(output.stderr.matches("weir serve: TLS: the client speaks no TLS").count(), 1);
}

#[test]
fn given_certificates_need_no_authority() {
    let directory = Directory::new();
    let key = rcgen::KeyPair::generate().expect("random bytes do not fail");
    let params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a valid name");
    let certificate = params.self_signed(&key).expect("parameters are complete");
    fs::write(directory.file("cert.pem"), certificate.pem()).expect("a file");
    fs::write(directory.file("key.pem"), key.serialize_pem()).expect("a file");
    let (process, port) = serve(&directory, "--cert cert.pem --key key.pem --http 1.1");
    let file = directory.file("cert.pem");
    let url = format!("https://localhost:{port}/");
    weir::load("epoll", "-n 20 -c2 --cacert", &[&file, &url]).assert_all_ok();
    assert_eq!(directory.names(), ["cert.pem", "key.pem"]);
    let (_, stats) = stop(process);
    assert!(stats["requests"].as_u64() >= Some(20), "{stats}");
}

#[test]
fn flags_that_contradict_are_refused() {
    let check = |flags: &str, part: &str| {
        let output = weir(&format!("serve --listen 127.0.0.1:0 {flags}"), &[]);
        assert_eq!(output.code(), 2, "{flags}: {output:?}");
        assert!(output.stderr.contains(part), "{flags}: {output:?}");
    };
    check("--tls-ca a.pem", "--tls-ca needs TLS");
    check("--client-ca a.pem", "--client-ca needs TLS");
    check("--cert a.pem", "--key");
    check("--tls --tls-min 1.3 --tls-max 1.2", "--tls-min is above --tls-max");
    check("--tls --client-ca /dev/null", "--client-ca has no valid certificate");
    check("--http 3", "1.1, 2 or auto");
    check("--http 1.1 --fault reset-stream:1/2", "needs HTTP/2");
    check("--h2-window 3g", "--h2-window must be at most 2147483647 bytes");
    check("--h2-window 8g", "--h2-window is too large");
    check("--h2-streams 70000", "--h2-streams must be at most 65535");
}
