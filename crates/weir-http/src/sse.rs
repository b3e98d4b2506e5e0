//! Server-sent events: splits a body of the type `text/event-stream` into events (WHATWG HTML,
//! section 9.2.6, "Interpreting an event stream"). It neither knows the message that has the body
//! nor decodes its text, and it reads no clock.

use memchr::memchr2;

/// Most bytes of an event's data that are kept. Longer data is counted as a whole, and cut here.
pub const DATA_KEPT_BYTES: usize = 64 * 1024;

/// True if this value of `Content-Type` is that of an event stream.
pub fn is_event_stream(content_type: &[u8]) -> bool {
    const TYPE: &[u8] = b"text/event-stream";
    let begin = content_type.get(..TYPE.len());
    let end = content_type.get(TYPE.len()).copied().unwrap_or(b';');
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(TYPE)) && matches!(end, b';' | b' ')
}

/// Splits a body into events, whatever the sizes of the pieces in which it arrives.
///
/// Lines end with CR, LF or CRLF. A blank line ends an event, which is one if it has a `data`
/// field. Comments, fields but `data` and `event`, and a byte order mark at the start are skipped.
/// An event that is incomplete at the end of the body is none.
#[derive(Debug, Default)]
pub struct EventSplitter {
    /// Data of the current event, as far as it is kept.
    data: Vec<u8>,
    /// Bytes of the current event's data.
    data_bytes: u64,
    /// True if the current event has a `data` field.
    has_data: bool,
    /// True if the last byte was a CR: an LF that follows belongs to the same line end.
    is_after_cr: bool,
    place: EventLinePlace,
    /// Meaning of the current event's name.
    name: EventName,
}

/// An event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Bytes of its data: of the values of its `data` fields, and of a line feed between two.
    pub data_bytes: u64,
    /// Its data: the values of its `data` fields, with a line feed between two. Only the first
    /// [`DATA_KEPT_BYTES`] if it is longer. It is UTF-8 by the standard, which is not checked.
    pub data: &'a [u8],
    /// Meaning of its name.
    pub name: EventName,
}

/// Meaning of an event's name, the value of its last `event` field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventName {
    /// No name, or one without a meaning here.
    #[default]
    Other,
    /// The stream has failed: `error`, `response.failed`.
    Error,
    /// The stream has ended, as language models name it: `message_stop`, `response.completed`,
    /// `response.incomplete`.
    End,
}

impl Event<'_> {
    /// True if the data is `[DONE]`, with which servers of language models end a stream.
    pub fn is_done(&self) -> bool {
        self.data == b"[DONE]"
    }
}

/// Place of the next byte within its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventLinePlace {
    /// In the first line, after as many bytes of a byte order mark.
    Mark(u8),
    /// After as many bytes of the line, which are the start of `data`.
    Name(u8),
    /// After the colon of a `data` field.
    Colon,
    /// In the value of a `data` field.
    Value,
    /// After as many bytes of the line, which are the start of `event`.
    Event(u8),
    /// After the colon of an `event` field.
    EventColon,
    /// In the value of an `event` field.
    EventValue(NamePrefix),
    /// In a comment or another field.
    Other,
}

impl Default for EventLinePlace {
    fn default() -> EventLinePlace {
        EventLinePlace::Mark(0)
    }
}

const MARK: &[u8] = b"\xef\xbb\xbf";

const NAME: &[u8] = b"data";

const EVENT: &[u8] = b"event";

/// Names with a meaning.
const EVENT_NAMES: [(&[u8], EventName); 5] = [
    (b"error", EventName::Error),
    (b"response.failed", EventName::Error),
    (b"message_stop", EventName::End),
    (b"response.completed", EventName::End),
    (b"response.incomplete", EventName::End),
];

/// The start of an event's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NamePrefix {
    /// One bit for each of [`EVENT_NAMES`] that begins so.
    alike: u8,
    /// Bytes so far.
    seen: u8,
}

impl NamePrefix {
    const EMPTY: NamePrefix = NamePrefix { alike: (1 << EVENT_NAMES.len()) - 1, seen: 0 };

    /// Returns the prefix with these bytes behind it.
    fn with(self, bytes: &[u8]) -> NamePrefix {
        let from = usize::from(self.seen);
        let alike = self.names().filter(|(_, (name, _))| name[from..].starts_with(bytes));
        let alike = alike.fold(0, |alike, (bit, _)| alike | bit);
        // No longer prefix has any that is alike.
        let seen = if alike == 0 { 0 } else { self.seen + bytes.len() as u8 };
        NamePrefix { alike, seen }
    }

