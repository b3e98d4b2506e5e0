//! A real nginx: over HTTP/1.1, HTTP/2 in the clear, and both over TLS, with its own count of
//! requests.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};

use super::directory::Directory;
use super::process::Process;
use super::secure::Authority;
use super::wait;

/// Addresses on which it listens.
#[derive(Clone, Copy)]
struct Addresses {
    /// HTTP/1.1; the count of requests too.
    plain: SocketAddr,
    /// HTTP/2 in the clear.
    http2: SocketAddr,
    /// HTTP/1.1 and HTTP/2 over TLS.
    secure: SocketAddr,
}

/// An nginx that the test starts. It needs no privileges and leaves no files.
pub(crate) struct Nginx {
    addresses: Addresses,
    process: Process,
    directory: Directory,
    authority: Authority,
}

impl Nginx {
    /// Starts it with these directives beside its own.
    pub(crate) fn start(directives: &str) -> Nginx {
        // A free port may be taken before nginx binds it: then another one is tried.
        let attempts = std::iter::repeat_with(|| Nginx::attempt(directives)).take(5);
        attempts.flatten().next().expect("nginx does not start: see its messages above")
    }

    fn attempt(directives: &str) -> Option<Nginx> {
        let directory = Directory::new();
        let listeners = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("free ports"));
        let [plain, http2, secure] =
            listeners.map(|listener| listener.local_addr().expect("it is bound"));
        let addresses = Addresses { plain, http2, secure };
        let authority = Authority::new();
        authority.sign_loopback().write_to(&directory);
        let file = directory.file("nginx.conf");
        let text = configuration(addresses, directives);
        fs::write(&file, text).expect("the directory is the test's own");
        let mut command = Command::new(program());
        let prefix = directory.path();
        command.arg("-p").arg(prefix).args(["-c", &file, "-e", "stderr"]);
        let mut process = Process::start(&mut command);
        wait::until("nginx to listen, or to end", || {
            TcpStream::connect(plain).map(|_| true).ok().or(process.has_ended().then_some(false))
        })
        .then_some(Nginx { addresses, process, directory, authority })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.addresses.plain)
    }

    /// URL of HTTP/2 in the clear.
    pub(crate) fn http2_url(&self) -> String {
        format!("http://{}/", self.addresses.http2)
    }

    pub(crate) fn secure_url(&self) -> String {
        format!("https://{}/", self.addresses.secure)
    }

    /// File with the certificate of the authority. It signed the certificate of
    /// [`Nginx::secure_url`].
    pub(crate) fn authority(&self) -> String {
        self.authority.file()
    }

    /// URL of the counts of requests and connections.
    pub(crate) fn status_url(&self) -> String {
        format!("http://{}/status", self.addresses.plain)
    }

    /// The same over TLS.
    pub(crate) fn secure_status_url(&self) -> String {
        format!("https://{}/status", self.addresses.secure)
    }

    /// Number of its only process.
    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// Log of the requests for paths that begin with `/logged` and `/missing`.
    pub(crate) fn access_log(&self) -> String {
        self.directory.file("access.log")
    }

    /// Requests that nginx has counted, including this one.
    pub(crate) fn requests(&self) -> u64 {
        let mut stream = TcpStream::connect(self.addresses.plain).expect("it listens");
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
pub(crate) fn program() -> &'static str {
    let places = ["nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"];
    let answers = |place: &&str| {
        let requested = Command::new(place).arg("-v").stderr(Stdio::null()).status();
        !requested.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let found = places.into_iter().find(answers);
    found.unwrap_or_else(|| panic!("nginx is missing: run `cargo xtask setup test`"))
}

fn configuration(addresses: Addresses, directives: &str) -> String {
    let Addresses { plain, http2, secure } = addresses;
    format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr crit;
        worker_rlimit_nofile 8192;
        events {{ worker_connections 4096; }}
        http {{
            access_log off;
            {directives}
            ssl_certificate cert.pem; ssl_certificate_key key.pem;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {{
                listen {plain} backlog=4096;
                listen {http2} http2 backlog=4096;
                listen {secure} ssl http2 backlog=4096;
                location / {{ return 200 'ok'; }}
                location /status {{ stub_status; }}
                location /metrics {{ return 200 '# TYPE up counter\\nup{{a=\"b\"}} 5\\n'; }}
                location /logged {{ access_log access.log combined; return 200 'ok'; }}
                location /missing {{ access_log access.log combined; return 404; }}
            }}
        }}"
    )
}
