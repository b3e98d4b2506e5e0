//! The file of scenarios, in TOML.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use weir_text::units::parse_duration_ns;

use crate::list::{NAMES_MAX, Row, RowBody, RowError, decoded};
use crate::scenario::conversation::{TURNS_MAX, messages, take_answer};
use crate::scenario::file_value::{
    FileTable, FileText, form, json, number, text, texts, whole, words,
};
use crate::scenario::known_values::{KnownValues, check_setup, mark_parts};
use crate::scenario::{
    CaptureRule, Scenario, ScenarioStep, Scenarios, SentIn, StepCondition, ThinkTime, ValueSource,
};

/// Keys of a scenario.
const SCENARIO_KEYS: [&str; 3] = ["name", "weight", "step"];

/// Keys of a request, and what is made of its response: those of a step of the setup.
const REQUEST_KEYS: [&str; 11] = [
    "name",
    "url",
    "method",
    "headers",
    "body",
    "body_base64",
    "body_file",
    "form",
    "json",
    "expect",
    "capture",
];

/// Keys of a user's step beyond those.
const STEP_KEYS: [&str; 5] = ["message", "think", "repeat", "chance", "when"];

/// Keys of the file.
const FILE_KEYS: [&str; 3] = ["scenario", "setup", "refresh"];

/// Least time between two runs of the setup, in nanoseconds.
const REFRESH_MIN_NS: u64 = 100_000_000;

/// Keys of which a step has at most one: they give its body.
const BODY_KEYS: [&str; 5] = ["body", "body_base64", "body_file", "form", "json"];

/// Greatest weight of a scenario.
const WEIGHT_MAX: u32 = 1_000_000;

/// Greatest number of turns at a step.
const REPEAT_MAX: u32 = 10_000;

/// Longest name of a scenario or a step, in bytes.
const NAME_MAX_BYTES: usize = 100;

/// A file of scenarios, read.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The requests of the steps of all scenarios, in the order of the file.
    pub rows: Vec<Row>,
    /// The scenarios.
    pub scenarios: Scenarios,
    /// Requests that are sent once before the load; their captures are the first values.
    pub setup: Setup,
}

/// Requests that are sent before the load, whose captures all users share.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Each with its captures, in order.
    pub steps: Vec<(Row, Vec<CaptureRule>)>,
    /// Time after which they are sent again, in nanoseconds; `None` for never.
    pub refresh_ns: Option<u64>,
}

impl ScenarioFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is no TOML, has an unknown key or a wrong value, or a step uses a value that it may
    /// not have. The error names the line, the step and the key.
    pub fn parse(text: &str) -> Result<ScenarioFile, RowError> {
        let file = FileText(text);
        let document = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            file.error(at, error.message().trim())
        })?;
        let whole = FileTable::new(file, document.get_ref(), 0, "", &FILE_KEYS)?;
        let tables = whole.tables("scenario")?;
        if tables.is_empty() {
            return Err(RowError::new(1, "it has no [[scenario]]"));
        }
        let mut reader = FileReader { file, read: ScenarioFile::empty() };
        reader.setup(&whole)?;
        for (at, table) in &tables {
            reader.scenario(*at, table, tables.len() > 1)?;
        }
        let names = reader.read.rows.len() + tables.len();
        if names > NAMES_MAX {
            let text = format!("its steps and scenarios are {names}; at most {NAMES_MAX}");
            return Err(RowError::new(1, text));
        }
        reader.read.mark_parts()?;
        Ok(reader.read)
    }

    fn empty() -> ScenarioFile {
        ScenarioFile { rows: Vec::new(), scenarios: Scenarios::default(), setup: Setup::default() }
    }

    /// Gives each capture the part of requests in which it is sent.
    fn mark_parts(&mut self) -> Result<(), RowError> {
        let ScenarioFile { rows, scenarios, setup } = self;
        let Scenarios { all, values, .. } = scenarios;
        let mut sent: Vec<&mut Row> = rows.iter_mut().collect();
        let mut captures: Vec<&mut CaptureRule> = Vec::new();
        for (row, of_setup) in &mut setup.steps {
            sent.push(row);
            captures.extend(of_setup);
        }
        let steps = all.iter_mut().flat_map(|scenario| &mut scenario.steps);
        captures.extend(steps.flat_map(|step| &mut step.captures));
        mark_parts(&mut sent, values, captures.into_iter())
    }
}

