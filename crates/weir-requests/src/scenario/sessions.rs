//! Sessions of a list: the rows with one id are the turns of one user, in the order of the list.

use std::collections::HashMap;

use crate::list::{Row, RowError, SessionTurn};
use crate::scenario::conversation::take_answer;
use crate::scenario::known_values::{KnownValues, mark_parts};
use crate::scenario::{
    CaptureRule, Scenario, ScenarioStep, Scenarios, SentIn, ThinkTime, ValueSource,
};

/// Name under which all sessions of a list count.
const SESSION: &str = "session";

impl Scenarios {
    /// Returns the sessions of a list, each as a scenario of its rows, which are named by their
    /// turn unless they have names; `None` if the list has no sessions.
    ///
    /// # Errors
    /// If a row has no session while others have one, or sends what no row before it captures.
    pub fn of_sessions(rows: &mut [Row]) -> Result<Option<Scenarios>, RowError> {
        if rows.iter().all(|row| row.turn.is_none()) {
            return Ok(None);
        }
        let mut sessions = Sessions::default();
        for (index, row) in rows.iter_mut().enumerate() {
            let turn = row.turn.clone();
            let added = turn.ok_or_else(|| "it has no `session`, which other rows have".to_owned());
            let added = added.and_then(|turn| sessions.add(index, row, *turn));
            added.map_err(|text| RowError::new(row.position, text))?;
        }
        let Sessions { mut read, .. } = sessions;
        let Scenarios { all, values, .. } = &mut read;
        let steps = all.iter_mut().flat_map(|session| &mut session.steps);
        let mut sent: Vec<&mut Row> = rows.iter_mut().collect();
        mark_parts(&mut sent, values, steps.flat_map(|step| &mut step.captures))?;
        Ok(Some(read))
    }
}

/// Sessions, as far as they are read.
#[derive(Debug, Default)]
struct Sessions {
    read: Scenarios,
    /// Values and conversation that the user has after the last turn of each.
    known: Vec<KnownValues>,
    /// Place of each id.
    places: HashMap<String, usize>,
}

impl Sessions {
    /// Adds a row.
    fn add(&mut self, index: usize, row: &mut Row, turn: SessionTurn) -> Result<(), String> {
        let SessionTurn { session, think, captures } = turn;
        let Sessions { read, known, places } = self;
        if row.weight != 1 {
            return Err("`weight` has no effect: each session is sent once in a pass".to_owned());
        }
        let place = *places.entry(session).or_insert_with(|| {
            known.push(KnownValues::default());
            read.all.push(Scenario { name: SESSION.to_owned(), weight: 1, steps: Vec::new() });
            read.are_sessions = true;
            read.all.len() - 1
        });
        known[place].check(row, None, &read.values)?;
        let think = think.map(|text| text.parse::<ThinkTime>()).transpose();
        let think = think.map_err(|why| format!("`think` {why}"))?.unwrap_or_default();
        let source = |(name, source): (String, String)| {
            let parsed = ValueSource::named(&name, &source);
            parsed
                .map(|source| (name.clone(), source))
                .map_err(|why| format!("`capture` {name:?}: {why}"))
        };
        let mut captures = captures.into_iter().map(source).collect::<Result<Vec<_>, _>>()?;
        let answer = take_answer(&mut captures, row).map_err(|why| format!("`capture` {why}"))?;
        let captures = rules(captures, read)?;
        let steps = &mut read.all[place].steps;
        let name = format!("turn {}", steps.len() + 1);
        let step = ScenarioStep {
            row: u16::try_from(index).map_err(|_| "these are more rows than 65,536".to_owned())?,
            think,
            repeat: 1,
            chance: 1.0,
            captures,
            answer,
            name: name.clone(),
            ..ScenarioStep::default()
        };
        known[place].add(&step, row);
        steps.push(step);
        row.name.get_or_insert(name);
        Ok(())
    }
}