    /// Returns the meaning of a name that ends here.
    fn name(self) -> EventName {
        let whole = self.names().find(|(_, (name, _))| name.len() == usize::from(self.seen));
        whole.map_or(EventName::Other, |(_, (_, meaning))| *meaning)
    }

    /// Returns the names that are alike, with their bits.
    fn names(self) -> impl Iterator<Item = (u8, &'static (&'static [u8], EventName))> {
        let bits = (0..).map(|nth: u8| 1 << nth);
        bits.zip(&EVENT_NAMES).filter(move |(bit, _)| self.alike & bit != 0)
    }
}

/// Place at the start of any line but the first.
const LINE_BEGIN: EventLinePlace = EventLinePlace::Name(0);

/// Place after a name that is `data`, so far.
const NAME_END: EventLinePlace = EventLinePlace::Name(NAME.len() as u8);

/// Place after a name that is `event`, so far.
const EVENT_END: EventLinePlace = EventLinePlace::Event(EVENT.len() as u8);

/// Most memory that is kept from event to event, in bytes.
const CAPACITY_KEPT_BYTES: usize = 4096;

impl EventSplitter {
    /// Makes a splitter for a body that begins with the next bytes. It allocates nothing before an
    /// event arrives in parts.
    pub fn new() -> EventSplitter {
        EventSplitter::default()
    }

    /// Reads bytes of the body, and calls `on_event` for each event that they complete, in order.
    pub fn receive(&mut self, mut bytes: &[u8], mut on_event: impl FnMut(Event<'_>)) {
        while let [first, rest @ ..] = bytes {
            if std::mem::take(&mut self.is_after_cr) && *first == b'\n' {
                bytes = rest;
                continue;
            }
            bytes = match self.place {
                LINE_BEGIN if !self.has_data => match whole_event(bytes) {
                    Some((data, rest)) => {
                        let kept = &data[..data.len().min(DATA_KEPT_BYTES)];
                        let name = std::mem::take(&mut self.name);
                        on_event(Event { data_bytes: data.len() as u64, data: kept, name });
                        rest
                    }
                    None => self.read_name(bytes, &mut on_event),
                },
                EventLinePlace::Mark(_) | EventLinePlace::Name(_) | EventLinePlace::Event(_) => {
                    self.read_name(bytes, &mut on_event)
                }
                EventLinePlace::Colon => {
                    self.place = EventLinePlace::Value;
                    bytes.strip_prefix(b" ").unwrap_or(bytes)
                }
                EventLinePlace::EventColon => {
                    self.place = EventLinePlace::EventValue(NamePrefix::EMPTY);
                    bytes.strip_prefix(b" ").unwrap_or(bytes)
                }
                EventLinePlace::Value | EventLinePlace::EventValue(_) | EventLinePlace::Other => {
                    let end = memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len());
                    match self.place {
                        EventLinePlace::Value => self.push(&bytes[..end]),
                        EventLinePlace::EventValue(prefix) => {
                            self.place = EventLinePlace::EventValue(prefix.with(&bytes[..end]));
                        }
                        _ => {}
                    }
                    if end < bytes.len() {
                        self.end_line(bytes[end], &mut on_event);
                    }
                    &bytes[bytes.len().min(end + 1)..]
                }
            };
        }
    }

    /// Returns the memory that the peer has caused it to hold, in bytes: at most twice
    /// [`DATA_KEPT_BYTES`].
    pub fn held_bytes(&self) -> usize {
        self.data.capacity()
    }

    /// Forgets an incomplete event: the next bytes are of another body.
    pub fn reset(&mut self) {
        self.clear();
        self.is_after_cr = false;
        self.place = EventLinePlace::default();
    }

