//! The HTML page in a browser: no error, no request, every plot painted, and accessible.
//!
//! The browser is headless Chromium. `cargo xtask setup test` installs it and axe-core. A script in
//! front of the page's own collects what goes wrong; one behind it runs axe-core and writes all
//! into the page, whose text the browser prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use weir_report::view::Report;
use weir_report::{TextOptions, html};
use weir_result::document::{CommandSection, Point, ServerSection};
use weir_result::{Document, ErrorKind};

use super::readers::tools;
use crate::fixture::{Fixture, MS, S, fine, inflated, listed, renewing, with_series};
use crate::studies;

/// Collects errors, refused loads and changes by text from outside.
const BEFORE: &str = r#"
window.found = [];
window.addEventListener("error", (event) => found.push(`error: ${event.message}`));
window.addEventListener("unhandledrejection", (event) => found.push(`rejected: ${event.reason}`));
document.addEventListener("securitypolicyviolation", (event) =>
  found.push(`refused: ${event.violatedDirective} ${event.blockedURI}`));
for (const name of ["error", "warn"]) {
  console[name] = (...words) => found.push(`console: ${words.join(" ")}`);
}
// The page removes the names of the parts of a plot, by which its axes are found.
const remove = Element.prototype.removeAttribute;
Element.prototype.removeAttribute = function (name) {
  if (name === "aria-label") this.setAttribute("data-part", this.getAttribute(name));
  remove.call(this, name);
};
"#;

/// Writes the findings, the places of the plots, and the files that their buttons save.
const AFTER: &str = r#"
const done = (found) => {
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify(found);
  document.body.append(probe);
  if (parent !== window) parent.postMessage(probe.textContent, "*");
};
(async () => {
  const opened = [...document.querySelectorAll("details")];
  opened.forEach((details) => { details.open = true; });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const data = [...document.querySelectorAll("figure details")];
  const rows = data.map((details) => details.querySelectorAll("tbody tr").length);
  const controls = [...document.querySelectorAll(".controls button, figure summary, .scroll")];
  const unreachable = controls.filter((control) => {
    control.focus();
    return control.tabIndex < 0 || document.activeElement !== control;
  }).map((control) => control.outerHTML.slice(0, 120));
  opened.forEach((details) => { details.open = false; });
  const axe = await window.axe.run(document, { resultTypes: ["violations", "incomplete"] });
  // Reading a real Blob is a task of another process, which virtual time does not await.
  const files = {};
  let saved = null;
  window.Blob = class { constructor(parts) { saved = parts.join(""); } };
  URL.createObjectURL = () => "blob:x";
  HTMLAnchorElement.prototype.click = function () { files[this.download] = saved; };
  document.querySelectorAll(".controls button").forEach((button) => button.click());
  const resources = performance.getEntriesByType("resource").map((entry) => entry.name);
  const violations = axe.violations.map((of) => `${of.id}: ${of.nodes[0].html}`);
  const plots = [...document.querySelectorAll("figure.plot")].map((figure) => {
    const box = figure.querySelector(".chart svg")?.getBoundingClientRect();
    return { name: figure.id, box: box && [box.left, box.top, box.width, box.height] };
  });
  // Axes with fewer than two labels, apart from those of a single place or name.
  const bare = [...document.querySelectorAll("figure.plot")].flatMap((figure) => {
    const { marks } = JSON.parse(figure.querySelector("script").textContent);
    return ["x", "y"].filter((axis) => {
      const ticks = figure.querySelectorAll(`[data-part="${axis}-axis tick label"] text`);
      const places = new Set(marks.flatMap((mark) => mark[axis] ?? []));
      const isName = [...places].every((place) => typeof place === "string");
      const least = (axis === "x" || isName) && places.size === 1 ? 1 : 2;
      return new Set([...ticks].map((tick) => tick.textContent)).size < least;
    }).map((axis) => `${figure.id}: ${axis}`);
  });
  // Captions that are cut, and tables that go on at a side without a sign.
  const limit = document.documentElement.clientWidth;
  const isCut = (caption) => caption.getBoundingClientRect().right > limit;
  const hasSign = (table) => getComputedStyle(table).backgroundImage.includes("gradient");
  const hidden = [
    ...[...document.querySelectorAll("caption span")].filter(isCut),
    ...[...document.querySelectorAll(".scroll")]
      .filter((table) => table.scrollWidth > table.clientWidth && !hasSign(table)),
  ].map((element) => element.outerHTML.slice(0, 120));
  const labels = [...document.querySelectorAll(".controls button")].map((of) => of.ariaLabel);
  const ambiguous = labels.filter((label, i) => !label || labels.indexOf(label) !== i);
  const width = document.documentElement.scrollWidth;
  done({
    found, violations, resources, plots, rows, files, width, height: document.body.scrollHeight,
    unreachable, ambiguous, bare, hidden,
    pwned: window.pwned ?? null,
  });
})().catch((error) => done({ failed: String(error), found }));
"#;

