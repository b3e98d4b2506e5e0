//! Files of `--export` and `-o FILE.html`, of runs and of studies.

use std::fs;

use crate::support::directory::Directory;
use crate::support::served::Served;
use crate::support::weir::weir;

const LOAD: &str = "--no-verdict -c2 -t1 -R 200 -d 300ms --warmup 0 --witness off";

/// Returns a file's content, which must be a page with plots.
#[track_caller]
fn page(path: &str) -> String {
    let page = fs::read_to_string(path).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    page
}

#[test]
fn a_run_and_its_document_have_a_page() {
    let (server, directory) = (Served::plainly(), Directory::new());
    let file = |name: &str| directory.file(name);
    let exports = [format!("html={}", file("b.html")), format!("markdown={}", file("b.md"))];
    let words = ["-o", &file("a.html"), "--export", &exports[0], "--export", &exports[1]];
    let output = weir(LOAD, &[&words[..], &[&server.url()]].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    for name in ["a.html", "b.html"] {
        let page = page(&file(name));
        assert!(page.contains("<figure class=\"plot\" id=\"latency-percentiles\">"));
        assert!(page.contains(&format!("<h1>{}</h1>", server.url())), "{}", server.url());
    }
    assert!(fs::read_to_string(file("b.md")).expect("a file").starts_with("### weir "));

    let output = weir(LOAD, &["-o", &file("run.json"), &server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
    let output = weir("report", &[&file("run.json"), "-o", &file("c.html")]);
    assert_eq!(output.code(), 0, "{output:?}");
    page(&file("c.html"));
    let words = [&file("run.json"), "--export", &exports[0], "-o", &file("b.html")];
    let output = weir("report", &words);
    assert!(output.code() == 2 && output.stderr.contains("are the same file"), "{output:?}");
    let output = weir("report", &[&file("run.json"), "-o", &file("d.json")]);
    assert!(output.code() == 2 && output.stderr.contains("name it .html"), "{output:?}");
}

#[test]
fn a_study_has_a_page() {
    let (server, directory) = (Served::plainly(), Directory::new());
    let (study, html) = (directory.file("study.json"), directory.file("study.html"));
    let words = ["-o", &study, "-c1", "-d", "100ms", "--warmup", "0", &server.url()];
    let output = weir("repeat -n 2 --no-settle -q", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    let output = weir("report", &[&study, "-o", &html]);
    assert!(output.code() == 0 && output.stdout.contains("2 runs"), "{output:?}");
    assert!(page(&html).contains("<figure class=\"plot\" id=\"runs\">"));
    let junit = format!("junit={}", directory.file("x.xml"));
    let output = weir("report", &[&study, "--export", &junit]);
    assert!(output.code() == 2 && output.stderr.contains("no report as junit"), "{output:?}");
}
