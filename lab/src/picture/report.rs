//! `cargo xtask picture report`: the pictures of docs/guides/reading-the-report.md, parts of the
//! HTML page of a run against `weir serve`, as a browser paints them. The guide has the commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::guard::Guarded;
use xtask::shell::{build_weir, find_program, output, root, target_dir};

/// The pictures, from the root of the repository.
const PICTURES: &str = "docs/guides/report";

/// The URL in the pictures.
const SHOWN: &str = "http://127.0.0.1:8080/";

/// The guide, which has the commands.
const GUIDE: &str = "docs/guides/reading-the-report.md";

/// Width of the pictures, in pixels.
const WIDTH: u32 = 1000;

/// Parts of the page: the name of a picture, and the selector of the elements in it.
const PARTS: [(&str, &str); 6] = [
    ("summary", "header, #verdict"),
    ("percentiles", "#latency-percentiles"),
    ("over-time", "#latency-over-time"),
    ("rates", "#rates"),
    ("causes", "#latency-breakdown"),
    ("server-cpu", "#server-cpu"),
];

/// Runs weir and paints the parts of its page.
pub(crate) fn pictures() -> Result<()> {
    let weir = build_weir()?;
    let directory = target_dir()?.join("pictures");
    fs::create_dir_all(&directory)?;
    let page = page(&weir, &directory)?;
    let place = root()?.join(PICTURES);
    fs::create_dir_all(&place)?;
    for (name, selector) in PARTS {
        let part = only(&page, selector)?;
        paint(&directory, &part, &[], &place.join(format!("{name}.png")))?;
    }
    let dark = ["--blink-settings=preferredColorScheme=0"];
    let part = only(&page, "header, #verdict, #latency-over-time")?;
    paint(&directory, &part, &dark, &place.join("dark.png"))?;
    eprintln!("picture: wrote {PICTURES}");
    Ok(())
}

/// Makes the page of a run.
fn page(weir: &Path, directory: &Path) -> Result<String> {
    let guide = fs::read_to_string(root()?.join(GUIDE))?;
    let program = weir.to_string_lossy();
    let mut served = vec![&*program];
    served.extend(words(&guide, "weir serve")?.chain(["--listen", "127.0.0.1:0"]));
    let mut server = Guarded::start(&served)?;
    let url = server.listening_url()?;
    let pid = server.pid.to_string();
    let load = words(&guide, "weir -t1")?.map(|word| match word {
        SHOWN => &url,
        "PID" => &pid,
        word => word,
    });
    let mut command = Command::new(weir);
    output(command.current_dir(directory).args(load))?;
    Ok(fs::read_to_string(directory.join("report.html"))?.replace(&url, SHOWN))
}

/// Returns the words of a command of the guide behind the program's name.
fn words<'g>(guide: &'g str, command: &str) -> Result<impl Iterator<Item = &'g str> + use<'g>> {
    let line = guide.lines().find(|line| line.starts_with(command));
    let line = line.with_context(|| format!("{GUIDE} has no command {command}"))?;
    Ok(line.split(' ').skip(1))
}

/// Hides everything in a page but some elements, and makes its title the height in pixels.
fn only(page: &str, selector: &str) -> Result<String> {
    let inside: Vec<String> = selector.split(", ").map(|one| format!("{one}, {one} *")).collect();
    let around = format!(":has({selector})");
    let style = format!(
        "<style>body *:not({}, {around}) {{ display: none !important }} \
         .controls, figure details {{ display: none !important }}</style>",
        inside.join(", ")
    );
    let script = "<script>addEventListener('load', () => { document.title = \
                  Math.ceil(document.body.getBoundingClientRect().bottom) + 8 })</script>";
    let (head, rest) = page.split_once("</head>").context("the page has no head")?;
    Ok(format!("{head}{style}{script}</head>{rest}"))
}

/// Paints a page as high as it is.
fn paint(directory: &Path, page: &str, flags: &[&str], picture: &Path) -> Result<()> {
    let file = directory.join("part.html");
    fs::write(&file, page)?;
    let dom = browse(directory, &["--dump-dom"], flags, 1000, &file)?;
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let height = title.and_then(|(title, _)| title.parse().ok());
    let height = height.context("the page does not tell its height")?;
    let shot = format!("--screenshot={}", picture.display());
    browse(directory, &[&shot], flags, height, &file).map(drop)
}

/// Loads a page and returns what the browser prints. No name resolves, so nothing is requested.
fn browse(
    directory: &Path,
    task: &[&str],
    flags: &[&str],
    height: u32,
    file: &Path,
) -> Result<String> {
    let mut command = Command::new(browser()?);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--virtual-time-budget=20000", "--host-resolver-rules=MAP * ~NOTFOUND"]);
    command.arg(format!("--window-size={WIDTH},{height}"));
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    output(command.args(flags).args(task).arg(format!("file://{}", file.display())))
}

fn browser() -> Result<PathBuf> {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find_map(find_program);
    found.context("failed to find a browser: cargo xtask setup test")
}