/// Takes the result out of a frame, into the page around it.
const FRAME: &str = r#"
window.addEventListener("message", ({ data }) => {
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = data;
  document.body.append(probe);
});
"#;

/// A page on disk, which is removed afterwards.
struct Page {
    directory: PathBuf,
    html: String,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.directory);
    }
}

impl Page {
    fn of(name: &str, document: &Document) -> Page {
        let mut out = Vec::new();
        html::write(document, &TextOptions::default(), &mut out).expect("memory can be written");
        Page::of_bytes(name, out)
    }

    fn of_report(name: &str, report: &Report) -> Page {
        let mut out = Vec::new();
        html::write_report(report, &mut out).expect("memory can be written");
        Page::of_bytes(name, out)
    }

    fn of_bytes(name: &str, out: Vec<u8>) -> Page {
        let directory =
            std::env::temp_dir().join(format!("weir-page-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        Page { directory, html: String::from_utf8(out).expect("a page is UTF-8") }
    }

    /// Loads the page in a frame of that width, as no window of a desktop is as narrow as a phone,
    /// and returns what the scripts around it found.
    fn probe_at(&self, width: u64) -> Value {
        let file = self.directory.join("framed.html");
        let frame = format!(
            "<body><iframe src=\"probed.html\" width=\"{width}\" height=\"900\"></iframe>\
             <script>{FRAME}</script></body>"
        );
        self.write_probed();
        fs::write(&file, frame).expect("a file");
        self.read_probe(&file, &[])
    }

    /// Loads the page with the scripts around it, and returns what they found.
    fn probe(&self, flags: &[&str]) -> Value {
        let file = self.write_probed();
        self.read_probe(&file, flags)
    }

    fn write_probed(&self) -> PathBuf {
        let head = format!("<head><script>{BEFORE}</script>");
        let body = "</body>";
        let probed = self.html.replacen("<head>", &head, 1);
        let end = probed.rfind(body).expect("a body");
        let axe = axe();
        let scripts = format!("<script>{axe}</script><script>{AFTER}</script>");
        let probed = format!("{}{scripts}{}", &probed[..end], &probed[end..]);
        let file = self.directory.join("probed.html");
        fs::write(&file, probed).expect("a file");
        file
    }

    fn read_probe(&self, file: &Path, flags: &[&str]) -> Value {
        let dom = browse(&self.directory, flags, &["--dump-dom"], file);
        let dom = String::from_utf8(dom).expect("a page is UTF-8");
        let start = dom.rfind("<pre id=\"probe\">").expect("a result in the page");
        let text = &dom[start + "<pre id=\"probe\">".len()..];
        let text = text.split("</pre>").next().expect("an end");
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let probe: Value = serde_json::from_str(&text).expect("the result is JSON");
        assert!(probe.get("failed").is_none(), "{probe}");
        probe
    }

    /// Paints the page, and returns the width of the picture and its pixels.
    fn paint(&self, height: u64, flags: &[&str]) -> (usize, Vec<[u8; 3]>) {
        let file = self.directory.join("page.html");
        let picture = self.directory.join("page.png");
        fs::write(&file, &self.html).expect("a file");
        let size = format!("--window-size=1000,{height}");
        let shot = format!("--screenshot={}", picture.display());
        browse(&self.directory, flags, &[&size, &shot], &file);
        pixels(&picture)
    }
}

/// Returns the accessibility checker, as its package has it.
fn axe() -> String {
    let file = tools().join("axe/node_modules/axe-core/axe.min.js");
    fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!("{}: {error}; run `cargo xtask setup test`, which installs it", file.display())
    })
}

