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
    let server = Served::plainly();
    let directory = Directory::new();
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
    let output = weir("report", &[&file("run.json"), "-o", &file("d.json"), "-q"]);
    assert!(output.code() == 2 && output.stderr.contains("unexpected"), "{output:?}");
}

#[test]
fn a_result_goes_to_each_file_in_the_format_of_its_name() {
    let server = Served::plainly();
    let directory = Directory::new();
    let names =
        ["a.json", "b", "c.html", "d.md", "e.csv", "f.xml", "g.hlog", "h.hgrm", "i.parquet"];
    let files = names.map(|name| directory.file(name));
    let mut words: Vec<&str> = files.iter().flat_map(|file| ["-o", file.as_str()]).collect();
    let url = server.url();
    let given = directory.file("a.json");
    words.extend(["--assert", "errors == 0", "-o", "-", &url]);
    let output = weir(LOAD, &words);
    assert_eq!(output.code(), 0, "{output:?}");
    assert_eq!(directory.names(), names);
    let content = |name: &str| fs::read(directory.file(name)).expect("it was written");
    assert_eq!(output.stdout.as_bytes(), content("a.json"), "-o - is the document too");
    assert_eq!(content("b"), content("a.json"));
    for (name, start) in [
        ("c.html", "<!doctype html>"),
        ("d.md", "### weir "),
        ("e.csv", "start_s,"),
        ("f.xml", "<?xml "),
        ("g.hlog", "#[Latencies of weir "),
        ("h.hgrm", "       Value"),
        ("i.parquet", "PAR1"),
    ] {
        let found = content(name);
        assert!(found.starts_with(start.as_bytes()), "{name}: {:?}", found.get(..40));
    }
    let later = ["x.json", "y.html", "z.hgrm"].map(|name| directory.file(name));
    let words = later.iter().flat_map(|file| ["-o", file.as_str()]);
    let output = weir("report", &[&[given.as_str()][..], &words.collect::<Vec<_>>()].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    assert_eq!(content("z.hgrm"), content("h.hgrm"));
    page(&later[1]);
    for (words, part) in [
        (["--export", "k6=x.html"], "k6 does not go into a .html file: name it .json"),
        (["-o", "x.xml"], "--output junit needs an assertion; add --assert"),
    ] {
        let output = weir(LOAD, &[&words[..], &[&url]].concat());
        assert!(output.code() == 2 && output.stderr.contains(part), "{output:?}");
    }
    let rows = directory.file("y.parquet");
    let output = weir(LOAD, &["--raw", &directory.file("z.parquet"), "-o", &rows, &url]);
    assert!(output.code() == 2 && output.stderr.contains("one file"), "{output:?}");
    let output = weir("report", &[&given, "-o", &rows]);
    assert!(output.code() == 2 && output.stderr.contains("during a run"), "{output:?}");
}

#[test]
fn a_study_has_a_page() {
    let server = Served::plainly();
    let directory = Directory::new();
    let study = directory.file("study.json");
    let html = directory.file("study.html");
    let words = ["-o", &study, "-c1", "-d", "100ms", "--warmup", "0", &server.url()];
    let output = weir("repeat -n 2 --no-settle -q", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    let output = weir("report", &[&study, "-o", &html]);
    assert!(output.code() == 0 && output.stdout.contains("2 runs"), "{output:?}");
    assert!(page(&html).contains("<figure class=\"plot\" id=\"runs\">"));
    let [json, csv, again] = ["all.json", "all.csv", "all.html"].map(|name| directory.file(name));
    let outputs = ["-o", &json, "-o", &csv, "-o", &again];
    let words = ["-c1", "-d", "100ms", "--warmup", "0", &server.url()];
    let output = weir("repeat -n 2 --no-settle -q", &[&outputs[..], &words].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    page(&again);
    assert!(fs::read_to_string(&csv).expect("it was written").contains("trial"));
    assert!(weir("report", &[&json]).stdout.contains("2 runs"));
    let junit = format!("junit={}", directory.file("x.xml"));
    let output = weir("report", &[&study, "--export", &junit]);
    assert!(output.code() == 2 && output.stderr.contains("no verdict"), "{output:?}");
}

/// Studies and comparisons write their files themselves, with the same content as `weir report`.
#[test]
fn studies_and_comparisons_export_their_result() {
    let server = Served::plainly();
    let directory = Directory::new();
    let file = |name: &str| directory.file(name);
    let study = file("study.json");
    let exports = ["html=a.html", "csv=a.csv", "markdown=a.md", "json=a.json", "text=a.txt"];
    let exports = exports.map(|export| {
        let (format, name) = export.split_once('=').expect("a format and a file");
        format!("{format}={}", file(name))
    });
    let mut words: Vec<&str> = exports.iter().flat_map(|export| ["--export", export]).collect();
    let url = server.url();
    words.extend(["-o", &study, "-c1", "-d", "100ms", "--warmup", "0", &url]);
    let output = weir("repeat -n 2 --no-settle -q", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(page(&file("a.html")).contains("<figure class=\"plot\" id=\"runs\">"));
    let csv = fs::read_to_string(file("a.csv")).expect("a file");
    assert!(csv.starts_with("row,cell,trial,runs,metric,unit,value,low,high,note\r\n"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("trial,,1,,")).count(), 10, "{csv}");
    assert!(csv.contains("\r\nmean,,,2,rate,1/s,"), "{csv}");
    let read = |name: &str| fs::read_to_string(file(name)).expect("a file");
    assert_eq!(read("a.json"), fs::read_to_string(&study).expect("the study"));
    assert!(read("a.md").starts_with("### weir ") && read("a.txt").contains("2 runs"));

    let page_of = file("pair.html");
    let words = ["-o", &page_of, "-c1", "-d", "100ms", "--warmup", "0", &url];
    let output = weir("repeat -n 1 --no-settle -q", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    page(&page_of);

    let junit = format!("junit={}", file("a.xml"));
    let words = [study.as_str(), &study, "-o", &file("c.html"), "--export", &junit];
    let output = weir("compare --fail-on undecided", &words);
    assert_eq!(output.code(), 3, "{output:?}");
    page(&file("c.html"));
    let xml = read("a.xml");
    assert!(xml.contains("tests=\"1\" failures=\"1\" errors=\"0\""), "{xml}");
    let output = weir("compare", &[study.as_str(), &study, "--export", &junit]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(read("a.xml").contains("failures=\"0\""));
}

#[test]
fn a_format_that_a_study_lacks_is_refused_before_the_load() {
    let directory = Directory::new();
    for (words, expected) in [
        ("repeat --export hgrm=FILE http://h/", "hgrm is for single runs; those of several runs"),
        ("sweep --vary c=1,2 --export bencher=FILE http://h/", "and for weir repeat"),
        ("repeat --export junit=FILE http://h/", "no verdict to write; weir ab and weir compare"),
        (
            "sweep --vary c=1,2 --format junit http://h/",
            "--format junit: the result has no verdict",
        ),
        ("compare a.json b.json -o FILE.hgrm", "hgrm is for single runs"),
        ("compare a.json b.json -o FILE.parquet", "rows are written during a run"),
    ] {
        let words = words.replace("FILE", &directory.file("x"));
        let output = weir(&words, &[]);
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        assert!(output.stderr.contains(expected), "{words}: {output:?}");
    }
}