    /// Reads a byte of the mark or of a field's name, and returns the bytes after it.
    fn read_name<'a>(&mut self, bytes: &'a [u8], on_event: &mut impl FnMut(Event<'_>)) -> &'a [u8] {
        let byte = bytes[0];
        let rest = &bytes[1..];
        match self.place {
            EventLinePlace::Mark(0) if byte != MARK[0] => {
                self.place = LINE_BEGIN;
                return bytes;
            }
            EventLinePlace::Mark(seen) if MARK[usize::from(seen)] == byte => {
                let is_whole = usize::from(seen) + 1 == MARK.len();
                self.place = if is_whole { LINE_BEGIN } else { EventLinePlace::Mark(seen + 1) };
            }
            _ if byte == b'\r' || byte == b'\n' => self.end_line(byte, on_event),
            NAME_END if byte == b':' => {
                self.begin_data();
                self.place = EventLinePlace::Colon;
            }
            EVENT_END if byte == b':' => self.place = EventLinePlace::EventColon,
            LINE_BEGIN if byte == EVENT[0] => self.place = EventLinePlace::Event(1),
            EventLinePlace::Event(seen) if EVENT.get(usize::from(seen)) == Some(&byte) => {
                self.place = EventLinePlace::Event(seen + 1);
            }
            EventLinePlace::Name(seen) if NAME.get(usize::from(seen)) == Some(&byte) => {
                self.place = EventLinePlace::Name(seen + 1);
            }
            _ => self.place = EventLinePlace::Other,
        }
        rest
    }

    /// Ends a line at the CR or LF `end`.
    fn end_line(&mut self, end: u8, on_event: &mut impl FnMut(Event<'_>)) {
        self.is_after_cr = end == b'\r';
        match self.place {
            LINE_BEGIN => {
                if self.has_data {
                    let Self { data_bytes, ref data, name, .. } = *self;
                    on_event(Event { data_bytes, data, name });
                }
                self.clear();
            }
            // A line without a colon is a field with an empty value.
            NAME_END => self.begin_data(),
            EVENT_END | EventLinePlace::EventColon => self.name = EventName::Other,
            EventLinePlace::EventValue(prefix) => self.name = prefix.name(),
            _ => {}
        }
        self.place = LINE_BEGIN;
    }

    /// Begins a `data` field, on a line of its own.
    fn begin_data(&mut self) {
        if std::mem::replace(&mut self.has_data, true) {
            self.push(b"\n");
        }
    }

    fn push(&mut self, value: &[u8]) {
        self.data_bytes += value.len() as u64;
        let room = DATA_KEPT_BYTES - self.data.len();
        self.data.extend_from_slice(&value[..value.len().min(room)]);
    }

    /// Forgets the data of the current event.
    fn clear(&mut self) {
        self.data.clear();
        self.data.shrink_to(CAPACITY_KEPT_BYTES);
        self.data_bytes = 0;
        self.has_data = false;
        self.name = EventName::Other;
    }
}

/// Returns the data of the usual event, one field of `data` and a blank line, if `bytes` begin with
/// a whole one, and the bytes after it. Its data needs no copy.
#[inline]
fn whole_event(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let value = bytes.strip_prefix(b"data:")?;
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let (data, end) = value.split_at(memchr2(b'\r', b'\n', value)?);
    let rest = end.strip_prefix(b"\n\n").or_else(|| end.strip_prefix(b"\r\n\r\n"))?;
    Some((data, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the data of the events in `pieces`.
    fn split(splitter: &mut EventSplitter, pieces: &[&[u8]]) -> Vec<String> {
        let mut events = Vec::new();
        for piece in pieces {
            splitter.receive(piece, |event| {
                assert_eq!(event.data_bytes, event.data.len() as u64);
                events.push(String::from_utf8_lossy(event.data).into_owned());
            });
        }
        events
    }

    fn check(body: &str, expected: &[&str]) {
        assert_eq!(split(&mut EventSplitter::new(), &[body.as_bytes()]), expected, "{body:?}");
        for at in 0..=body.len() {
            let (begin, end) = body.as_bytes().split_at(at);
            let events = split(&mut EventSplitter::new(), &[begin, end]);
            assert_eq!(events, expected, "{body:?} cut at {at}");
        }
        let single: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(split(&mut EventSplitter::new(), &single), expected, "{body:?} byte by byte");
    }

    /// The examples of the standard.
    #[test]
    fn examples_of_the_standard() {
        check("data: YHOO\ndata: +2\ndata: 10\n\n", &["YHOO\n+2\n10"]);
        let ids = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n";
        check(
            &format!("{ids}data:  third event\n\n"),
            &["first event", "second event", " third event"],
        );
        check("data\n\ndata\ndata\n\ndata:", &["", "\n"]);
        check("data:test\n\ndata: test\n\n", &["test", "test"]);
        check("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", &["73857293", "2153"]);
    }

    #[test]
    fn line_ends_of_every_kind() {
        for end in ["\n", "\r", "\r\n"] {
            let body = format!("data: a{end}data: b{end}{end}{end}: c{end}data:d{end}{end}data: e");
            check(&body, &["a\nb", "d"]);
        }
        check("data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\n\r", &["a", "b", "c", "d"]);
        // One line end, so that no blank line follows.
        check("data: a\r\ndata: b\r\n", &[]);
        check("\n\r\n\r\r\n", &[]);
    }

    #[test]
    fn only_data_makes_an_event() {
        check("event: x\nid: 7\nretry: 10\n: comment\nother: y\nother\n\n", &[]);
        check("dat: a\n\ndatas: b\n\n data: c\n\nDATA: d\n\ndata : e\n\n", &[]);
        check("data:\n\ndata: \n\ndata:  \n\n", &["", "", " "]);
        check("data: a: b\n\ndata::c\n\n", &["a: b", ":c"]);
        check("retry\ndata: a\nid: 1\n\nid: 2\n\ndata: b\n\n", &["a", "b"]);
    }

    #[test]
    fn names_of_errors_and_of_ends_are_found() {
        let check = |body: &str, expected: &[EventName]| {
            for length in 1..=body.len() {
                let mut splitter = EventSplitter::new();
                let mut names = Vec::new();
                for piece in body.as_bytes().chunks(length) {
                    splitter.receive(piece, |event| names.push(event.name));
                }
                assert_eq!(names, expected, "{body:?} in pieces of {length}");
            }
        };
        let other = EventName::Other;
        let error = EventName::Error;
        let end = EventName::End;
        check("event: error\ndata: a\n\ndata: b\n\n", &[error, other]);
        check("data: a\r\nevent:error\r\n\r\n", &[error]);
        check("event: message_stop\ndata: a\n\nevent: response.completed\ndata\n\n", &[end, end]);
        check("event: response.failed\ndata: {}\n\n", &[error]);
        check("event: response.incomplete\rdata: {}\r\r", &[end]);
        for name in ["errors", "err", "Error", "", " error", "response.", "message_start", "even"] {
            check(&format!("event: {name}\ndata: a\n\n"), &[other]);
        }
        // The last name of an event counts; an event without data is none.
        check("event: error\nevent: x\ndata: a\n\n", &[other]);
        check("event: error\nevent\ndata: a\n\nevent: error\nevent:\ndata: a\n\n", &[other, other]);
        check("event: error\n\ndata: a\n\nevents: error\ndata: a\n\n", &[other, other]);
    }

    #[test]
    fn a_mark_is_skipped_at_the_begin_alone() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: c\n\n", &["a", "c"]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("\u{feff}\n\ndata: a\n\n", &["a"]);
        let mut splitter = EventSplitter::new();
        assert_eq!(split(&mut splitter, &[b"\xef\xbbdata: a\n\ndata: b\n\n"]), ["b"]);
        splitter.reset();
        assert_eq!(split(&mut splitter, &[b"\xef\xbb\ndata: a\n\n"]), ["a"]);
    }

    #[test]
    fn a_reset_forgets_the_incomplete_event() {
        let mut splitter = EventSplitter::new();
        for begin in ["data: a\n", "data: a", "da", "data: a\r", "\u{feff}", ": c", "data"] {
            assert_eq!(split(&mut splitter, &[begin.as_bytes()]), [""; 0], "{begin:?}");
            splitter.reset();
            let next = "\u{feff}\ndata: b\n\n".as_bytes();
            assert_eq!(split(&mut splitter, &[next]), ["b"], "after {begin:?}");
            splitter.reset();
        }
    }

    #[test]
    fn long_data_is_counted_and_cut() {
        let value = "v".repeat(DATA_KEPT_BYTES - 1);
        for cut in [3, 100, DATA_KEPT_BYTES, 2 * DATA_KEPT_BYTES] {
            let mut splitter = EventSplitter::new();
            let body = format!("data: {value}\ndata: w\ndata: {value}\n\ndata: [DONE]\n\n");
            let mut seen = Vec::new();
            for piece in body.as_bytes().chunks(cut) {
                splitter.receive(piece, |event| {
                    seen.push((event.data_bytes, event.data.len(), event.is_done()));
                });
            }
            let long = (2 * DATA_KEPT_BYTES as u64 + 1, DATA_KEPT_BYTES, false);
            assert_eq!(seen, [long, (6, 6, true)], "pieces of {cut}");
            assert!(splitter.data.capacity() <= CAPACITY_KEPT_BYTES);
        }
        let whole = format!("data: {value}{value}\n\n");
        let mut splitter = EventSplitter::new();
        let mut lengths = Vec::new();
        // The first line has the place of the mark.
        let pieces = [b"\n", whole.as_bytes()];
        for piece in pieces {
            splitter.receive(piece, |event| lengths.push((event.data_bytes, event.data.len())));
        }
        assert_eq!(lengths, [(2 * value.len() as u64, DATA_KEPT_BYTES)]);
    }

    #[test]
    fn a_splitter_is_small() {
        assert!(size_of::<EventSplitter>() <= 40, "{}", size_of::<EventSplitter>());
    }
}