/// A file that is being read.
struct FileReader<'t> {
    file: FileText<'t>,
    read: ScenarioFile,
}

impl<'t> FileReader<'t> {
    /// Reads the requests before the load, and the time after which they are sent again.
    fn setup(&mut self, whole: &FileTable<'t>) -> Result<(), RowError> {
        let mut known = KnownValues::default();
        for (at, table) in whole.tables("setup")? {
            let mut table = FileTable::new(self.file, table, at, "a setup step", &REQUEST_KEYS)?;
            let name = self.name(&table)?;
            table.name = format!("setup step {name:?}");
            let row = Row { name: Some(name), ..self.row(&table)? };
            let checked = known.check(&row, None, &self.read.scenarios.values);
            let checked = checked.and_then(|()| check_setup(&row));
            checked.map_err(|text| table.error(table.at, text))?;
            let mut named = named_captures(&table)?;
            take_answer(&mut named, &row).map_err(|text| table.wrong("capture", text))?;
            let captures = self.captures(&table, named)?;
            known.certain.extend(captures.iter().map(|capture| capture.value));
            self.read.setup.steps.push((row, captures));
        }
        let refresh = whole.read("refresh", |value| {
            let span_ns = parse_duration_ns(&text(value)?).map_err(|error| error.to_string())?;
            let is_short = span_ns < REFRESH_MIN_NS;
            if is_short { Err("must be at least 100ms".to_owned()) } else { Ok(span_ns) }
        })?;
        if refresh.is_some() && self.read.setup.steps.is_empty() {
            return Err(whole.wrong("refresh", "has no [[setup]] to send again"));
        }
        self.read.setup.refresh_ns = refresh;
        Ok(())
    }

    /// Reads a scenario, one of several or the only one.
    fn scenario(
        &mut self,
        at: usize,
        table: &'t DeTable<'t>,
        is_one_of_several: bool,
    ) -> Result<(), RowError> {
        let mut table = FileTable::new(self.file, table, at, "a scenario", &SCENARIO_KEYS)?;
        let name = self.name(&table)?;
        if self.read.scenarios.all.iter().any(|other| other.name == name) {
            return Err(table.wrong("name", format!("{name:?} is that of another scenario")));
        }
        table.name = format!("scenario {name:?}");
        let weight = table.read("weight", |value| whole(value, 1, WEIGHT_MAX))?.unwrap_or(1);
        let mut scenario = Scenario { name, weight, steps: Vec::new() };
        // Those of the setup come first.
        let mut known = KnownValues { certain: self.shared_values(), ..KnownValues::default() };
        for (at, step) in table.tables("step")? {
            let keys = [&REQUEST_KEYS[..], &STEP_KEYS].concat();
            let step = FileTable::new(self.file, step, at, "a step", &keys)?;
            let prefix = is_one_of_several.then(|| scenario.name.clone());
            let step = self.step(step, &scenario, prefix.as_deref(), &mut known)?;
            scenario.steps.extend(step);
        }
        if scenario.steps.is_empty() {
            return Err(table.error(at, "it has no [[scenario.step]]"));
        }
        if !scenario.steps.iter().any(ScenarioStep::is_certain) {
            let text = "each step has a chance or a condition: one without is needed, so that a \
                        user does something";
            return Err(table.error(at, text));
        }
        self.read.scenarios.all.push(scenario);
        Ok(())
    }

    /// Returns the numbers of the values that the setup captures.
    fn shared_values(&self) -> HashSet<usize> {
        let captures = self.read.setup.steps.iter().flat_map(|(_, captures)| captures);
        captures.map(|capture| capture.value).collect()
    }

    /// Returns the name of a scenario or a step.
    fn name(&self, table: &FileTable<'_>) -> Result<String, RowError> {
        let Some(name) = table.text("name")? else {
            return Err(table.error(table.at, "it has no `name`"));
        };
        let is_wrong = name.trim().is_empty()
            || name.len() > NAME_MAX_BYTES
            || name.contains(|one: char| one.is_control());
        match is_wrong {
            true => Err(table.wrong("name", format!("must be 1 to {NAME_MAX_BYTES} bytes"))),
            false => Ok(name.trim().to_owned()),
        }
    }

