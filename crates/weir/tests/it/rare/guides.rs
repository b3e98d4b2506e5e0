//! The commands of docs/guides, run against a real nginx, or the `weir serve` of the page, for a
//! moment instead of the time that they name.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::directory::Directory;
use crate::support::nats::nats_server;
use crate::support::nginx;
use crate::support::process::Process;
use crate::support::wait;
use crate::support::weir::WEIR;

/// The guides.
const GUIDES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides");

/// Addresses of the pages.
const SHOWN: [&str; 3] = ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"];

/// The nginx of the guides, in a directory of its own.
struct Rig {
    nginx: Process,
    directory: Directory,
    addresses: [String; 3],
    /// The `weir serve` of the page.
    server: Option<Process>,
}

impl Rig {
    fn start() -> Rig {
        let directory = Directory::new();
        let listeners = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("free ports"));
        let addresses =
            listeners.map(|listener| listener.local_addr().expect("it is bound").to_string());
        let source = Path::new(GUIDES).join("nginx");
        let text = fs::read_to_string(source.join("nginx.conf")).expect("it is there");
        let text = addressed(&text, &addresses);
        fs::write(directory.file("nginx.conf"), text).expect("a file");
        fs::write(directory.file("access-log.conf"), "access_log off;").expect("a file");
        for hook in ["access-log.sh", "workers.sh"] {
            fs::copy(source.join(hook), directory.file(hook)).expect("a file");
        }
        fs::create_dir(directory.file("www")).expect("a directory");
        fs::write(directory.file("www/index.html"), "It works").expect("a file");
        let mut command = Command::new(nginx::program());
        command.arg("-p").arg(directory.path()).args(["-c", "nginx.conf", "-e", "stderr"]);
        let nginx = Process::start(&mut command);
        wait::until("nginx to listen", || TcpStream::connect(&addresses[0]).ok());
        Rig { nginx, directory, addresses, server: None }
    }

    /// Carries out a block of a page.
    fn take(&mut self, block: Block) {
        match block {
            Block::Command(command) => {
                let typed = addressed(&brief(&command), &self.addresses);
                let output = Process::start(&mut self.shell(&typed)).wait();
                assert_eq!(output.code(), 0, "{typed}\n{output:?}");
            }
            Block::Server(command) => {
                let typed = format!("exec {}", addressed(&command, &self.addresses));
                let mut server = Process::start(&mut self.shell(&typed));
                let line = server.next_line();
                assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
                self.server = Some(server);
            }
        }
    }

    /// Returns a shell that runs a command in the directory.
    fn shell(&self, typed: &str) -> Command {
        let programs = Path::new(WEIR).parent().expect("a directory").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let nats = nats_server().parent().expect("a directory").to_owned();
        let places = [programs, PathBuf::from("/usr/sbin"), nats];
        let path = std::env::join_paths(places.into_iter().chain(std::env::split_paths(&path)));
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(typed).current_dir(self.directory.path());
        shell.env("PATH", path.expect("no colons"));
        shell
    }
}

/// Its master ends the workers, which would outlive a master that is killed.
impl Drop for Rig {
    fn drop(&mut self) {
        self.nginx.signal(&["TERM"]);
        wait::until("nginx to end", || self.nginx.has_ended().then_some(()));
    }
}

fn addressed(text: &str, addresses: &[String; 3]) -> String {
    let pairs = SHOWN.iter().zip(addresses);
    pairs.fold(text.to_owned(), |text, (shown, address)| text.replace(shown, address))
}

/// Shortens a command: runs last a moment, and there are few of them.
fn brief(command: &str) -> String {
    let is_study =
        ["repeat", "ab", "sweep"].iter().any(|name| command.contains(&format!("weir {name}")));
    let mut words: Vec<String> = Vec::new();
    for word in command.replace("\\\n", " ").split(' ').filter(|word| !word.is_empty()) {
        let word = match word {
            // A reloaded server on a busy machine responds to nothing for a while, and a client
            // that has to wait for a CPU sends nothing.
            word if word.starts_with("-d") && word.ends_with('s') => "-d500ms",
            "500ms" if words.last().is_some_and(|last| last == "--warmup") => "50ms",
            "30" | "10" if is_study && words.last().is_some_and(|last| last == "-n") => "2",
            "d=500ms,2s" => "d=200ms,300ms",
            "c=1,10,100,1000" => "c=1,10",
            "c=1,10,20,50,100,200" | "c=10,50" => "c=1,5",
            "rate=500,1k,2k,4k,8k,16k,32k" => "rate=200,500",
            "auto" => "auto:100ms",
            other => other,
        };
        words.push(word.to_owned());
    }
    let is_there = |word: &str| words.iter().any(|known| known == word);
    let is_timed = is_there("-d500ms") && !is_there("--warmup");
    let command = words.join(" ");
    // The output of some commands is cut.
    let (mut command, filter) = match command.split_once(" | sed ") {
        Some((command, filter)) => (command.to_owned(), format!(" | sed {filter}")),
        None => (command, String::new()),
    };
    if is_timed {
        command += " --warmup 50ms";
    }
    if is_study {
        command += " --no-settle";
        command += match command.contains("weir ab") {
            true => " --pairs 6",
            false if is_there("-n") => "",
            false => " -n 2",
        };
    }
    command + &filter
}

