//! The requests of a log and the times at which they are due in a replay. Each is a pure function
//! of the log and the speed.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use weir_result::{ReplayPlan, Speed};

use crate::list::access_log::{LogFormat, method_and_target, origin_form};
use crate::list::format::ListFormat;
use crate::list::lines::{Lines, NumberedLine};
use crate::list::logged_json::{self, LoggedRequest};
use crate::list::reader::HAR_MAX;
use crate::list::time_stamp::TimeStamp;
use crate::list::{Position, Row, RowError};

/// Greatest number of lines with a time.
const RECORDED_MAX: u64 = 10_000_000;

/// Greatest length of all different requests, method and target, in bytes.
const TEXT_MAX_BYTES: usize = 256 << 20;

/// Nanoseconds in a second.
const SECOND_NS: u128 = 1_000_000_000;

/// Row of a line that is not sent.
const NOT_SENT: u32 = u32::MAX;

/// Format of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingFormat {
    /// nginx's and Apache's `common` or `combined`, by this name.
    AccessLog(&'static str),
    /// A format of an access log's lines, and its text.
    Custom(LogFormat, String),
    /// A JSON object on each line.
    JsonLines,
    /// A HAR file.
    Har,
}

impl RecordingFormat {
    /// Reads the name of a format, or a `log_format` string.
    ///
    /// # Errors
    /// If it is none; the text is the reason.
    pub fn parse(text: &str) -> Result<RecordingFormat, String> {
        match text {
            "common" => Ok(RecordingFormat::AccessLog("common")),
            "combined" => Ok(RecordingFormat::AccessLog("combined")),
            "jsonl" => Ok(RecordingFormat::JsonLines),
            "har" => Ok(RecordingFormat::Har),
            _ if text.contains('$') => {
                Ok(RecordingFormat::Custom(LogFormat::parse(text)?, text.to_owned()))
            }
            _ => Err("it is none of common, combined, jsonl and har, and has no variable as in \
                      '$msec \"$request\"'"
                .to_owned()),
        }
    }

    /// Returns the name, or the text of a format of its own.
    pub fn name(&self) -> &str {
        match self {
            RecordingFormat::AccessLog(name) => name,
            RecordingFormat::Custom(_, text) => text,
            RecordingFormat::JsonLines => "jsonl",
            RecordingFormat::Har => "har",
        }
    }

    /// Returns the format of a log whose first line with content is `line`.
    fn of(line: &NumberedLine) -> RecordingFormat {
        if line.text.trim_start().starts_with('{') {
            return match ListFormat::of(line) {
                ListFormat::Har => RecordingFormat::Har,
                _ => RecordingFormat::JsonLines,
            };
        }
        // `combined` has the request, the referrer and the user agent in quotes.
        let quotes = line.text.matches('"').count();
        RecordingFormat::AccessLog(if quotes < 6 { "common" } else { "combined" })
    }
}

/// The requests of a log, with their times in a replay; there may be none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The replay's part of a plan. The window ends with the last line's second, or with the
    /// smallest unit that the times have. Name and digest of the log are left to the caller.
    pub plan: ReplayPlan,
    /// Due times of the requests that are sent, ascending, in nanoseconds from the time of the
    /// first line.
    pub times_ns: Vec<u64>,
    /// Index in `requests` of each.
    pub rows: Vec<u32>,
    /// The different requests, the most frequent ones first.
    pub requests: Vec<RecordedRequest>,
}

/// A request of a log: method and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Method and target in origin form, with a blank between them.
    text: Box<str>,
    /// Number of its lines that are sent.
    pub count: u32,
    /// Its first position.
    position: Position,
}

impl RecordedRequest {
    /// Returns the method.
    pub fn method(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// Returns the request as a row, whose weight is 1.
    pub fn row(&self) -> Row {
        let (method, target) = self.text.split_once(' ').unwrap_or_default();
        Row { method: Some(method.to_owned()), ..Row::new(self.position, target) }
    }
}

/// A log that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// The line, and the reason.
    pub error: RowError,
    /// True if the first line with content is not in the format.
    pub is_of_format: bool,
}

impl From<RowError> for RecordingError {
    fn from(error: RowError) -> RecordingError {
        RecordingError { error, is_of_format: false }
    }
}

/// Choices of a replay.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRules {
    /// Factor of the speed, of two numbers that are at least 1.
    pub speed: Speed,
    /// Returns true for the methods that are sent.
    pub is_sent: fn(&str) -> bool,
}