    /// Reads a step of a scenario: adds its request to the rows, under its own name behind a
    /// `prefix`. A step with a message that is repeated becomes a step for each turn.
    fn step(
        &mut self,
        mut table: FileTable<'t>,
        scenario: &Scenario,
        prefix: Option<&str>,
        known: &mut KnownValues,
    ) -> Result<Vec<ScenarioStep>, RowError> {
        let name = self.name(&table)?;
        if scenario.steps.iter().any(|other| other.name == name) {
            return Err(table.wrong("name", format!("{name:?} is that of another step")));
        }
        table.name = format!("step {name:?}");
        let row = Row { message: table.read("message", messages)?, ..self.row(&table)? };
        let when = table.read("when", |value| text(value).and_then(|it| self.condition(&it)))?;
        known
            .check(&row, when.as_ref(), &self.read.scenarios.values)
            .map_err(|text| table.error(table.at, text))?;
        let chance = table.read("chance", number)?.unwrap_or(1.0);
        if !(chance > 0.0 && chance <= 1.0) {
            return Err(table.wrong("chance", "must be a share above 0 and at most 1"));
        }
        let think = |value: &DeValue<'_>| text(value).and_then(|text| text.parse::<ThinkTime>());
        let has_turns = row.message.is_some();
        let most = if has_turns { TURNS_MAX } else { REPEAT_MAX };
        let repeat = table.read("repeat", |value| whole(value, 1, most))?.unwrap_or(1) as u16;
        if has_turns && repeat > 1 && (chance < 1.0 || when.is_some()) {
            return Err(table.wrong(
                "repeat",
                "is for messages that each user sends: drop `chance` and `when`",
            ));
        }
        let mut captures = named_captures(&table)?;
        let answer = take_answer(&mut captures, &row);
        let step = ScenarioStep {
            think: table.read("think", think)?.unwrap_or_default(),
            chance,
            when,
            answer: answer.map_err(|text| table.wrong("capture", text))?,
            captures: self.captures(&table, captures)?,
            name,
            repeat,
            ..ScenarioStep::default()
        };
        known.add(&step, &row);
        if has_turns && repeat > 1 {
            known
                .check(&row, None, &self.read.scenarios.values)
                .map_err(|text| table.wrong("repeat", format!("cannot be: {text}")))?;
        }
        Ok(self.add_turns(step, &row, prefix))
    }

    /// Adds the request of a step to the rows, that of each turn if it has a message. Returns the
    /// steps.
    fn add_turns(
        &mut self,
        step: ScenarioStep,
        row: &Row,
        prefix: Option<&str>,
    ) -> Vec<ScenarioStep> {
        let has_turns = row.message.is_some() && step.repeat > 1;
        let turns = if has_turns { step.repeat } else { 1 };
        let rows = &mut self.read.rows;
        let mut add = |turn: u16| {
            let name = match has_turns {
                true => format!("{} {}", step.name, turn + 1),
                false => step.name.clone(),
            };
            let index = u16::try_from(rows.len()).unwrap_or(u16::MAX);
            let prefix = prefix.map(|prefix| format!("{prefix}: ")).unwrap_or_default();
            rows.push(Row { name: Some(prefix + &name), ..row.clone() });
            let repeat = if has_turns { 1 } else { step.repeat };
            ScenarioStep { name, row: index, repeat, ..step.clone() }
        };
        (0..turns).map(&mut add).collect()
    }

