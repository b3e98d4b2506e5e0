//! Credentials are sent as given. They are in no file that weir writes, and in nothing it prints.

use std::fs;
use std::process::Command;
use std::sync::mpsc;

use parquet::file::reader::{FileReader, SerializedFileReader};
use weir_result::Document;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::raw::Raw;
use crate::support::served::Served;
use crate::support::weir::WEIR;

/// The secret that must not be in any output.
const SECRET: &str = "SECRET-e3b0c442";

/// A command line, with the placeholders URL and AUTHORITY, and a line of the request as sent.
struct Case {
    words: &'static [&'static str],
    sent: &'static str,
}

/// Basic authentication of `me:SECRET-e3b0c442`.
const BASIC: &str = "Authorization: Basic bWU6U0VDUkVULWUzYjBjNDQy\r\n";

const CASES: [Case; 18] = [
    Case {
        words: &["-H", "Authorization: Bearer SECRET-e3b0c442", "URL"],
        sent: "Authorization: Bearer SECRET-e3b0c442\r\n",
    },
    Case {
        words: &["-HAuthorization:SECRET-e3b0c442", "URL"],
        sent: "Authorization: SECRET-e3b0c442\r\n",
    },
    Case {
        words: &["-H=authorization: SECRET-e3b0c442", "URL"],
        sent: "authorization: SECRET-e3b0c442\r\n",
    },
    Case {
        words: &["--header=Cookie: a=SECRET-e3b0c442; b=c", "URL"],
        sent: "Cookie: a=SECRET-e3b0c442; b=c\r\n",
    },
    Case {
        words: &["--header", "Proxy-Authorization: Basic SECRET-e3b0c442", "URL"],
        sent: "Proxy-Authorization: Basic SECRET-e3b0c442\r\n",
    },
    Case { words: &["-LHCookie:SECRET-e3b0c442", "URL"], sent: "Cookie: SECRET-e3b0c442\r\n" },
    Case { words: &["-u", "me:SECRET-e3b0c442", "URL"], sent: BASIC },
    Case { words: &["-ume:SECRET-e3b0c442", "URL"], sent: BASIC },
    Case { words: &["-u=me:SECRET-e3b0c442", "URL"], sent: BASIC },
    Case { words: &["http://me:SECRET-e3b0c442@AUTHORITY/"], sent: BASIC },
    Case { words: &["me:%53ECRET-e3b0c442@AUTHORITY/x"], sent: BASIC },
    Case {
        words: &["--redact", "x-api-key", "-H", "X-API-Key: SECRET-e3b0c442", "URL"],
        sent: "X-API-Key: SECRET-e3b0c442\r\n",
    },
    Case {
        words: &["-H", "X-Api-Key: SECRET-e3b0c442", "URL"],
        sent: "X-Api-Key: SECRET-e3b0c442\r\n",
    },
    Case { words: &["-Hapi-key:SECRET-e3b0c442", "URL"], sent: "api-key: SECRET-e3b0c442\r\n" },
    Case {
        words: &["URL?a=b&access_token=SECRET-e3b0c442&c=d"],
        sent: "GET /?a=b&access_token=SECRET-e3b0c442&c=d HTTP/1.1\r\n",
    },
    Case {
        words: &["--redact=mine", "URL?a=b&mine=SECRET-e3b0c442&c=d"],
        sent: "GET /?a=b&mine=SECRET-e3b0c442&c=d HTTP/1.1\r\n",
    },
    Case {
        words: &["--redact=token", "URL?a=b&token=SECRET-e3b0c442&c=d"],
        sent: "GET /?a=b&token=SECRET-e3b0c442&c=d HTTP/1.1\r\n",
    },
    Case {
        words: &["URLa?access_token=SECRET-e3b0c442", "URLSECRET-e3b0c442"],
        // A name made of the second path repeats what is a secret in the first.
        sent: "SECRET-e3b0c442 HTTP/1.1\r\n",
    },
];