/// A block of a page.
#[derive(Debug)]
enum Block {
    /// A command, which ends.
    Command(String),
    /// The command of a server, marked `sh server`; it runs until the page ends.
    Server(String),
}

/// The commands of a page, in order.
fn blocks(page: &str) -> Vec<Block> {
    let block = |rest: &str| {
        let (kind, rest) = rest.split_once('\n')?;
        let command = rest.split("\n```").next()?.to_owned();
        match kind {
            "" => Some(Block::Command(command)),
            " server" => Some(Block::Server(command)),
            _ => None,
        }
    };
    page.split("```sh").skip(1).filter_map(block).collect()
}

#[track_caller]
fn check(name: &str, least: usize) {
    let page = fs::read_to_string(Path::new(GUIDES).join(name)).expect("it is there");
    let blocks = blocks(&page);
    assert!(blocks.len() >= least, "{blocks:#?}");
    let mut rig = Rig::start();
    blocks.into_iter().for_each(|block| rig.take(block));
    let servers = std::iter::once(&mut rig.nginx).chain(&mut rig.server);
    assert!(servers.into_iter().all(|server| !server.has_ended()), "they served all of them");
}

#[test]
fn tuning_nginx_takes_ten_steps() {
    check("tuning-nginx.md", 11);
}

#[test]
fn methods_of_grpc_are_called() {
    check("grpc.md", 5);
}

#[test]
fn a_rising_rate_is_one_command() {
    check("rising-rate.md", 1);
}

#[test]
fn keep_alive_is_one_command() {
    check("keep-alive.md", 1);
}

#[test]
fn server_workers_are_one_command() {
    check("server-workers.md", 1);
}

#[test]
fn two_servers_are_one_command() {
    check("two-servers.md", 1);
}

#[test]
fn a_language_model_has_a_load_and_a_search() {
    check("llm.md", 4);
}

#[test]
fn streams_are_a_server_and_one_command() {
    check("streams.md", 2);
}

#[test]
fn agents_on_one_machine_are_one_command() {
    check("fleet.md", 1);
}

#[test]
fn a_manifest_is_one_command() {
    check("kubernetes.md", 1);
}

#[test]
fn a_list_has_the_traffic_of_a_shop() {
    check("real-traffic.md", 9);
}

#[test]
fn users_take_the_steps_of_a_file() {
    check("users.md", 7);
}

#[test]
fn messages_have_echoes() {
    check("websocket.md", 4);
}

#[test]
fn a_list_does_what_a_script_did() {
    check("list-not-script.md", 7);
}

/// `cargo xtask picture report` takes its commands from the guide.
#[test]
fn the_report_is_read_by_its_pictures() {
    let place = Path::new(GUIDES);
    let page = fs::read_to_string(place.join("reading-the-report.md")).expect("it is there");
    let pictures = page.split("](report/").skip(1).filter_map(|rest| rest.split(')').next());
    let pictures: Vec<&str> = pictures.collect();
    assert_eq!(pictures.len(), 7, "{pictures:?}");
    for picture in pictures {
        let bytes = fs::read(place.join("report").join(picture)).expect(picture);
        assert!(bytes.starts_with(b"\x89PNG"), "{picture}");
    }
    let load = page.lines().find(|line| line.starts_with("weir -t1")).expect("the load");
    let load = load.replace(" PID", " 1") + " --print-plan";
    let plan = Command::new(WEIR).args(load.split(' ').skip(1)).output().expect("weir starts");
    assert!(plan.status.success(), "{plan:?}");
    let server = page.lines().find(|line| line.starts_with("weir serve")).expect("the server");
    let server = server.to_owned() + " --duration 1ms --listen 127.0.0.1:0";
    let served = Command::new(WEIR).args(server.split(' ').skip(1)).output().expect("weir starts");
    assert!(served.status.success(), "{served:?}");
}

/// A guide without its output, or without a test, would be noticed here.
#[test]
fn every_guide_has_output_and_is_tested() {
    let tested = include_str!("guides.rs");
    for entry in fs::read_dir(GUIDES).expect("it is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.ends_with(".md") || name == "README.md" {
            continue;
        }
        assert!(tested.contains(&format!("\"{name}\"")), "{name}");
        let page = fs::read_to_string(&path).expect("it is text");
        assert!(!page.contains("```text\n```"), "{name}: run cargo xtask guides");
    }
}