    /// Returns the request of a step.
    fn row(&self, table: &FileTable<'_>) -> Result<Row, RowError> {
        let given: Vec<&str> =
            BODY_KEYS.into_iter().filter(|key| table.value(key).is_some()).collect();
        if let [_, second, ..] = given[..] {
            let text = format!("stands beside `{}`: a request has one body", given[0]);
            return Err(table.wrong(second, text));
        }
        let fields = table.read("form", words)?;
        let json = table.read("json", json)?;
        let body = match (table.text("body")?, table.text("body_base64")?) {
            (Some(body), _) => Some(RowBody::Bytes(body.into_bytes())),
            (None, Some(base64)) => {
                Some(decoded(&base64).map_err(|text| table.wrong("body_base64", text))?)
            }
            (None, None) => table.text("body_file")?.map(RowBody::FileBeside),
        };
        let body = body.or_else(|| Some(RowBody::Encoded(form(fields.as_ref()?))));
        let body = body.or_else(|| json.as_ref().map(|text| RowBody::Bytes(text.clone().into())));
        let media_type = match given.first() {
            Some(&"form") => Some("application/x-www-form-urlencoded"),
            Some(&"json") => Some("application/json"),
            _ => None,
        };
        let Some(url) = table.text("url")? else {
            return Err(table.error(table.at, "it has no `url`, such as \"/login\""));
        };
        Ok(Row {
            method: table.text("method")?,
            headers: table.read("headers", words)?.unwrap_or_default(),
            body,
            media_type,
            expect: table.read("expect", texts)?.unwrap_or_default(),
            ..Row::new(self.file.line(table.at), url.trim())
        })
    }

    /// Returns the condition of a text: `NAME`, or `NAME=VALUE`.
    fn condition(&self, text: &str) -> Result<StepCondition, String> {
        let (name, equals) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text.trim(), None),
        };
        let is_name = |name: &str| !name.contains(['!', '~', '<', '>', ' ']);
        if !is_name(name) || equals.is_some_and(|text| text.starts_with('=')) {
            return Err(format!("is {text:?}: write \"NAME\" or \"NAME=TEXT\""));
        }
        let equals = equals.map(str::to_owned);
        let value = self.read.scenarios.values.iter().position(|known| known == name);
        let value =
            value.ok_or_else(|| format!("names {name:?}, which no step before captures"))?;
        Ok(StepCondition { value, equals })
    }

    /// Returns the rules of the captures of a step, and numbers the values that are new.
    fn captures(
        &mut self,
        table: &FileTable<'_>,
        named: Vec<(String, ValueSource)>,
    ) -> Result<Vec<CaptureRule>, RowError> {
        let mut captures = Vec::new();
        let shared = self.shared_values();
        for (name, source) in named {
            let wrong = |text: String| table.wrong("capture", format!("{name:?}: {text}"));
            let value = self.read.scenarios.number_of_value(&name).map_err(wrong)?;
            if shared.contains(&value) {
                return Err(wrong("the setup captures it for all users".to_owned()));
            }
            captures.push(CaptureRule { value, source, sent_in: SentIn::default() });
        }
        Ok(captures)
    }
}