impl Recording {
    /// Reads a log in `format`, or in the one that its first line tells.
    ///
    /// # Errors
    /// If a line is not in the format, there is none, or the log is too long.
    pub fn read<R: BufRead>(
        input: R,
        format: Option<RecordingFormat>,
        rules: ReplayRules,
    ) -> Result<Recording, RecordingError> {
        let mut lines = Lines::new(input);
        let Some(first) = lines.peek_content()? else {
            return Err(RowError::new(Position::Whole, "it has no lines").into());
        };
        let format = format.unwrap_or_else(|| RecordingFormat::of(first));
        let mut reader = LogReader::new(rules.is_sent);
        match &format {
            RecordingFormat::Har => {
                let entries = logged_json::archive(&lines.rest(HAR_MAX)?)?;
                for (place, entry) in (1..).map(Position::Entry).zip(entries) {
                    reader.add_text(place, &entry).map_err(|text| RowError::new(place, text))?;
                }
            }
            RecordingFormat::JsonLines => {
                let read = reader.read_lines(&mut lines, false, |reader, line| {
                    reader.add_text(line.number.into(), &logged_json::line(&line.text)?)
                });
                // The fields of an object have no other format.
                read.map_err(|error| RecordingError { is_of_format: false, ..error })?;
            }
            RecordingFormat::Custom(own, _) => {
                reader.read_log(&mut lines, own, "it is not in the given format")?;
            }
            RecordingFormat::AccessLog(_) => {
                let other = "it is neither in the format common nor in combined";
                reader.read_log(&mut lines, &LogFormat::common(), other)?;
            }
        }
        Ok(reader.finish(&format, rules.speed)?)
    }
}

/// A line that has a time.
#[derive(Clone, Copy, Debug)]
struct LogEntry {
    /// Time in nanoseconds since 1970.
    ns: u64,
    /// Index of its request, or [`NOT_SENT`].
    row: u32,
}

/// The lines of a log so far.
struct LogReader {
    is_sent: fn(&str) -> bool,
    entries: Vec<LogEntry>,
    /// Different requests: index, number and first position.
    requests: HashMap<Box<str>, (u32, u32, Position)>,
    text_bytes: usize,
    /// Most digits of a fraction of a second.
    digits: u32,
    left_out: BTreeMap<String, u64>,
    without_request: u64,
    is_cut: bool,
}

impl LogReader {
    fn new(is_sent: fn(&str) -> bool) -> LogReader {
        LogReader {
            is_sent,
            entries: Vec::new(),
            requests: HashMap::new(),
            text_bytes: 0,
            digits: 0,
            left_out: BTreeMap::new(),
            without_request: 0,
            is_cut: false,
        }
    }

    /// Reads the lines of an access log; `other` is the error of one in another format.
    fn read_log<R: BufRead>(
        &mut self,
        lines: &mut Lines<R>,
        format: &LogFormat,
        other: &str,
    ) -> Result<(), RecordingError> {
        self.read_lines(lines, format.has_open_end(), |reader, line| {
            let found = format.read(&line.text).ok_or(other)?;
            let request = match found.method {
                "" => method_and_target(found.request),
                method => Some((method, found.target)),
            };
            reader.add(line.number.into(), found.time, request)
        })
    }

    /// Adds each line with `add`. A last line without an end is left out if it is not in the
    /// format, or if `has_open_end` and so it may be cut all the same.
    fn read_lines<R: BufRead>(
        &mut self,
        lines: &mut Lines<R>,
        has_open_end: bool,
        add: impl Fn(&mut LogReader, &NumberedLine) -> Result<(), String>,
    ) -> Result<(), RecordingError> {
        while let Some(line) = lines.take_content()? {
            let has_end = lines.has_end();
            let added = match has_open_end && !has_end {
                true => Err("it has no end".to_owned()),
                false => add(self, &line),
            };
            match added {
                Ok(()) => {}
                Err(_) if !has_end && !self.entries.is_empty() => self.is_cut = true,
                Err(text) => {
                    let error = RowError::new(line.number, text);
                    return Err(RecordingError { error, is_of_format: self.entries.is_empty() });
                }
            }
        }
        Ok(())
    }

    fn add_text(&mut self, position: Position, request: &LoggedRequest) -> Result<(), String> {
        let texts = request.request.as_ref();
        let texts = texts.map(|(method, target)| (method.as_str(), target.as_str()));
        self.add(position, &request.time, texts)
    }

