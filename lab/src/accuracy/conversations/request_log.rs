//! The log of the mock model: the rules that requests broke, and the tokens and times of each. It
//! knows nothing of weir.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::accuracy::interop::server::{ServerLog, number, text};

/// The log, read.
#[derive(Clone, Debug)]
pub(super) struct RequestLog {
    /// Libraries of the server.
    pub(super) versions: String,
    /// The difference of its clocks: UNIX time less that of the log.
    pub(super) unix_less_monotonic_ns: u64,
    /// Sessions that sent a request at least.
    pub(super) sessions: u64,
    pub(super) breaches: Vec<RuleBreach>,
    /// All requests that were understood.
    pub(super) requests: u64,
    /// Those whose response went out as a whole.
    pub(super) completed: Vec<CompletedRequest>,
}

/// A rule that requests broke.
#[derive(Clone, Debug)]
pub(super) struct RuleBreach {
    pub(super) rule: String,
    pub(super) requests: u64,
    example: String,
}

/// A request and its response. A pair of times is before and after a write.
#[derive(Clone, Debug)]
pub(super) struct CompletedRequest {
    pub(super) session: String,
    /// Turn of the conversation, from 1.
    pub(super) turn: u64,
    pub(super) received_ns: u64,
    /// Write of the first chunk, of the reasoning or else of the answer.
    pub(super) first_ns: [u64; 2],
    /// Write of the last chunk.
    pub(super) last_ns: [u64; 2],
    /// Writes behind the last chunk, with the count of tokens among them.
    pub(super) end_ns: [u64; 2],
    pub(super) prompt_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) tokens: u64,
    pub(super) reasoning_tokens: u64,
    pub(super) chunks: u64,
}

impl RequestLog {
    /// Reads the log of a server that has ended.
    pub(super) fn read(log: &ServerLog) -> Result<RequestLog> {
        let head = &log.counters;
        let broken = head["broken"].as_object().context("the log has no rules")?;
        let breach = |rule: &String| {
            let requests = number(&head["broken"], rule)?;
            let example = text(&head["examples"], rule)?.to_owned();
            Ok(RuleBreach { rule: rule.clone(), requests, example })
        };
        let completed = log.lines.iter().filter(|line| line["completed"] == true);
        Ok(RequestLog {
            versions: log.versions.clone(),
            unix_less_monotonic_ns: number(head, "unix_less_monotonic_ns")?,
            sessions: number(head, "sessions")?,
            breaches: broken.keys().map(breach).collect::<Result<_>>()?,
            requests: log.lines.len() as u64,
            completed: completed.map(CompletedRequest::read).collect::<Result<_>>()?,
        })
    }

    /// Returns the number of conversations with so many completed turns.
    pub(super) fn conversations_of(&self, turns: u64) -> u64 {
        let mut by_session: BTreeMap<&str, u64> = BTreeMap::new();
        for request in &self.completed {
            *by_session.entry(&request.session).or_default() += 1;
        }
        by_session.values().filter(|count| **count == turns).count() as u64
    }

    /// Plants a token that was not sent.
    pub(super) fn plant_token(&mut self) {
        self.completed.iter_mut().take(1).for_each(|request| request.tokens += 1);
    }

    /// Forgets a request.
    pub(super) fn plant_loss(&mut self) {
        self.completed.pop();
    }

    /// Moves the first tokens 3 ms forward.
    pub(super) fn plant_first(&mut self) {
        for request in &mut self.completed {
            request.first_ns = request.first_ns.map(|ns| ns - 3_000_000);
        }
    }
}

impl RuleBreach {
    /// Describes the rule with the first request that broke it.
    pub(super) fn describe(&self) -> String {
        format!("{} broke the rule of {}: {}", self.requests, self.rule, self.example)
    }
}

impl CompletedRequest {
    fn read(line: &Value) -> Result<CompletedRequest> {
        let pair = |name: &str| -> Result<[u64; 2]> {
            let [before, after] = [0, 1].map(|place| line[name][place].as_u64());
            let pair = before.zip(after).map(|(before, after)| [before, after]);
            pair.with_context(|| format!("a line of the log has no {name}: {line}"))
        };
        let count = |name: &str| number(line, name);
        let is_thinking = !line["reasoning_ns"].is_null();
        Ok(CompletedRequest {
            session: text(line, "session")?.to_owned(),
            turn: count("turn")?,
            received_ns: count("received_ns")?,
            first_ns: pair(if is_thinking { "reasoning_ns" } else { "first_ns" })?,
            last_ns: pair("last_ns")?,
            end_ns: pair("end_ns")?,
            prompt_tokens: count("prompt_tokens")?,
            cached_tokens: count("cached_tokens")?,
            tokens: count("tokens")?,
            reasoning_tokens: count("reasoning_tokens")?,
            chunks: count("chunks")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(session: &str, turn: u64, reasoning_ns: Value) -> Value {
        json!({
            "session": session, "turn": turn, "completed": true, "received_ns": 5_000_000,
            "reasoning_ns": reasoning_ns, "first_ns": [9_000_000, 9_000_001],
            "last_ns": [9_500_000, 9_500_001], "end_ns": [9_500_002, 9_500_009], "tokens": 7,
            "reasoning_tokens": 2, "chunks": 3, "prompt_tokens": 11, "cached_tokens": 4,
        })
    }

    fn log() -> ServerLog {
        let counters = json!({
            "unix_less_monotonic_ns": 17, "sessions": 2, "broken": {"bytes": 1},
            "examples": {"bytes": "received '[ ', expected '['"},
        });
        let lines = vec![
            line("a", 1, Value::Null),
            line("b", 1, json!([8_000_000, 8_000_001])),
            line("a", 2, Value::Null),
            json!({"session": "b", "completed": false, "end_ns": null}),
        ];
        ServerLog { versions: "aiohttp 1".to_owned(), counters, lines }
    }

    #[test]
    fn a_log_is_read() {
        let log = RequestLog::read(&log()).expect("a log");
        assert_eq!((log.requests, log.completed.len(), log.sessions), (4, 3, 2));
        let firsts: Vec<u64> = log.completed.iter().map(|request| request.first_ns[0]).collect();
        assert_eq!(firsts, [9_000_000, 8_000_000, 9_000_000]);
        let CompletedRequest { turn, prompt_tokens, cached_tokens, tokens, .. } = log.completed[2];
        assert_eq!((turn, prompt_tokens, cached_tokens, tokens), (2, 11, 4, 7));
        assert_eq!((log.conversations_of(1), log.conversations_of(2)), (1, 1));
        let [breach] = &log.breaches[..] else { panic!("one rule") };
        assert_eq!(
            (breach.requests, breach.describe().as_str()),
            (1, "1 broke the rule of bytes: received '[ ', expected '['")
        );
    }

    #[test]
    fn a_line_without_times_is_an_error() {
        let mut log = log();
        log.lines[0]["last_ns"] = Value::Null;
        let error = RequestLog::read(&log).expect_err("a line lacks a time");
        assert!(error.to_string().contains("no last_ns"), "{error}");
    }

    #[test]
    fn planted_errors_change_the_log() {
        let mut log = RequestLog::read(&log()).expect("a log");
        log.plant_token();
        log.plant_first();
        log.plant_loss();
        assert_eq!((log.completed.len(), log.completed[0].tokens), (2, 8));
        assert_eq!(log.completed[0].first_ns, [6_000_000, 6_000_001]);
    }
}