/// Returns the captures of a step: their names, and where their values stand.
fn named_captures(table: &FileTable<'_>) -> Result<Vec<(String, ValueSource)>, RowError> {
    let mut named = Vec::new();
    for (name, source) in table.read("capture", words)?.unwrap_or_default() {
        let wrong = |text: String| table.wrong("capture", format!("{name:?}: {text}"));
        let source = ValueSource::named(&name, &source).map_err(wrong)?;
        named.push((name, source));
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Position;

    const SHOP: &str = r#"
[[scenario]]
name = "buyer"
weight = 3

[[scenario.step]]
name = "page"
url = "/login"
capture = { csrf = 'body~value="([^"]+)"', id = "cookie:session" }
think = "1s..3s"

[[scenario.step]]
name = "login"
url = "/login"
form = { user = "{{csv:user}}", csrf = "{{user.csrf}}" }
expect = "status=303"

[[scenario.step]]
name = "token"
method = "POST"
url = "/token"
json = { grant = "session", n = [1, "{{user.id}}"] }
expect = ["status=200", "json:/token"]
capture = { token = "json:/token" }

[[scenario.step]]
name = "cart"
url = "/cart"
headers = { Authorization = "Bearer {{user.token}}", Accept = ["a/b", "c/d"] }
repeat = 3
chance = 0.5
when = "token"

[[scenario]]
name = "visitor"

[[scenario.step]]
name = "page"
url = "/"
"#;

    #[test]
    fn a_file_becomes_rows_and_scenarios() {
        let ScenarioFile { rows, scenarios, .. } = ScenarioFile::parse(SHOP).expect("a file");
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_deref().unwrap_or("")).collect();
        assert_eq!(
            names,
            ["buyer: page", "buyer: login", "buyer: token", "buyer: cart", "visitor: page"]
        );
        assert_eq!(scenarios.values, ["csrf", "id", "token"]);
        let [buyer, visitor] = &scenarios.all[..] else { panic!("two") };
        assert_eq!((buyer.weight, visitor.weight, visitor.steps[0].row), (3, 1, 4));
        let cart = &buyer.steps[3];
        assert_eq!((cart.repeat, cart.chance, cart.row), (3, 0.5, 3));
        assert_eq!(cart.when, Some(StepCondition { value: 2, equals: None }));
        assert_eq!(buyer.steps[0].think, ThinkTime::Between(1_000_000_000, 3_000_000_000));
        let in_head = |step: usize| buyer.steps[step].captures.iter().map(|one| one.sent_in);
        assert!(in_head(0).eq([SentIn::Escaped; 2]) && in_head(2).eq([SentIn::Header]));
        let form = RowBody::Encoded("user={{csv:user}}&csrf={{user.csrf}}".to_owned());
        assert_eq!((rows[1].body.as_ref(), rows[1].position), (Some(&form), Position::Line(12)));
        let json = r#"{"grant":"session","n":[1,"{{user.id}}"]}"#.as_bytes().to_vec();
        assert_eq!(rows[2].body, Some(RowBody::Bytes(json)));
        assert_eq!(
            (rows[2].media_type, rows[2].method.as_deref()),
            (Some("application/json"), Some("POST"))
        );
        assert_eq!(rows[3].headers.len(), 3);
        assert_eq!(rows[2].expect, ["status=200", "json:/token"]);
    }

    #[track_caller]
    fn check_error(text: &str, line: u64, part: &str) {
        let error = ScenarioFile::parse(text).expect_err(text);
        assert!(error.text.contains(part), "{text}: {error}");
        assert_eq!(error.position, Position::Line(line), "{text}: {error}");
    }

    /// Returns a file with one step, which has these lines, the first of which is line 6.
    fn with_step(lines: &str) -> String {
        format!("[[scenario]]\nname = \"s\"\n\n[[scenario.step]]\nname = \"a\"\n{lines}\n")
    }

    #[test]
    fn errors_name_the_line_the_step_and_the_key() {
        let check = |lines: &str, line: u64, part: &str| check_error(&with_step(lines), line, part);
        check("", 4, "step \"a\": it has no `url`");
        check("url = 3", 6, "step \"a\": `url` must be a text in quotes; it is of type integer");
        check("url = \"/\"\nthinks = \"2s\"", 7, "unknown key `thinks`: did you mean `think`?");
        check("url = \"/\"\nthink = \"soon\"", 7, "`think`");
        check("url = \"/\"\nrepeat = 0", 7, "`repeat` must be a whole number from 1 to 10000");
        check("url = \"/\"\nchance = 1.5", 7, "`chance` must be a share");
        check("url = \"/\"\nwhen = \"x\"", 7, "`when` names \"x\", which no step before captures");
        check("url = \"/{{user.x}}\"", 4, "{{user.x}}: no step before captures it");
        check("url = \"/\"\nbody = \"a\"\njson = 1", 8, "`json` stands beside `body`");
        check("url = \"/\"\ncapture = { x = \"y\" }", 7, "\"x\": \"y\" is no place of a value");
        check("url = \"/\"\ncapture = { \"a b\" = \"header:c\" }", 7, "a name has letters");
        check("url = \"/\"\nchance = 0.5", 1, "scenario \"s\": each step has a chance");
        check_error("", 1, "it has no [[scenario]]");
        check_error("[[scenario]]\nname = \"s\"", 1, "it has no [[scenario.step]]");
        check_error("[[scenario]]\nweight = 0", 1, "it has no `name`");
        check_error("[[scenarios]]\nname = \"s\"", 1, "unknown key `scenarios`");
        check_error("a = [", 1, "");
    }

    #[test]
    fn a_value_that_some_users_lack_needs_a_condition() {
        let text = |when: &str| {
            format!(
                "{}[[scenario.step]]\nname = \"b\"\nurl = \"/\"\nchance = 0.5\n\
                 capture = {{ x = \"header:x\" }}\n\n\
                 [[scenario.step]]\nname = \"c\"\nurl = \"/{{{{user.x}}}}\"\n{when}",
                with_step("url = \"/\"")
            )
        };
        check_error(&text(""), 13, "some users lack it; add when = \"x\"");
        assert!(ScenarioFile::parse(&text("when = \"x\"")).is_ok());
    }

    #[test]
    fn messages_are_turns_of_a_conversation() {
        let turn = "url = \"/c\"\nmethod = \"POST\"\njson = { messages = \"{{history}}\" }\n\
                    message = \"Hi\"\n";
        let answer = "capture = { history = \"stream:json:/d\", id = \"header:id\" }\n";
        let text = with_step(&format!("{turn}{answer}think = \"1s\"\nrepeat = 3"));
        let ScenarioFile { rows, scenarios, .. } = ScenarioFile::parse(&text).expect("a file");
        let names: Vec<_> = rows.iter().map(|row| row.name.as_deref()).collect();
        assert_eq!(names, [Some("a 1"), Some("a 2"), Some("a 3")]);
        let body = RowBody::Bytes(br#"{"messages":"{{history}}"}"#.to_vec());
        let message = r#"{"role":"user","content":"Hi"}"#;
        assert!(rows.iter().all(|row| row.body.as_ref() == Some(&body)));
        assert!(rows.iter().all(|row| row.message.as_deref() == Some(message)));
        let steps = &scenarios.all[0].steps;
        let turns: Vec<_> = steps.iter().map(|step| (step.row, step.repeat)).collect();
        assert_eq!(turns, [(0, 1), (1, 1), (2, 1)]);
        assert!(steps.iter().all(|step| step.answer.is_some() && step.captures.len() == 1));
        assert_eq!(scenarios.values, ["id"]);
        let check = |lines: &str, line: u64, part: &str| check_error(&with_step(lines), line, part);
        check(&format!("url = \"/c\"\n{answer}"), 7, "give the step a `message`");
        check(&format!("{turn}repeat = 2"), 10, "no answer to the message of \"a\"");
        check(&format!("{turn}{answer}repeat = 101"), 11, "from 1 to 100");
        check(&format!("{turn}{answer}repeat = 2\nwhen = \"id\""), 12, "which no step before");
        check(&format!("{turn}{answer}repeat = 2\nchance = 0.5"), 11, "drop `chance` and `when`");
        check("url = \"/\"\nmessage = 3", 7, "`message` must be a text");
        let again = format!("{turn}[[scenario.step]]\nname = \"b\"\n{turn}");
        check(&again, 10, "no answer to the message of \"a\"");
        let setup = "[[setup]]\nname = \"x\"\nurl = \"/{{session}}\"\n";
        check_error(&format!("{setup}{text}"), 1, "{{session}} is of a user");
    }

    #[test]
    fn a_setup_gives_values_to_all() {
        let setup = "refresh = \"2s\"\n[[setup]]\nname = \"token\"\nurl = \"/token\"\n\
                     json = { client = \"c\" }\ncapture = { token = \"json:/token\" }\n";
        let step = "[[scenario]]\nname = \"s\"\n[[scenario.step]]\nname = \"a\"\nurl = \"/\"\n\
                    headers = { Authorization = \"Bearer {{user.token}}\" }\n";
        let file = ScenarioFile::parse(&format!("{setup}{step}")).expect("a file");
        assert_eq!(file.setup.refresh_ns, Some(2_000_000_000));
        let [(row, captures)] = &file.setup.steps[..] else { panic!("one step") };
        assert_eq!((row.target.as_str(), row.name.as_deref()), ("/token", Some("token")));
        assert_eq!((captures[0].sent_in, captures[0].value), (SentIn::Header, 0));
        let again = format!("{setup}{step}capture = {{ token = \"header:a\" }}\n");
        check_error(&again, 13, "the setup captures it for all users");
        check_error(&format!("refresh = \"2s\"\n{step}"), 1, "has no [[setup]]");
        check_error(&format!("{setup}think = \"1s\"\n{step}"), 7, "unknown key `think`");
        check_error(&format!("{}{step}", setup.replace("2s", "1ms")), 1, "must be at least 100ms");
    }
}