    /// Adds a line with its method and target.
    fn add(
        &mut self,
        position: Position,
        time: &str,
        request: Option<(&str, &str)>,
    ) -> Result<(), String> {
        let stamp = TimeStamp::parse(time)
            .ok_or_else(|| format!("{:?} is no time", weir_text::brief(time)))?;
        if self.entries.len() as u64 == RECORDED_MAX {
            return Err(format!("these are more than {RECORDED_MAX} lines: replay a part of them"));
        }
        let row = self.row_of(position, request)?;
        self.digits = self.digits.max(stamp.digits);
        self.entries.push(LogEntry { ns: stamp.ns, row });
        Ok(())
    }

    /// Returns the index of a line's request, or counts it as one that is not sent.
    fn row_of(&mut self, position: Position, request: Option<(&str, &str)>) -> Result<u32, String> {
        let request = request.filter(|(method, _)| is_token(method) && *method != "CONNECT");
        let request = request.and_then(|(method, target)| Some((method, origin_form(target)?)));
        let Some((method, target)) = request else {
            self.without_request += 1;
            return Ok(NOT_SENT);
        };
        if !(self.is_sent)(method) {
            *self.left_out.entry(method.to_owned()).or_default() += 1;
            return Ok(NOT_SENT);
        }
        let text = format!("{method} {target}");
        if let Some((row, count, _)) = self.requests.get_mut(text.as_str()) {
            *count += 1;
            return Ok(*row);
        }
        self.text_bytes += text.len();
        if self.text_bytes > TEXT_MAX_BYTES {
            return Err(format!(
                "the different requests up to this one are longer than {} MiB: replay a part of \
                 them",
                TEXT_MAX_BYTES >> 20
            ));
        }
        let row = self.requests.len() as u32; // There are at most RECORDED_MAX.
        self.requests.insert(text.into(), (row, 1, position));
        Ok(row)
    }

    fn finish(self, format: &RecordingFormat, speed: Speed) -> Result<Recording, RowError> {
        let LogReader { mut entries, requests, digits, .. } = self;
        if entries.is_empty() {
            return Err(RowError::new(Position::Whole, "it has no lines"));
        }
        // Access logs are written at the end of a request.
        entries.sort_by_key(|entry| entry.ns);
        let has_whole_seconds = digits == 0;
        let first_ns = entries[0].ns;
        let last_ns = entries[entries.len() - 1].ns;
        let mut times_ns = Vec::new();
        let mut rows = Vec::new();
        for same in entries.chunk_by(|a, b| a.ns == b.ns) {
            let count = same.len() as u128;
            for (nth, entry) in (0_u128..).zip(same).filter(|(_, entry)| entry.row != NOT_SENT) {
                let within = if has_whole_seconds { (2 * nth + 1) * SECOND_NS } else { 0 };
                let offset = u128::from(entry.ns - first_ns) * 2 * count + within;
                times_ns.push(offset_ns(speed, offset, 2 * count));
                rows.push(entry.row);
            }
        }
        let unit_ns = 10_u128.pow(9 - digits);
        let span = u128::from(last_ns - first_ns) + unit_ns;
        // Rounded up, so that the last request lies within.
        let window = (span * u128::from(speed.denominator)).div_ceil(u128::from(speed.numerator));
        let requests = by_frequency(requests, &mut rows);
        let plan = ReplayPlan {
            format: format.name().to_owned(),
            lines: entries.len() as u64,
            requests: rows.len() as u64,
            window_ns: u64::try_from(window).unwrap_or(u64::MAX),
            speed,
            has_whole_seconds,
            left_out: self.left_out,
            without_request: self.without_request,
            is_cut: self.is_cut,
            ..ReplayPlan::default()
        };
        Ok(Recording { plan, times_ns, rows, requests })
    }
}

/// Returns the offset `numerator / denominator`, in nanoseconds, divided by the speed and rounded
/// down.
fn offset_ns(speed: Speed, numerator: u128, denominator: u128) -> u64 {
    let numerator = numerator * u128::from(speed.denominator);
    let offset = numerator / (denominator * u128::from(speed.numerator));
    u64::try_from(offset).unwrap_or(u64::MAX)
}

