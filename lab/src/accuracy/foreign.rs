//! V30: servers of others over HTTP/2. Each writes a line of its log for every request that it has
//! processed, and their number is compared with weir's count.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::guard::Guarded;
use xtask::shell::find_program;

use super::fixture::Fixture;
use super::section::Section;
use crate::rig::servers::{answers, free_address, write_certificate};
use crate::rig::table::{Table, thousands};

/// A server program. In its texts `{plain}` and `{secure}` stand for the addresses, `{plain_port}`
/// and `{secure_port}` for their ports, and `{dir}` for its directory, which has `cert.pem`,
/// `key.pem`, both of them in `both.pem`, and an `index.html`.
struct Foreign {
    program: &'static str,
    /// File of its configuration; empty if it needs none.
    config: &'static str,
    /// Command for a shell, which runs in the directory.
    command: &'static str,
    /// Text that a line of the log has if it is one of a request.
    mark: &'static str,
    /// True if it has a listener for TLS.
    is_secure: bool,
}

/// Log of each server.
const LOG: &str = "access.log";

const FOREIGNS: [Foreign; 6] = [
    Foreign {
        program: "nginx",
        config: "\
daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    access_log access.log;
    ssl_certificate cert.pem; ssl_certificate_key key.pem;
    server {
        listen {plain} http2; listen {secure} ssl http2;
        location / { return 200 'ok'; }
    }
}
",
        command: "exec nginx -p . -c config -e stderr",
        mark: "HTTP/2",
        is_secure: true,
    },
    Foreign {
        program: "h2o",
        config: "\
user: root
num-threads: 1
access-log: { path: access.log, format: '%r' }
listen: { host: 127.0.0.1, port: {plain_port} }
listen:
  host: 127.0.0.1
  port: {secure_port}
  ssl: { certificate-file: cert.pem, key-file: key.pem }
hosts:
  default:
    paths:
      /:
        file.dir: {dir}
",
        command: "exec h2o -c config",
        mark: "HTTP/2",
        is_secure: true,
    },
    Foreign {
        program: "nghttpd",
        config: "",
        command: "exec nghttpd -v --no-tls --no-color -d . -a 127.0.0.1 {plain_port} > access.log",
        mark: "recv HEADERS frame",
        is_secure: false,
    },
    Foreign {
        program: "haproxy",
        config: "\
global
    log stdout format raw daemon
defaults
    mode http
    log global
    option httplog
    timeout client 30s
    timeout server 30s
    timeout connect 5s
frontend front
    bind {plain} proto h2
    bind {secure} ssl crt both.pem alpn h2,http/1.1
    http-request return status 200 content-type text/plain string ok
",
        command: "exec haproxy -db -f config > access.log",
        mark: "HTTP/2",
        is_secure: true,
    },
    Foreign {
        program: "lighttpd",
        config: "\
server.modules = ( \"mod_accesslog\", \"mod_openssl\" )
server.document-root = \"{dir}\"
server.bind = \"127.0.0.1\"
server.port = {plain_port}
index-file.names = ( \"index.html\" )
accesslog.filename = \"access.log\"
accesslog.format = \"%r\"
$SERVER[\"socket\"] == \"{secure}\" {
    ssl.engine = \"enable\"
    ssl.pemfile = \"cert.pem\"
    ssl.privkey = \"key.pem\"
}
",
        command: "exec lighttpd -D -f config",
        mark: "HTTP/2",
        is_secure: true,
    },
    Foreign {
        program: "caddy",
        config: "\
{
    admin off
    auto_https off
    servers {
        protocols h1 h2 h2c
    }
}
http://{plain} {
    log {
        output file access.log
    }
    respond ok
}
https://{secure} {
    tls cert.pem key.pem
    log {
        output file access.log
    }
    respond ok
}
",
        command: "exec caddy run --config config --adapter caddyfile 2> errors.log",
        mark: "HTTP/2",
        is_secure: true,
    },
];

/// Loads on each server.
const LOADS: [&str; 3] = [
    "-t1 -c4 --streams 10 -n 20000",
    "-t1 -c4 --http 2 -n 5000",
    "-t1 -c4 --streams 20 -R2000 -d3s",
];