/// Further formats, and their files.
const EXPORTS: [(&str, &str); 17] = [
    ("csv", "run.csv"),
    ("hgrm", "run.hgrm"),
    ("hlog", "run.hlog"),
    ("html", "run.html"),
    ("jsonl", "run.jsonl"),
    ("names", "run.names"),
    ("percentiles", "run.percentiles"),
    ("prometheus", "run.prometheus"),
    ("markdown", "run.markdown"),
    ("text", "run.text"),
    ("k6", "run.k6"),
    ("k6-flat", "run.k6-flat"),
    ("vegeta", "run.vegeta"),
    ("fortio", "run.fortio"),
    ("bencher", "run.bencher"),
    ("benchmark-smaller", "run.benchmark-smaller"),
    ("benchmark-bigger", "run.benchmark-bigger"),
];

/// Everything that a run printed, wrote and sent.
struct Left {
    output: Output,
    /// Written files: names and contents.
    files: Vec<(String, Vec<u8>)>,
    /// Heads and bodies of the requests that the server received.
    sent: Vec<String>,
}

/// Runs a load whose server responds with this head, and writes every file that weir can write.
fn run(case: &[&str], more: &[&str], answer: &'static str) -> Left {
    run_with(&[], case, more, answer)
}

/// As [`run`], with `files`, in whose contents the placeholder AUTHORITY may stand.
fn run_with(files: &[(&str, &str)], case: &[&str], more: &[&str], answer: &'static str) -> Left {
    let (sender, receiver) = mpsc::channel();
    let server = Raw::start(move |peer| {
        while let Some(head) = peer.read_request()? {
            let length = head.split("Content-Length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            let body = peer.read_body(length.unwrap_or(0))?;
            sender.send(head + &String::from_utf8_lossy(&body)).expect("the test waits");
            peer.write(answer)?;
        }
        Ok(())
    });
    let url = server.url();
    for (file, content) in files {
        let content = content.replace("AUTHORITY", server.authority());
        fs::write(file, content).expect("the directory is the test's own");
    }
    let words =
        case.iter().map(|word| word.replace("URL", &url).replace("AUTHORITY", server.authority()));
    let mut command = Command::new(WEIR);
    command.args(words).args(more);
    let (output, files) = outputs(&mut command);
    drop(server);
    Left { output, files, sent: receiver.iter().collect() }
}

/// Runs a load with every file that weir can write. Returns what it printed, and the files.
fn outputs(command: &mut Command) -> (Output, Vec<(String, Vec<u8>)>) {
    let directory = Directory::new();
    command.current_dir(directory.path());
    let files = ["-o", "run.json", "--raw", "rows.parquet", "--junit", "run.xml"];
    for (format, _) in EXPORTS {
        command.args(["--export", &format!("{format}=run.{format}")]);
    }
    command.args(["--save", "a", "--history", "history.db", "--github"]);
    command.env("GITHUB_STEP_SUMMARY", directory.file("summary.md"));
    command.env("LISTED", SECRET);
    command.args(files).args(["--assert", "errors == 0", "-n", "2", "-c1", "--witness", "off"]);
    let output = Process::start(command).wait();
    let read = |name: String| (name.clone(), fs::read(directory.file(&name)).expect("it is there"));
    let files = directory.names().into_iter().map(read).collect();
    (output, files)
}

impl Left {
    /// Checks that the credential was sent and is nowhere else.
    fn check(&self, sent: &str) {
        assert!(self.sent.len() >= 2, "{:?}", self.output);
        assert!(self.sent.iter().all(|head| head.contains(sent)), "{:?}", self.sent);
        let names: Vec<&str> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        let exported = EXPORTS.iter().map(|(_, name)| *name);
        let others = ["history.db", "rows.parquet", "run.json", "run.xml", "summary.md"];
        let mut expected: Vec<&str> = exported.chain(others).collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "{:?}", self.output);
        let Output { stdout, stderr, .. } = &self.output;
        let printed = [
            ("stdout".to_owned(), stdout.clone().into()),
            ("stderr".to_owned(), stderr.clone().into()),
        ];
        for (name, bytes) in self.files.iter().chain(&printed) {
            check_clean(name, bytes);
        }
    }

    fn file(&self, wanted: &str) -> &[u8] {
        let found = self.files.iter().find(|(name, _)| name == wanted);
        &found.expect("it was written").1
    }

    fn document(&self) -> Document {
        Document::from_json(self.file("run.json")).expect("it is a document")
    }
}

