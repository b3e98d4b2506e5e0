//! Conversations with a language model: the server keeps each one as it has to be by now, and
//! compares the bytes of each request with it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::sync::{Arc, Mutex};

use weir_result::TokenTotals;
use weir_result::document::Results;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::raw::Raw;
use crate::support::weir::{self, Ran};

/// The answer to each message, as JSON has it, in pieces.
const PIECES: [&str; 4] = ["", r#"\"Yes\", he "#, r"said.\n\u0007", r"🎉\u00fc\\"];

/// The answer as it has to stand in the next request.
const ANSWER: &str = r#"{"role":"assistant","content":"\"Yes\", he said.\n\u0007🎉ü\\"}"#;

/// Requests that a model has seen.
#[derive(Debug, Default)]
struct Seen {
    /// Messages of each session, with commas between them.
    conversations: HashMap<String, String>,
    /// Requests by the number of their turn.
    turns: BTreeMap<usize, u64>,
    /// Requests whose bytes are not those of the conversation.
    wrong: Vec<String>,
}

/// Starts a model, whose users send the message of `message` in each turn, from 1.
fn model(message: fn(&str, usize) -> String) -> (Raw, Arc<Mutex<Seen>>) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let own = Arc::clone(&seen);
    let server = Raw::start(move |peer| {
        while let Some(head) = peer.read_request()? {
            let field = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_owned()).unwrap_or_default()
            };
            let body = peer.read_body(field("content-length").parse().unwrap_or(0))?;
            let id = field("x-session-id");
            let answer = {
                let mut seen = own.lock().expect("no connection panicked");
                seen.receive(&id, &String::from_utf8_lossy(&body), message)
            };
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
            peer.write(format!("{head}Content-Length: {}\r\n\r\n{answer}", answer.len()))?;
        }
        Ok(())
    });
    (server, seen)
}

impl Seen {
    /// Compares a request with its conversation, and returns the answer.
    fn receive(&mut self, id: &str, body: &str, message: fn(&str, usize) -> String) -> String {
        let known = self.conversations.entry(id.to_owned()).or_default();
        let turn = known.matches(ANSWER).count() + 1;
        *self.turns.entry(turn).or_default() += 1;
        if !known.is_empty() {
            known.push(',');
        }
        known.push_str(&message(id, turn));
        let expected = format!(r#"{{"model":"m","messages":[{known}]}}"#);
        if body != expected || id.len() != 36 {
            self.wrong.push(format!("{id}\n{body}\n{expected}"));
        }
        known.push(',');
        known.push_str(ANSWER);
        let mut answer = String::new();
        for piece in PIECES {
            let delta = format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#);
            let _infallible = write!(answer, "data: {delta}\n\n");
        }
        let usage = format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":5,
            "prompt_tokens_details":{{"cached_tokens":{}}}}}}}"#,
            10 * turn,
            10 * turn - 10
        );
        answer + &format!("data: {}\n\ndata: [DONE]\n\n", usage.replace('\n', " "))
    }
}

fn write(directory: &Directory, name: &str, text: &str) -> String {
    let file = directory.file(name);
    fs::write(&file, text).expect("the directory is the test's own");
    file
}

/// Results by name.
fn names(ran: &Ran) -> BTreeMap<&str, &Results> {
    ran.document.names.iter().map(|name| (&*name.name, &name.results)).collect()
}

const TOKENS: &str = "--tokens json:/choices/0/delta/content";

const CAPTURE: &str = "stream:json:/choices/0/delta/content";

/// A system message, and three turns of one step.
#[test]
fn a_conversation_arrives_byte_for_byte() {
    let step = |name: &str, message: &str, more: &str| {
        format!(
            "[[scenario.step]]\nname = \"{name}\"\nurl = \"/chat\"\n\
             headers = {{ X-Session-ID = \"{{{{session}}}}\" }}\nmessage = {message}\n\
             json = {{ model = \"m\", messages = \"{{{{history}}}}\" }}\n\
             capture = {{ history = \"{CAPTURE}\" }}\n{more}\n"
        )
    };
    let first = r#"[{ role = "system", content = "be \"brief\"" }, "row {{csv:q}}"]"#;
    let text = "[[scenario]]\nname = \"chat\"\n".to_owned()
        + &step("first", first, "")
        + &step("turn", "\"go on\"", "repeat = 3\nthink = \"1ms\"");
    let directory = Directory::new();
    let scenario = write(&directory, "chat.toml", &text);
    let rows = write(&directory, "rows.csv", "q\n\"a \"\"b\"\"\nc\"\n");
    on_an_engine(|engine| {
        for flags in ["", "-t 2 -R 400"] {
            let (server, seen) = model(|_, turn| match turn {
                1 => {
                    r#"{"role":"system","content":"be \"brief\""},"#.to_owned()
                        + r#"{"role":"user","content":"row a \"b\"\nc"}"#
                }
                _ => r#"{"role":"user","content":"go on"}"#.to_owned(),
            });
            let words = format!(
                "-c 4 -n 40 --warmup 0 --scenario {scenario} --rows {rows} {TOKENS} {flags} {}",
                server.url()
            );
            let ran = weir::load(engine, &words, &[]);
            ran.assert_all_ok();
            let seen = seen.lock().expect("no connection panicked");
            assert_eq!(seen.wrong, [""; 0], "{flags}");
            let all = |turn: usize| seen.turns[&turn];
            assert_eq!((all(1), all(2), all(3), all(4)), (40, 40, 40, 40), "{flags}: {ran}");
            assert_eq!(seen.conversations.len(), 40, "{flags}: {ran}");
            let names = names(&ran);
            for (turn, name) in (1..).zip(["first", "turn 1", "turn 2", "turn 3"]) {
                let results = names[name].messages.as_ref().expect("they have messages");
                let requests = names[name].planned;
                let expected = TokenTotals {
                    responses: requests,
                    input: 10 * turn * requests,
                    cached: 10 * (turn - 1) * requests,
                    output: 5 * requests,
                    reasoning: 0,
                };
                assert_eq!(results.totals, Some(expected), "{flags}: {name}: {ran}");
            }
            for part in ["% of them cached", "Tokens by step", "Prompt length", "32–63"] {
                assert!(ran.text.contains(part), "{part}: {ran}");
            }
        }
    });
}