/// Runs case V30 of METHOD 2.1.
pub(super) fn foreign(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "servers of others over HTTP/2",
        "A server may end a connection by GOAWAY, after 1,000 requests for example. Requests above \
         the last one that it names were not processed. A client that counts them as failed, or \
         not at all, disagrees with the server's own log.",
        "Requests in the server's log = requests sent − returned, and every planned request ok.",
    );
    let mut table = Table::new(&[
        "server",
        "load",
        "sent",
        "returned",
        "in the server's log",
        "connects",
        "ok",
    ]);
    for foreign in &FOREIGNS {
        let Some(program) = find_program(foreign.program) else {
            section.note(format!("{} is not installed: it is not compared.", foreign.program));
            continue;
        };
        let transports: &[bool] = if foreign.is_secure { &[false, true] } else { &[false] };
        for is_secure in transports {
            for load in LOADS {
                add(fixture, &mut section, &mut table, foreign, &program, *is_secure, load)
                    .with_context(|| format!("failed to compare {}", foreign.program))?;
            }
        }
    }
    section.table("", &table.finish());
    Ok(section)
}

/// Runs one load on a fresh server, and compares the counts.
fn add(
    fixture: &Fixture,
    section: &mut Section,
    table: &mut Table,
    foreign: &Foreign,
    program: &Path,
    is_secure: bool,
    load: &str,
) -> Result<()> {
    let running = Running::start(fixture, foreign, program)?;
    let url = running.url(is_secure);
    let document = fixture.weir(&format!("{load} --insecure"), &url)?;
    let counted = running.finish(foreign.mark)?;
    let accounting = &document.accounting;
    let (sent, returned) = (accounting.sent.total, accounting.sent.returned);
    let scheme = if is_secure { "https" } else { "http" };
    let name = format!("{} ({scheme})", foreign.program);
    table.row(&[
        name.clone(),
        format!("`{load}`"),
        thousands(sent),
        thousands(returned),
        thousands(counted),
        thousands(document.connections.connects),
        thousands(accounting.ok),
    ]);
    section.must(counted == sent - returned, || {
        format!("{name}, `{load}`: {counted} in the log, {sent} sent, {returned} returned")
    });
    section.must(accounting.ok == accounting.planned, || {
        format!("{name}, `{load}`: {} of {} are ok", accounting.ok, accounting.planned)
    });
    Ok(())
}

/// A running server.
struct Running {
    guarded: Guarded,
    directory: PathBuf,
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
        let (plain, secure) = (free_address()?, free_address()?);
        let fill = |text: &str| {
            text.replace("{plain}", &plain.to_string())
                .replace("{secure}", &secure.to_string())
                .replace("{plain_port}", &plain.port().to_string())
                .replace("{secure_port}", &secure.port().to_string())
                .replace("{dir}", &directory.display().to_string())
        };
        fs::write(directory.join("config"), fill(foreign.config))?;
        let path = format!(
            "{}:{}",
            program.parent().context("a program is in a directory")?.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let command = format!("cd '{}' && {}", directory.display(), fill(foreign.command));
        let guarded = Guarded::start(&["env", &format!("PATH={path}"), "sh", "-c", &command])?;
        answers(plain).with_context(|| format!("failed to start {}", foreign.program))?;
        Ok(Running { guarded, directory, plain, secure })
    }

    fn url(&self, is_secure: bool) -> String {
        match is_secure {
            true => format!("https://{}/", self.secure),
            false => format!("http://{}/", self.plain),
        }
    }

    /// Ends the server, which then writes the rest of its log, and returns the number of requests
    /// in it.
    fn finish(self, mark: &str) -> Result<u64> {
        let Running { guarded, directory, .. } = self;
        let ended = Command::new("kill").arg(guarded.pid.to_string()).status();
        ensure!(ended.context("failed to start kill")?.success(), "the server has ended by itself");
        drop(guarded);
        let log = fs::read_to_string(directory.join(LOG)).context("the server has no log")?;
        Ok(log.lines().filter(|line| line.contains(mark)).count() as u64)
    }
}