/// Returns the browser's name.
fn browser() -> &'static str {
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let answers = |name: &&str| {
        let mut version = Command::new(name);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    let found = names.into_iter().find(answers);
    found.expect("install chromium-headless-shell or chromium, or run `cargo xtask setup test`")
}

/// Loads a page and returns what the browser prints. No name resolves, so nothing is requested.
fn browse(home: &Path, flags: &[&str], more: &[&str], file: &Path) -> Vec<u8> {
    let mut command = Command::new(browser());
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--window-size=1000,1000", "--virtual-time-budget=20000"]);
    command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    command.arg(format!("--user-data-dir={}", home.join("profile").display()));
    command.args(flags).args(more).arg(format!("file://{}", file.display()));
    let done = command.stderr(Stdio::null()).output().expect("the browser starts");
    assert!(done.status.success(), "{command:?}: {}", done.status);
    done.stdout
}

fn pixels(picture: &Path) -> (usize, Vec<[u8; 3]>) {
    let file = std::io::BufReader::new(fs::File::open(picture).expect("a picture"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG file");
    let mut buffer = vec![0; reader.output_buffer_size().expect("a size")];
    let frame = reader.next_frame(&mut buffer).expect("a picture");
    let channels = frame.color_type.samples();
    let pixels = buffer[..frame.buffer_size()].chunks_exact(channels);
    (frame.width as usize, pixels.map(|p| [p[0], p[1], p[2]]).collect())
}

/// Fails unless the page is free of errors, requests and violations, a keyboard reaches every
/// control, and every plot is painted: of the pixels in its box at least 0.2% must not have the
/// colour of the page.
#[track_caller]
fn check(name: &str, document: &Document, plots: &[&str]) -> Value {
    Page::of(name, document).check(name, plots, &[LIGHT, DARK])
}

/// Flags of the browser for each colour scheme.
const LIGHT: &[&str] = &[];
const DARK: &[&str] = &["--blink-settings=preferredColorScheme=0"];

impl Page {
    #[track_caller]
    fn check(&self, name: &str, plots: &[&str], schemes: &[&[&str]]) -> Value {
        let probe = self.probe(&[]);
        for of in ["found", "violations", "resources", "unreachable", "ambiguous", "bare"] {
            assert_eq!(probe[of], Value::Array(Vec::new()), "{name}: {of}");
        }
        assert_eq!(probe["pwned"], Value::Null);
        let names: Vec<&str> = probe["plots"]
            .as_array()
            .expect("plots")
            .iter()
            .filter_map(|plot| plot["name"].as_str())
            .collect();
        assert_eq!(names, plots, "{name}");
        for flags in schemes {
            self.assert_painted(name, &probe, flags, !flags.is_empty());
        }
        probe
    }

    /// Fails unless every plot is painted on a page that is dark or light.
    #[track_caller]
    fn assert_painted(&self, name: &str, probe: &Value, flags: &[&str], dark: bool) {
        let height = probe["height"].as_u64().expect("a height");
        let (width, pixels) = self.paint(height, flags);
        let paper = pixels[2 * width + 2];
        let is_dark = paper.iter().all(|part| *part < 60);
        assert_eq!(is_dark, dark, "{name}: the page has the colour {paper:?}");
        for plot in probe["plots"].as_array().expect("plots") {
            let side = |at: usize| plot["box"][at].as_f64().expect("a number") as usize;
            let left = side(0);
            let top = side(1);
            let wide = side(2);
            let high = side(3);
            let rows =
                (top..top + high).map(|y| &pixels[y * width + left..y * width + left + wide]);
            let painted = rows.flatten().filter(|pixel| **pixel != paper).count();
            assert!(painted * 500 > wide * high, "{name}: {plot} has {painted} painted pixels");
        }
    }
}

#[test]
fn a_run_has_its_plots() {
    let document = fine(Fixture::open_loop(20_000)).evidence().document();
    let document = with_series(document, 12, 1.0);
    let plots =
        ["latency-over-time", "rates", "latency-percentiles", "latency-breakdown", "in-flight"];
    let probe = check("run", &document, &plots);
    let rows = probe["rows"].as_array().expect("rows");
    assert!(rows.len() == plots.len() && rows.iter().all(|rows| rows.as_u64() > Some(0)));
    let files = probe["files"].as_object().expect("files");
    assert_eq!(files.len(), 2 * plots.len());
    let text = |name: &str| files[name].as_str().expect("a text");
    let rates = text("rates.csv");
    assert!(rates.starts_with("Time from the start of the window (s),planned (1/s),sent (1/s)"));
    assert!(text("latency-over-time.csv").lines().count() > 12);
    for (_, svg) in files.iter().filter(|(name, _)| name.ends_with(".svg")) {
        let svg = svg.as_str().expect("a text");
        assert!(svg.starts_with("<svg") && !svg.contains("var("), "{svg}");
    }
}

/// Returns the names of the plots in a page.
fn plots(document: &Document) -> Vec<String> {
    let page = Page::of("names", document);
    let names = page.html.split("<figure class=\"plot\" id=\"").skip(1);
    names.filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect()
}

#[test]
fn short_and_failed_runs_have_pages() {
    let second = with_series(inflated().document(), 2, 0.5);
    let errors = Fixture::closed_loop().errors(500, ErrorKind::Errno(104), MS).document();
    let silent = Fixture::open_loop(100).timeouts(1_000, 2 * S).document();
    let bad = Fixture::open_loop(1_000).responses(9_000, 404, MS, MS).document();
    let [curve, cause, connects] = ["latency-percentiles", "latency-breakdown", "connection-times"];
    for (name, document, expected) in [
        ("second", second, &[curve, cause][..]),
        ("errors", errors, &[]),
        ("silent", silent, &[]),
        ("bad", bad, &[curve]),
        ("names", listed().document(), &[curve, cause]),
        ("renewing", renewing().document(), &[curve, cause, connects]),
    ] {
        let shown = plots(&document);
        let has = |plot: &&str| shown.iter().any(|shown| shown == plot);
        assert!(expected.iter().all(has), "{name}: {shown:?}");
        check(name, &document, &shown.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn studies_and_trends_have_pages() {
    let comparison = studies::comparison("new");
    let pages = [
        ("compare", Report::of_comparison(&comparison, None), &["percentiles", "shift"][..]),
        ("ab", Report::of_study(&studies::ab("new")), &["runs", "percentiles", "shift"]),
        ("repeat", Report::of_study(&studies::repeat()), &["runs"]),
        ("sweep", Report::of_study(&studies::sweep()), &["sweep-1", "sweep-2"]),
        ("search", Report::of_study(&studies::search()), &["search"]),
        ("trend", studies::trend(), &["trend-1-1"]),
    ];
    // The colours are the same as on pages of runs, so that each page is painted in one scheme.
    for ((name, report, plots), scheme) in pages.into_iter().zip([LIGHT, DARK].into_iter().cycle())
    {
        let probe = Page::of_report(name, &report).check(name, plots, &[scheme]);
        let files = probe["files"].as_object().expect("files");
        assert_eq!(files.len(), 2 * plots.len(), "{name}");
    }
}

#[test]
fn an_hour_is_a_page_of_600_kilobytes() {
    let document = fine(Fixture::open_loop(20_000)).evidence().document();
    let page = Page::of("hour", &with_series(document, 3_602, 1.0));
    assert!(page.html.len() <= 600_000, "{} bytes", page.html.len());
    let plots =
        ["latency-over-time", "rates", "latency-percentiles", "latency-breakdown", "in-flight"];
    page.check("hour", &plots, &[LIGHT]);
}

#[test]
fn a_phone_needs_no_sideways_scrolling() {
    let document = with_series(inflated().document(), 12, 1.0);
    let pages = [
        Page::of("phone", &document),
        Page::of_report("phone-ab", &Report::of_study(&studies::ab("new"))),
        Page::of_report("phone-sweep", &Report::of_study(&studies::sweep())),
    ];
    for page in pages {
        let probe = page.probe_at(390);
        assert!(probe["width"].as_u64() <= Some(390), "{}", probe["width"]);
        assert_eq!(probe["hidden"], Value::Array(Vec::new()));
    }
}

#[test]
fn every_axis_has_two_labels() {
    let at = |value: f64, places: [f64; 3]| {
        places.map(|at_s| Point { at_s, value: Some(value) }).to_vec()
    };
    let command = |value: f64, places: [f64; 3]| CommandSection {
        command: "count".to_owned(),
        series: [("value".to_owned(), at(value, places))].into(),
        ..Default::default()
    };
    let commands = vec![
        command(0.0, [1.0, 2.0, 3.0]),
        command(7.0, [10.05, 12.0, 19.6]),
        command(1.0, [3.1, 3.2, 5.0]),
    ];
    let mut document = fine(Fixture::open_loop(20_000)).evidence().document();
    document.server = Some(ServerSection { commands, ..Default::default() });
    let page = Page::of("axes", &document);
    for width in [390, 1000] {
        let probe = page.probe_at(width);
        let plots = probe["plots"].as_array().expect("plots");
        assert!(plots.iter().any(|plot| plot["name"] == "command-3"), "{plots:?}");
        assert_eq!(probe["bare"], Value::Array(Vec::new()), "{width}");
    }
}

#[test]
fn a_page_prints() {
    let mut page = Page::of("print", &with_series(inflated().document(), 12, 1.0));
    let file = page.directory.join("page.html");
    let pdf = page.directory.join("page.pdf");
    fs::write(&file, &page.html).expect("a file");
    browse(&page.directory, &[], &[&format!("--print-to-pdf={}", pdf.display())], &file);
    let bytes = fs::read(&pdf).expect("a PDF file");
    assert!(bytes.starts_with(b"%PDF") && bytes.len() > 20_000, "{} bytes", bytes.len());
    // The style of prints on the screen, where its pixels can be counted; also in the dark.
    page.html = page.html.replacen("@media print", "@media all", 1);
    let probe = page.probe(DARK);
    assert_eq!(probe["unreachable"].as_array().map(Vec::is_empty), Some(false), "controls show");
    page.assert_painted("print", &probe, DARK, false);
}

#[test]
fn text_from_outside_is_text() {
    let hostile = "</script><script>window.pwned=1</script><img src=http://evil/ onerror=pwned=2>\
                   =cmd|' /C calc'!A0 \u{202e}\u{0} \u{1b}[31m &lt;b&gt; \"'";
    let mut document = with_series(fine(Fixture::open_loop(20_000)).evidence().document(), 12, 1.0);
    document.plan.url = format!("http://h/{hostile}");
    document.run.preflight.as_mut().expect("a preflight").server = Some(hostile.repeat(10_000));
    let command = CommandSection {
        command: hostile.to_owned(),
        series: [(format!("={hostile}"), points()), ("value".to_owned(), points())].into(),
        ..Default::default()
    };
    let server = ServerSection { commands: vec![command], ..Default::default() };
    document.server = Some(server);
    let page = Page::of("hostile", &document);
    let probe = page.probe(&[]);
    assert_eq!((&probe["pwned"], &probe["found"]), (&Value::Null, &Value::Array(Vec::new())));
    assert_eq!(probe["violations"], Value::Array(Vec::new()));
    let csv = probe["files"]["command-1.csv"].as_str().expect("a file");
    let title = csv.lines().next().expect("titles");
    assert!(title.contains(",\"'=</script>") && !title.contains(",="), "{title}");
    assert!(!page.html.contains(['\u{202e}', '\u{0}', '\u{1b}']));
}

fn points() -> Vec<Point> {
    let point = |at: u32| Point { at_s: f64::from(at), value: Some(1.0) };
    (0..10).map(point).collect()
}