/// Checks that `bytes` contain neither the secret nor its form in basic authentication.
fn check_clean(name: &str, bytes: &[u8]) {
    for secret in [SECRET, "e3b0c442", "bWU6U0VDUkVULWUzYjBjNDQy"] {
        let is_in = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_in, "{secret} is in {name}: {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn credentials_are_sent_and_written_nowhere() {
    for case in &CASES {
        let left = run(case.words, &["--no-verdict"], crate::support::raw::OK);
        left.check(case.sent);
        assert_eq!(left.output.code(), 0, "{:?}: {:?}", case.words, left.output);
        let command = left.document().run.command.expect("it is known");
        assert!(command.iter().any(|word| word.contains("[redacted]")), "{command:?}");
        let metadata = parquet_metadata(&left);
        assert!(!metadata.is_empty(), "the plan is there");
        check_clean("metadata", metadata.as_bytes());
        assert!(!left.document().plan.url.contains('@'), "{}", left.document().plan.url);
    }
}

/// A list with the secret, the rows of `--rows`, and further words.
struct ListCase {
    list: &'static str,
    rows: &'static str,
    words: &'static [&'static str],
}

/// A row, a table and the environment with the secret.
const LISTS: [ListCase; 8] = [
    ListCase { list: r#"{"url": "/a?access_token=SECRET-e3b0c442"}"#, rows: "", words: &[] },
    ListCase {
        list: r#"{"url": "/a", "headers": {"Authorization": "Bearer SECRET-e3b0c442"}}"#,
        rows: "",
        words: &[],
    },
    ListCase { list: "http://me:SECRET-e3b0c442@AUTHORITY/a", rows: "", words: &[] },
    ListCase {
        list: r#"{"url": "/a", "body": "{\"password\": \"SECRET-e3b0c442\"}"}"#,
        rows: "",
        words: &[],
    },
    // Values may stand in names.
    ListCase { list: "/a/{{csv:password}}", rows: "password\nSECRET-e3b0c442\n", words: &[] },
    ListCase {
        list: "/a/{{csv:mine}}?b={{csv:mine}}",
        rows: "mine\nSECRET-e3b0c442\n",
        words: &["--redact", "mine"],
    },
    ListCase { list: "/a/{{env:LISTED}}", rows: "", words: &["--allow-local"] },
    // A name made of the second path repeats what is a secret in the first.
    ListCase {
        list: "/a?api_key=SECRET-e3b0c442\n/b/SECRET-e3b0c442\n",
        rows: "",
        words: &["--group", "GET /a"],
    },
];

/// A response that repeats the secret. It misses [`MISSED`], so that examples of it are kept.
const REPEATING: &str = "HTTP/1.1 200 OK\r\nX-Echo: SECRET-e3b0c442\r\nContent-Length: 27\r\n\r\n\
                         {\"echo\": \"SECRET-e3b0c442\"}";

/// Expectations that [`REPEATING`] misses.
const MISSED: [&str; 3] = ["header:x-echo=other", "json:/echo=other", "body~other"];

#[test]
fn credentials_of_lists_are_written_nowhere() {
    let given = Directory::new();
    for case in &LISTS {
        for expectation in [None].into_iter().chain(MISSED.map(Some)) {
            let list = given.file("list");
            let rows = given.file("rows.csv");
            let mut words = vec!["--from", &list, "URL"];
            if case.list.starts_with("http:") {
                words.pop();
            }
            if !case.rows.is_empty() {
                words.extend(["--rows", &rows]);
            }
            words.extend(expectation.iter().flat_map(|text| ["--expect", text]));
            let answer = if expectation.is_some() { REPEATING } else { crate::support::raw::OK };
            let files = [(list.as_str(), case.list), (&rows, case.rows)];
            let words = [&words, case.words].concat();
            let left = run_with(&files, &words, &["--no-verdict"], answer);
            // In basic authentication or as it is.
            let sent =
                if case.list.starts_with("http:") { "bWU6U0VDUkVULWUzYjBjNDQy" } else { SECRET };
            left.check(sent);
            let examples = &left.document().accounting.miss_examples;
            assert_eq!(examples.len(), usize::from(expectation.is_some()), "{:?}", left.output);
            check_clean("metadata", parquet_metadata(&left).as_bytes());
        }
    }
}

/// The protocol of a place's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    Http,
    WebSocket,
    Grpc,
}

