//! The loads of conversations: their flags, and the list of sessions. It judges nothing.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use crate::rig::Fixture;

/// Turns of each conversation.
pub(super) const TURNS: u64 = 5;

/// Users or sessions that arrive per second in an open loop.
const RATE_RPS: u64 = 20;

/// Sessions of one turn behind all others in the list, so that these end within the window.
const SHORT_SESSIONS: u64 = 40;

/// Conversations of each load of a quick run.
const QUICK: u64 = 20;

const CHAT: &str = "--tokens json:/choices/0/delta/content";
const THINKING: &str = "--tokens json:/choices/0/delta/reasoning_content \
                        --tokens json:/choices/0/delta/content";

/// Body of the requests of sessions, without blanks, at which flags are split.
const BODY: &str = concat!(
    r#"{"model":"plain","stream":true,"stream_options":{"include_usage":true},"#,
    r#""messages":{{history}}}"#
);

/// A load before its start.
pub(super) struct ConversationLoad {
    pub(super) name: &'static str,
    kind: LoadKind,
    /// Flags that name the places of tokens.
    tokens: &'static str,
    /// Conversations of five turns.
    conversations: u64,
}

/// The origin of users, and when they arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoadKind {
    /// A file of scenarios, in a closed loop.
    Closed(&'static str),
    /// A file of scenarios, in an open loop on two threads.
    Open(&'static str),
    /// A list of sessions, in an open loop.
    Sessions,
}

pub(super) const LOADS: [ConversationLoad; 6] = [
    ConversationLoad {
        name: "chat completions",
        kind: LoadKind::Closed("chat.toml"),
        tokens: CHAT,
        conversations: 250,
    },
    ConversationLoad {
        name: "responses",
        kind: LoadKind::Closed("responses.toml"),
        tokens: "--tokens json:/delta",
        conversations: 150,
    },
    ConversationLoad {
        name: "messages of Anthropic",
        kind: LoadKind::Closed("anthropic.toml"),
        tokens: "--tokens json:/delta/text",
        conversations: 150,
    },
    ConversationLoad {
        name: "a model that thinks",
        kind: LoadKind::Closed("thinking.toml"),
        tokens: THINKING,
        conversations: 150,
    },
    ConversationLoad {
        name: "chat completions, a list of sessions",
        kind: LoadKind::Sessions,
        tokens: CHAT,
        conversations: 200,
    },
    ConversationLoad {
        name: "chat completions, two threads",
        kind: LoadKind::Open("chat.toml"),
        tokens: CHAT,
        conversations: 200,
    },
];

impl ConversationLoad {
    /// Returns the path of the URL. Those of a file are in its steps.
    pub(super) fn path(&self) -> &'static str {
        match self.kind {
            LoadKind::Sessions => "/v1/chat/completions",
            LoadKind::Closed(_) | LoadKind::Open(_) => "/",
        }
    }

    /// True if the window lasts until all responses have ended.
    pub(super) fn has_all_in_window(&self) -> bool {
        self.kind != LoadKind::Sessions
    }

    /// Returns the number of conversations of five turns.
    pub(super) fn conversations(&self, fixture: &Fixture) -> u64 {
        fixture.span(self.conversations, QUICK)
    }

    /// Returns the file of its conversations, and writes that of sessions.
    pub(super) fn source(&self, fixture: &Fixture) -> Result<PathBuf> {
        match self.kind {
            LoadKind::Closed(name) | LoadKind::Open(name) => Ok(scenario_file(name)),
            LoadKind::Sessions => {
                let path = fixture.directory.join("sessions.jsonl");
                let list = sessions(self.conversations(fixture));
                fs::write(&path, list).context("failed to write a list of sessions")?;
                Ok(path)
            }
        }
    }

    /// Returns weir's flags for this file and so many conversations. All requests have to be of the
    /// window: a closed loop ends with the last of them, and two seconds without arrivals follow
    /// those of the open one.
    pub(super) fn flags(&self, source: &str, conversations: u64) -> String {
        let load = match self.kind {
            LoadKind::Closed(_) => {
                format!("-t1 -c8 -n {conversations} --warmup 0 --scenario {source}")
            }
            LoadKind::Open(_) => format!(
                "-t2 -c60 --stages {}s@{RATE_RPS},2s@0 --warmup 0 --scenario {source}",
                conversations / RATE_RPS
            ),
            LoadKind::Sessions => format!(
                "-t1 -c60 -R {RATE_RPS} --order once --from {source} \
                 -H X-Session-ID:{{{{session}}}} -H Content-Type:application/json -b {BODY}"
            ),
        };
        format!("{load} --drain 20s --witness off --seed 44 {}", self.tokens)
    }
}

/// Returns the place of a file of scenarios, from the root of the repository.
pub(super) fn scenario_file(name: &str) -> PathBuf {
    PathBuf::from("lab/src/accuracy/conversations").join(name)
}

/// Returns the list of sessions as JSON lines. Turns of one are among those of others.
fn sessions(conversations: u64) -> String {
    let long = (0..conversations).flat_map(|session| (0..TURNS).map(move |turn| (session, turn)));
    let mut rows: Vec<(u64, u64)> = long.collect();
    rows.sort_by_key(|(session, turn)| session + 7 * turn);
    rows.extend((conversations..conversations + SHORT_SESSIONS).map(|session| (session, 0)));
    let line = |(session, turn): (u64, u64)| {
        let row = json!({
            "session": format!("s{session}"),
            "message": format!("session {session} turn {turn} \"q\" ü\nline"),
            "capture": {"history": "stream:json:/choices/0/delta/content"},
            "think": "5ms",
        });
        format!("{row}\n")
    };
    rows.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_kind_of_load_has_its_flags() {
        let check = |kind, expected: &str| {
            let load = ConversationLoad { name: "", kind, tokens: CHAT, conversations: 200 };
            let flags = load.flags("F", 200);
            let rest = format!("--drain 20s --witness off --seed 44 {CHAT}");
            assert_eq!(flags, format!("{expected} {rest}"), "{kind:?}");
        };
        check(LoadKind::Closed("a"), "-t1 -c8 -n 200 --warmup 0 --scenario F");
        check(LoadKind::Open("a"), "-t2 -c60 --stages 10s@20,2s@0 --warmup 0 --scenario F");
        let words = LOADS[4].flags("F", 200);
        let words: Vec<&str> = words.split_whitespace().collect();
        assert!(words.contains(&"X-Session-ID:{{session}}") && words.contains(&BODY));
    }

    #[test]
    fn sessions_are_mixed_and_in_order() {
        let list = sessions(20);
        let rows: Vec<Value> =
            list.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(rows.len() as u64, 20 * TURNS + SHORT_SESSIONS);
        let of = |session: &str| -> Vec<usize> {
            let rows = rows.iter().enumerate();
            rows.filter(|(_, row)| row["session"] == session).map(|(place, _)| place).collect()
        };
        assert_eq!((of("s0").len(), of("s19").len(), of("s20").len()), (5, 5, 1));
        assert!(of("s0")[1] > of("s1")[0] && of("s0")[1] < of("s19")[4]);
        let turns = of("s3").into_iter().map(|place| rows[place]["message"].clone());
        let expected = (0..5).map(|turn| json!(format!("session 3 turn {turn} \"q\" ü\nline")));
        assert!(turns.eq(expected));
    }
}
