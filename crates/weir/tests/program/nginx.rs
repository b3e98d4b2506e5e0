//! Against a real nginx: every request that weir counts as sent is a request that nginx counted.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::support::directory::Directory;
use crate::support::for_each_engine;
use crate::support::process::Process;
use crate::support::wait;
use crate::support::weir;

/// An nginx that the test starts. It needs no privileges and leaves no files.
struct Nginx {
    address: SocketAddr,
    _process: Process,
    _directory: Directory,
}

impl Nginx {
    fn start() -> Nginx {
        // A free port may be taken before nginx binds it: then another one is tried.
        let attempts = std::iter::repeat_with(Nginx::attempt).take(5);
        attempts.flatten().next().expect("nginx does not start: see its messages above")
    }

    fn attempt() -> Option<Nginx> {
        let directory = Directory::new();
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let address = free.expect("a port is free");
        let file = directory.file("nginx.conf");
        fs::write(&file, configuration(address)).expect("the directory is the test's own");
        let mut command = Command::new(program());
        let prefix = directory.path();
        command.arg("-p").arg(prefix).args(["-c", &file, "-e", "stderr"]);
        let mut process = Process::start(&mut command);
        wait::until("nginx to listen, or to end", || {
            TcpStream::connect(address).map(|_| true).ok().or(process.has_ended().then_some(false))
        })
        .then_some(Nginx { address, _process: process, _directory: directory })
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Requests that nginx has counted, including this one.
    fn requests(&self) -> u64 {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(wait::GUARD)).expect("a valid timeout");
        let question = "GET /status HTTP/1.1\r\nHost: status\r\nConnection: close\r\n\r\n";
        stream.write_all(question.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        // The line of numbers: accepted, handled, requests.
        let counts = answer.split("requests").nth(1).and_then(|rest| rest.trim().lines().next());
        let count = counts.and_then(|line| line.split_whitespace().nth(2));
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }
}

/// Finds the program; the search path of an ordinary user may lack its directory.
fn program() -> &'static str {
    let places = ["nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"];
    let answers = |place: &&str| {
        let asked = Command::new(place).arg("-v").stderr(Stdio::null()).status();
        !asked.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let found = places.into_iter().find(answers);
    found.unwrap_or_else(|| panic!("nginx is missing: run `cargo xtask setup test`"))
}

fn configuration(address: SocketAddr) -> String {
    format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr crit;
        worker_rlimit_nofile 8192;
        events {{ worker_connections 4096; }}
        http {{
            access_log off;
            keepalive_requests 1000000000;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {{
                listen {address} backlog=4096;
                location / {{ return 200 'ok'; }}
                location /status {{ stub_status; }}
            }}
        }}"
    )
}

#[test]
fn nginx_counts_the_requests_that_weir_counts() {
    let nginx = Nginx::start();
    for_each_engine(|engine| {
        for connections in [1, 10, 100, 1000] {
            for load in ["", "-R 2000"] {
                let before = nginx.requests();
                let flags = format!("-c{connections} -t2 -d400ms --warmup 100ms {load}");
                let ran = weir::load(engine, &flags, &[&nginx.url()]);
                ran.assert_all_ok();
                ran.assert_no_failure();
                let accounting = &ran.document.accounting;
                if !load.is_empty() {
                    assert_eq!((accounting.planned, accounting.sent.warmup), (800, 200), "{ran}");
                }
                assert_eq!(ran.document.connections.open_at_t0, connections, "{ran}");
                assert_eq!(nginx.requests() - before - 1, accounting.sent.total, "{ran}");
                ran.assert_says("nginx");
            }
        }
    });
}

#[test]
fn nginx_closing_connections_costs_no_request() {
    let nginx = Nginx::start();
    for_each_engine(|engine| {
        let before = nginx.requests();
        let flags = "-c10 -t2 -n 500 -R 5000";
        let ran = weir::load(engine, flags, &["-H", "Connection: close", &nginx.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        let sent = ran.document.accounting.sent;
        assert_eq!(sent.total - sent.probe, 501, "{ran}");
        assert_eq!(nginx.requests() - before - 1, sent.total, "{ran}");
    });
}