/// Further places of a secret, with the protocol of the server. The last word is its URL; FILE is
/// a file with the text behind it.
const PLACES: [(Spoken, &[&str]); 21] = [
    (Spoken::Http, &["-b", r#"{"user": "a", "password": "SECRET-e3b0c442"}"#]),
    (Spoken::Http, &["-b", r#"{"id": {{seq}}, "token": "SECRET-e3b0c442"}"#]),
    (Spoken::Http, &["-b", "user=a&api_key=SECRET-e3b0c442"]),
    (Spoken::Http, &["-b", "<a><b:Password>SECRET-e3b0c442</b:Password></a>"]),
    (Spoken::Http, &["--form-field", "user=a", "--form-field", "password=SECRET-e3b0c442"]),
    (Spoken::Http, &["-H", "Sec-WebSocket-Protocol: SECRET-e3b0c442"]),
    (Spoken::Http, &["--note", "deploy-token=SECRET-e3b0c442"]),
    (Spoken::Http, &["--from", "FILE", "curl -u me:SECRET-e3b0c442 AUTHORITY"]),
    (
        Spoken::Http,
        &["--from", "FILE", "curl -H 'Authorization: Bearer SECRET-e3b0c442' AUTHORITY"],
    ),
    (Spoken::Http, &["--from", "FILE", "curl -H 'X-Api-Key: SECRET-e3b0c442' AUTHORITY"]),
    (Spoken::Http, &["--from", "FILE", "curl --oauth2-bearer SECRET-e3b0c442 AUTHORITY"]),
    (Spoken::Http, &["--from", "FILE", "curl -b 'id=SECRET-e3b0c442' AUTHORITY"]),
    (Spoken::Http, &["--from", "FILE", r#"curl -d '{"password": "SECRET-e3b0c442"}' AUTHORITY"#]),
    (Spoken::Http, &["--from", "FILE", "curl -d 'password=SECRET-e3b0c442' AUTHORITY"]),
    (Spoken::WebSocket, &["-b", "hi", "-H", "Sec-WebSocket-Protocol: chat, SECRET-e3b0c442"]),
    (Spoken::WebSocket, &["-b", "hi", "-HSec-WebSocket-Protocol:mqtt,SECRET-e3b0c442"]),
    (Spoken::WebSocket, &["-b", r#"{"type": "login", "token": "SECRET-e3b0c442"}"#]),
    (Spoken::WebSocket, &["-b", r#"{"id": {{seq}}, "token": "SECRET-e3b0c442"}"#]),
    (Spoken::Grpc, &["-b", r#"{"name": "a", "token": "SECRET-e3b0c442"}"#]),
    (Spoken::Grpc, &["-b", "{}", "-H", "authorization: Bearer SECRET-e3b0c442"]),
    (Spoken::Grpc, &["-b", "{}", "-H", "x-api-key: SECRET-e3b0c442"]),
];

const LOGIN: &str = "syntax = \"proto3\"; message Login { string name = 1; string token = 2; }
service Users { rpc In(Login) returns (Login); rpc Many(stream Login) returns (Login); }";

#[test]
fn no_place_of_a_secret_shows_it() {
    let given = Directory::new();
    let server = Served::plainly();
    let list = given.file("list");
    let proto = given.file("login.proto");
    fs::write(&proto, LOGIN).expect("the directory is the test's own");
    let authority = server.url().trim_start_matches("http://").to_owned();
    let many = r#"{"token": "SECRET-e3b0c442"} {"name": "b", "token": "SECRET-e3b0c442"}"#;
    let many: (Spoken, &[&str]) = (Spoken::Grpc, &["--grpc", "Users/Many", "-b", many]);
    for (spoken, words) in PLACES.into_iter().chain([many]) {
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if words[1] == "FILE" {
            let line = words.pop().expect("a line").replace("AUTHORITY", &server.url());
            fs::write(&list, line).expect("the directory is the test's own");
            words[1].clone_from(&list);
        } else {
            let scheme = if spoken == Spoken::WebSocket { "ws" } else { "http" };
            words.push(format!("{scheme}://{authority}"));
        }
        if spoken == Spoken::Grpc {
            words.extend(["--proto".to_owned(), proto.clone()]);
            if words[0] != "--grpc" {
                words.extend(["--grpc".to_owned(), "Users/In".to_owned()]);
            }
        }
        let (output, files) = outputs(Command::new(WEIR).args(&words).arg("--no-verdict"));
        assert_eq!(output.code(), 0, "{words:?}: {output:?}");
        assert!(files.len() > EXPORTS.len(), "{words:?}: {output:?}");
        for (name, bytes) in &files {
            check_clean(&format!("{name} of {words:?}"), bytes);
        }
        let left = Left { output, files, sent: Vec::new() };
        check_clean("metadata", parquet_metadata(&left).as_bytes());
        let command = left.document().run.command.expect("it is known");
        let is_there = words[1] == list || command.join(" ").contains("[redacted]");
        assert!(is_there, "{words:?}: {command:?}");
        for print in ["--print-plan", "--print-spec"] {
            let mut command = Command::new(WEIR);
            let output = Process::start(command.args(&words).arg(print)).wait();
            assert_eq!(output.code(), 0, "{print} {words:?}: {output:?}");
            // A list's content is none of the specification.
            check_clean(&format!("{print} {words:?}"), output.stdout.as_bytes());
            check_clean("stderr", output.stderr.as_bytes());
        }
        for (stream, text) in [("stdout", &left.output.stdout), ("stderr", &left.output.stderr)] {
            check_clean(&format!("{stream} of {words:?}"), text.as_bytes());
        }
    }
}

/// Key-value pairs of the rows' file, which may be encoded in it.
fn parquet_metadata(left: &Left) -> String {
    let directory = Directory::new();
    let path = directory.file("rows.parquet");
    fs::write(&path, left.file("rows.parquet")).expect("the directory is the test's own");
    let file = fs::File::open(&path).expect("it was just written");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let pairs = reader.metadata().file_metadata().key_value_metadata().cloned();
    pairs.unwrap_or_default().iter().map(|pair| format!("{pair:?}\n")).collect()
}

#[test]
fn reports_of_a_document_need_no_secret() {
    let left = run(&["-u", "me:SECRET-e3b0c442", "URL"], &[], crate::support::raw::OK);
    let directory = Directory::new();
    let file = directory.file("run.json");
    fs::write(&file, left.file("run.json")).expect("the directory is the test's own");
    for form in ["text", "json"] {
        let mut command = Command::new(WEIR);
        let output = Process::start(command.args(["report", "--format", form, &file])).wait();
        assert!(!output.stdout.is_empty() && output.code() == 0, "{output:?}");
        check_clean(form, output.stdout.as_bytes());
    }
}

#[test]
fn what_a_server_repeats_is_written_nowhere() {
    // A redirect that repeats the URL, as the preflight notes it.
    let answer = "HTTP/1.1 302 Found\r\nServer: SECRET-e3b0c442\r\nContent-Length: 0\r\n\
                  Location: http://me:SECRET-e3b0c442@h/?token=SECRET-e3b0c442\r\n\r\n";
    let words = ["--redact", "token", "-H", "Cookie: SECRET-e3b0c442", "URL?token=SECRET-e3b0c442"];
    let left = run(&words, &["--no-verdict"], answer);
    left.check("Cookie: SECRET-e3b0c442\r\n");
    assert!(left.output.stderr.contains("token=[redacted]"), "{:?}", left.output);
}

#[test]
fn the_plan_and_a_dialect_have_none_either() {
    let nowhere = "http://me:SECRET-e3b0c442@127.0.0.1:9/";
    let mut command = Command::new(WEIR);
    command.args(["--print-plan", "-H", "Cookie: SECRET-e3b0c442", nowhere]);
    let output = Process::start(&mut command).wait();
    assert_eq!(output.code(), 0, "{output:?}");
    check_clean("plan", output.stdout.as_bytes());
    assert!(output.stdout.contains("[redacted]"), "{output:?}");
}

#[test]
fn errors_repeat_no_credentials() {
    for words in [
        &["-H", "Authorization Bearer SECRET-e3b0c442", "http://h/"][..],
        &["-H", "Authorization:", "Bearer", "SECRET-e3b0c442", "http://h/"],
        &["-H", "Authorization : SECRET-e3b0c442", "http://h/"],
        &["-H", "Authorization: SECRET-e3b0c442\n", "http://h/"],
        &["-u", "SECRET-e3b0c442", "http://h/"],
        &["-u", "me:SECRET-e3b0c442", "-H", "Authorization: x", "http://h/"],
        &["-a", "me:SECRET-e3b0c442", "http://h/"],
        &["-A", "me:SECRET-e3b0c442", "http://h/"],
        &["-C", "a=SECRET-e3b0c442", "http://h/"],
        &["ftp://me:SECRET-e3b0c442@h/"],
        &["http://me:SECRET-e3b0c442@h:x/"],
        &["http://me:SECRET-e3b0c442/@h/"],
        &["http://me:SECRET-e3b0c442@no.such.host.invalid/"],
        &["--connect-to", "me:SECRET-e3b0c442@h:80", "http://h/"],
        &["-c", "http://me:SECRET-e3b0c442@h/"],
    ] {
        let mut command = Command::new(WEIR);
        let output = Process::start(command.args(words)).wait();
        // Wrong usage, or an unknown host.
        assert!([1, 2].contains(&output.code()), "{words:?}: {output:?}");
        assert!(output.stderr.starts_with("error: "), "{words:?}: {output:?}");
        check_clean("stderr", output.stderr.as_bytes());
    }
}

#[test]
fn errors_of_dialects_repeat_none_either() {
    for words in [
        &["http://me:SECRET-e3b0c442@/"][..],
        &["me:SECRET-e3b0c442@h"],
        &["http://me:SECRET -e3b0c442@h/"],
        &["http://me:SECRET-e3b0c442@h:x/"],
        &["http://me:SECRET-e3b0c442@no.such.host.invalid/"],
        &["-H", "Authorization SECRET-e3b0c442", "http://127.0.0.1:1/"],
        &["-H", "X-Mine SECRET-e3b0c442", "http://127.0.0.1:1/"],
        &["-s", "http://me:SECRET-e3b0c442@h/", "http://127.0.0.1:1/"],
        &["-d", "me:SECRET-e3b0c442@h", "http://127.0.0.1:1/"],
        &["-c", "me:SECRET-e3b0c442@h", "http://127.0.0.1:1/"],
        &["--bogus=http://me:SECRET-e3b0c442@h", "http://127.0.0.1:1/"],
    ] {
        let mut command = Command::new(WEIR);
        let output =
            Process::start(command.args(["--compat", "wrk", "-t1", "-c1", "-d1s"]).args(words))
                .wait();
        assert_eq!(output.code(), 1, "{words:?}: {output:?}");
        check_clean("stdout", output.stdout.as_bytes());
        check_clean("stderr", output.stderr.as_bytes());
    }
}

#[test]
fn credentials_are_written_for_those_who_must() {
    let words = ["--no-redact", "-H", "Cookie: SECRET-e3b0c442", "URL?token=SECRET-e3b0c442"];
    let left = run(&words, &["--no-verdict"], crate::support::raw::OK);
    let document = left.document();
    assert_eq!(document.plan.request.headers[0].value, SECRET);
    assert!(document.plan.url.contains(SECRET) && document.plan.target.path.contains(SECRET));
    let command = document.run.command.expect("it is known");
    assert!(command.iter().any(|word| word == "Cookie: SECRET-e3b0c442"), "{command:?}");
}

#[test]
fn flags_win_over_the_url() {
    for (words, sent) in [
        (["-u", "me:SECRET-e3b0c442", "http://you:other@AUTHORITY/"], BASIC),
        (["-H", "Authorization: mine", "http://you:other@AUTHORITY/"], "Authorization: mine\r\n"),
    ] {
        let left = run(&words, &["--no-verdict"], crate::support::raw::OK);
        let [head, ..] = &left.sent[..] else { panic!("{:?}", left.output) };
        assert!(head.contains(sent), "{head}");
        assert_eq!(head.matches("uthorization").count(), 1, "{head}");
    }
}

#[test]
fn a_script_has_them_and_files_do_not() {
    let directory = Directory::new();
    let file = directory.file("fails.lua");
    let text = "function response() error('bad ' .. wrk.headers['Authorization']) end";
    fs::write(&file, text).expect("the directory is the test's own");
    let left = run(&["-s", &file, "URL"], &["-u", "me:SECRET-e3b0c442"], crate::support::raw::OK);
    let document = left.document();
    let note = document.notes.iter().find(|note| note.code == "script_failed");
    assert!(
        note.is_some_and(|note| note.text.contains("bad Basic [redacted]")),
        "{:?}",
        document.notes
    );
    for (name, bytes) in &left.files {
        check_clean(name, bytes);
    }
}