/// Returns the rules of captures, and numbers the values that are new.
fn rules(
    captures: Vec<(String, ValueSource)>,
    read: &mut Scenarios,
) -> Result<Vec<CaptureRule>, String> {
    let rule = |(name, source): (String, ValueSource)| {
        let value = read.number_of_value(&name);
        let value = value.map_err(|why| format!("`capture` {name:?}: {why}"))?;
        Ok(CaptureRule { value, source, sent_in: SentIn::default() })
    };
    captures.into_iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::RowReader;

    fn read(list: &str) -> Result<(Vec<Row>, Option<Scenarios>), RowError> {
        let mut reader = RowReader::open(list.as_bytes(), None)?;
        let mut rows = Vec::new();
        while let Some(row) = reader.take()? {
            rows.push(row);
        }
        let sessions = Scenarios::of_sessions(&mut rows)?;
        Ok((rows, sessions))
    }

    #[test]
    fn rows_with_one_id_are_turns_in_order() {
        let list = |captures: &str| {
            [
                r#"{"session": "a", "url": "/c", "message": "1", "think": "2s", "capture": {"#,
                captures,
                "}}\n",
                r#"{"session_id": 7, "url": "/c", "message": "x"}"#,
                "\n",
                r#"{"session": "a", "message": "2", "headers": {"K": "{{user.k}}"}, "name": "z"}"#,
            ]
            .concat()
        };
        let history = r#""history": "stream:json:/d""#;
        assert_eq!(read(&list(history)).expect_err("no k").position, 3.into());
        let both = format!(r#"{history}, "k": "header:k""#);
        let (rows, sessions) = read(&list(&both)).expect("sessions");
        let sessions = sessions.expect("sessions");
        let of = |session: usize| {
            let steps = &sessions.all[session].steps;
            steps.iter().map(|step| (step.row, step.name.clone())).collect::<Vec<_>>()
        };
        assert_eq!(of(0), [(0, "turn 1".to_owned()), (2, "turn 2".to_owned())]);
        assert_eq!(of(1), [(1, "turn 1".to_owned())]);
        let names: Vec<_> = rows.iter().map(|row| row.name.as_deref()).collect();
        assert_eq!(names, [Some("turn 1"), Some("turn 1"), Some("z")]);
        assert_eq!(rows[2].target, "");
        assert_eq!(rows[1].message.as_deref(), Some(r#"{"role":"user","content":"x"}"#));
        let first = &sessions.all[0].steps[0];
        assert_eq!(first.think, ThinkTime::Fixed(2_000_000_000));
        assert!(first.answer.is_some() && first.captures[0].sent_in == SentIn::Header);
        assert_eq!((sessions.counted(), sessions.places(), sessions.place_of(0, 1)), (1, 2, 1));
    }

    #[test]
    fn errors_name_the_line() {
        let check = |list: &str, line: u64, part: &str| {
            let error = read(list).expect_err(list);
            assert_eq!(error.position, line.into(), "{list}: {error}");
            assert!(error.text.contains(part), "{list}: {error}");
        };
        let row = r#"{"session": "a", "url": "/", "message": "x"}"#;
        check(&format!("{row}\n{{\"url\": \"/\"}}"), 2, "it has no `session`");
        check(&format!("{row}\n{row}"), 2, "no answer to the message of \"turn 1\"");
        check(r#"{"session": "a", "url": "/", "weight": 2}"#, 1, "`weight` has no effect");
        check(r#"{"session": "a", "capture": {"x": "y"}}"#, 1, "is no place of a value");
        check(r#"{"session": "a", "capture": {"history": "json:/a"}}"#, 1, "give the step a");
        check(r#"{"url": "/", "message": "x"}"#, 1, "`message` is part of a session");
        check(r#"{"url": "/", "think": "1s"}"#, 1, "`think` is part of a session");
        check(r#"{"session": "a", "think": "soon"}"#, 1, "`think`");
        check(r#"{"session": "a", "message": 3}"#, 1, "`message` must be a text");
        let none = read(r#"{"url": "/"}"#).expect("rows").1;
        assert!(none.is_none());
    }
}