/// Returns the requests, the most frequent ones first and equally frequent ones in the order of
/// the log, and changes `rows` to their indices there.
fn by_frequency(
    requests: HashMap<Box<str>, (u32, u32, Position)>,
    rows: &mut [u32],
) -> Vec<RecordedRequest> {
    let mut sorted: Vec<(u32, RecordedRequest)> = requests
        .into_iter()
        .map(|(text, (row, count, position))| (row, RecordedRequest { text, count, position }))
        .collect();
    sorted.sort_by_key(|(row, request)| (std::cmp::Reverse(request.count), *row));
    let mut places = vec![0; sorted.len()];
    for (place, (row, _)) in (0..).zip(&sorted) {
        places[*row as usize] = place;
    }
    rows.iter_mut().for_each(|row| *row = places[*row as usize]);
    sorted.into_iter().map(|(_, request)| request).collect()
}

/// True if a text can be a method (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_right)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rules(speed: (u64, u64)) -> ReplayRules {
        let (numerator, denominator) = speed;
        let speed = Speed { numerator, denominator };
        ReplayRules { speed, is_sent: |method| matches!(method, "GET" | "HEAD") }
    }

    fn read(text: &str, format: Option<&str>, speed: (u64, u64)) -> Recording {
        let format = format.map(|format| RecordingFormat::parse(format).expect(format));
        Recording::read(text.as_bytes(), format, rules(speed)).expect(text)
    }

    /// Returns due times and requests.
    fn slots(found: &Recording) -> Vec<(u64, String)> {
        let text = |row: &u32| found.requests[*row as usize].text.to_string();
        found.times_ns.iter().copied().zip(found.rows.iter().map(text)).collect()
    }

    fn expected(slots: &[(u64, &str)]) -> Vec<(u64, String)> {
        slots.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
    }

    fn combined(second: u64, request: &str) -> String {
        format!("::1 - - [10/Oct/2000:13:55:{second:02} -0700] \"{request}\" 200 5 \"-\" \"x\"\n")
    }

    /// The lines of a second are spread evenly in it, with those that are not sent, and lines that
    /// were written late come in their order.
    #[test]
    fn whole_seconds_are_spread() {
        let log = combined(36, "GET /a HTTP/1.1")
            + &combined(38, "GET /c HTTP/1.1")
            + &combined(36, "POST /b HTTP/1.1")
            + &combined(38, "HEAD /a HTTP/1.1")
            + &combined(37, "GET /a HTTP/1.1");
        let found = read(&log, None, (1, 1));
        assert_eq!(found.plan.format.as_str(), "combined");
        let plan = [
            (SECOND / 4, "GET /a"),
            (3 * SECOND / 2, "GET /a"),
            (9 * SECOND / 4, "GET /c"),
            (11 * SECOND / 4, "HEAD /a"),
        ];
        assert_eq!(slots(&found), expected(&plan));
        assert_eq!((found.plan.window_ns, found.plan.has_whole_seconds), (3 * SECOND, true));
        assert_eq!((found.plan.lines, found.plan.left_out.get("POST")), (5, Some(&1)));
        assert_eq!(found.requests.iter().map(|it| it.count).collect::<Vec<_>>(), [2, 1, 1]);
        let fast = read(&log, Some("combined"), (3, 1));
        let times = [SECOND / 12, SECOND / 2, 3 * SECOND / 4, 11 * SECOND / 12];
        assert_eq!((fast.times_ns.as_slice(), fast.plan.window_ns), (&times[..], SECOND));
        let slow = read(&log, None, (1, 2));
        assert_eq!((slow.times_ns[0], slow.plan.window_ns), (SECOND / 2, 6 * SECOND));
    }

    /// With a fraction in one of them, times are what they say.
    #[test]
    fn fractions_of_seconds_are_kept() {
        let log = "1700000000.250 \"GET /a HTTP/1.1\"\n1700000000.253 \"GET /b HTTP/1.1\"\n\
                   1700000000.250 \"GET /c HTTP/1.1\"\n";
        let found = read(log, Some("$msec \"$request\""), (2, 1));
        let plan = [(0, "GET /a"), (0, "GET /c"), (1_500_000, "GET /b")];
        assert_eq!(slots(&found), expected(&plan));
        assert_eq!((found.plan.window_ns, found.plan.has_whole_seconds), (2_000_000, false));
    }

    #[test]
    fn json_has_times_too() {
        let lines = r#"{"time": 1700000000.5, "url": "http://other/a?b", "status": 200}
{"ts": "2023-11-14T22:13:20Z", "method": "HEAD", "path": "/b"}
{"@timestamp": "1700000001", "request": "-"}
{"msec": 1700000002, "request": "DELETE /a HTTP/1.1"}"#;
        let found = read(lines, None, (1, 1));
        assert_eq!(found.plan.format.as_str(), "jsonl");
        let plan = [(0, "HEAD /b"), (SECOND / 2, "GET /a?b")];
        assert_eq!(slots(&found), expected(&plan));
        assert_eq!((found.plan.without_request, found.plan.left_out.len()), (1, 1));
        let har = r#"{"log": {"entries": [
            {"startedDateTime": "2023-11-14T22:13:20.040Z",
             "request": {"method": "GET", "url": "https://h/b"}},
            {"startedDateTime": "2023-11-14T22:13:20.030Z",
             "request": {"method": "GET", "url": "data:x"}}]}}"#;
        let found = read(har, None, (1, 1));
        assert_eq!((found.plan.format.as_str(), found.plan.without_request), ("har", 1));
        assert_eq!(slots(&found), expected(&[(10_000_000, "GET /b")]));
    }

    /// Nothing is sent then, and the caller says why.
    #[test]
    fn a_log_may_have_no_request_to_send() {
        let log = combined(36, "POST / HTTP/1.1") + &combined(36, "-");
        let found = read(&log, None, (1, 1));
        assert_eq!(
            (found.rows.len(), found.plan.left_out.len(), found.plan.without_request),
            (0, 1, 1)
        );
    }

    #[test]
    fn a_line_that_was_cut_is_left_out() {
        let log = combined(36, "GET /a HTTP/1.1");
        let found = read(&format!("{log}::1 - - [10/Oct"), None, (1, 1));
        assert_eq!((found.plan.lines, found.plan.is_cut), (1, true));
        assert!(!read(log.trim_end(), None, (1, 1)).plan.is_cut, "it is complete");
        // The target may have been longer.
        let found = read("1 GET /a\n2 GET /ab", Some("$msec $request"), (1, 1));
        assert_eq!((found.plan.lines, found.plan.is_cut), (1, true));
    }

    #[test]
    fn errors_name_the_line() {
        let good = combined(36, "GET /a HTTP/1.1");
        let check = |text: &str, format: Option<&str>, place: &str, part: &str| {
            let format = format.map(|format| RecordingFormat::parse(format).expect(format));
            let read = Recording::read(text.as_bytes(), format, rules((1, 1)));
            let RecordingError { error, is_of_format } = read.expect_err(text);
            let is_of_log = place == "line 1" && text.starts_with("::1");
            assert_eq!(is_of_format, is_of_log, "{text}: {error}");
            let found = error.to_string();
            assert!(found.starts_with(place) && found.contains(part), "{text}: {found}");
        };
        check("", None, "the list", "has no lines");
        check(&format!("{good}\nx\n{good}"), None, "line 3", "neither in the format");
        check(&good.replace("Oct", "Okt"), None, "line 1", "is no time");
        check("::1 - - [", None, "line 1", "neither in the format");
        check(&good, Some("$msec|$request|"), "line 1", "not in the given format");
        check("{\"url\": \"/\"}\n", None, "line 1", "no time in `time`");
        check("{\"time\": 1}\n", None, "line 1", "no target in `url`");
        check("{\"time\": 1,}\n", None, "line 1", "column");
        check("{\"log\": {\"entries\": [{}]}}", None, "entry 1", "startedDateTime");
        check("{\"log\": {\"entries\": []}}", None, "the list", "no lines");
        for (text, part) in [("x", "none of common"), ("$msec", "neither $request")] {
            assert!(RecordingFormat::parse(text).expect_err(text).contains(part), "{text}");
        }
    }

    /// Whatever a log holds, a method and a path can be sent, and times ascend within the window.
    #[test]
    fn requests_can_be_sent_whatever_the_log_holds() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = crate::list::order::mixed(state, 1);
            state % below
        };
        let mut log = String::new();
        for _ in 0..2_000 {
            let mut request = String::from("GET /");
            for _ in 0..random(12) {
                let c = char::from_u32(random(300) as u32).unwrap_or('?');
                request.push(if matches!(c, '\n' | '\r' | '"') { '\\' } else { c });
            }
            log.push_str(&combined(random(60), &format!("{request} HTTP/1.1")));
        }
        let found = read(&log, None, (7, 3));
        assert!(found.times_ns.is_sorted() && found.times_ns.len() > 1_900);
        assert!(found.times_ns.last().is_some_and(|last| *last < found.plan.window_ns));
        for request in &found.requests {
            let row = request.row();
            let is_path = row.target.starts_with('/');
            assert!(is_path && row.target.bytes().all(|it| it.is_ascii_graphic()), "{row:?}");
        }
    }
}