/// Sessions whose turns are mixed in the list, of one to three turns each. Their messages are sent
/// as they were recorded.
#[test]
fn a_list_keeps_the_order_within_each_session() {
    let mut list = String::new();
    for turn in 1..=3 {
        for session in 0..30 {
            if turn <= session % 3 + 1 {
                let capture = format!("{{\"history\": \"{CAPTURE}\"}}");
                let message = format!("{{{{seq}}}} {turn}");
                let _infallible = writeln!(
                    list,
                    r#"{{"session": {session}, "message": "{message}", "capture": {capture}}}"#
                );
            }
        }
    }
    let directory = Directory::new();
    let list = write(&directory, "sessions.jsonl", &list);
    on_an_engine(|engine| {
        for flags in ["--order once", "--order once -t 2 -R 500", "--order random --seed 3 -n 60"] {
            let (server, seen) =
                model(|_, turn| format!(r#"{{"role":"user","content":"{{{{seq}}}} {turn}"}}"#));
            let words = format!("-c 4 --from {list} {TOKENS} {flags}");
            let body = r#"{"model":"m","messages":"{{history}}"}"#;
            let more =
                ["-b", body, "-H", "X-Session-ID: {{session}}", &format!("{}chat", server.url())];
            let ran = weir::load(engine, &words, &more);
            ran.assert_all_ok();
            let seen = seen.lock().expect("no connection panicked");
            assert_eq!(seen.wrong, [""; 0], "{flags}");
            let session = ran.document.names.iter().find(|name| name.is_of_users());
            let session = session.expect("sessions have a name");
            let reached: Vec<u64> = session.steps.iter().map(|step| step.counts.reached).collect();
            assert_eq!(reached, seen.turns.values().copied().collect::<Vec<_>>(), "{flags}: {ran}");
            if flags.contains("once") {
                assert_eq!(reached, [30, 20, 10], "{flags}: {ran}");
                assert_eq!(session.steps[2].counts.skipped, 20, "{flags}: {ran}");
                assert_eq!(session.results.outcomes.ok, 30, "{flags}: {ran}");
            }
            assert!(ran.text.contains("30 sessions of 60 steps"), "{flags}: {ran}");
        }
    });
}

#[test]
fn what_no_conversation_can_be_is_refused() {
    let directory = Directory::new();
    let check = |name: &str, text: &str, flags: &str, more: &[&str], expected: &str| {
        let file = write(&directory, name, text);
        let words = format!("{flags} {file} http://127.0.0.1:1/");
        let ran = weir::weir(&words, more);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    };
    let step = "[[scenario]]\nname = \"s\"\n[[scenario.step]]\nname = \"a\"\nurl = \"/\"\n";
    let of = |more: &str, expected: &str| {
        check("a.toml", &format!("{step}{more}\n"), "--scenario", &[], expected);
    };
    of("message = \"x\"", "line 3: its message is sent nowhere: put {{history}} into its body");
    of("message = \"x\"\njson = { a = 1 }", "its message is sent nowhere");
    of("headers = { a = \"{{history}}\" }", "{{history}} is an array of JSON");
    of("form = { a = \"{{history}}\" }", "{{history}} is an array of JSON");
    of("capture = { history = \"json:/a\" }", "line 6: step \"a\": `capture` \"history\" is the");
    let list = |text: &str, more: &[&str], expected: &str| {
        check("a.jsonl", text, "--from", more, expected);
    };
    let row = r#"{"session": 1, "message": "x"}"#;
    list(row, &[], "line 1: its message is sent nowhere");
    list(&format!("{row}\n{row}"), &["-b", r#"{"m":{{history}}}"#], "line 2: the conversation has");
    list(&format!("{row}\n{{\"url\": \"/\"}}"), &[], "line 2: it has no `session`");
    list(r#"{"url": "/{{session}}"}"#, &[], "stands in the steps of a scenario");
}
