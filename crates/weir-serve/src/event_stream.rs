//! Streams of server-sent events: their settings, the syntax of their flags, the time at which each
//! event is due, and its bytes. A pure function of a request's draws; reads no clock.

use std::str::FromStr;
use std::time::Duration;

use crate::delay::Delay;
use crate::draws::Draws;
use crate::limits::BODY_MAX_BYTES;
use crate::units::{ParseError, parse_span, push_decimal, span_ns};

/// A response that is a stream of events, `text/event-stream`. All times count from the read of its
/// request's last byte: event k is due after `first` and k - 1 gaps, however late the events before
/// it left.
#[derive(Clone, Debug, PartialEq)]
pub struct EventStream {
    /// `--events`: number of events, 1 to [`EventStream::EVENTS_MAX`].
    pub events: u32,
    /// `--first`: time from the request to the first event. The head does not wait for it.
    pub first: Delay,
    /// `--gap`: time between two events that follow each other. Each is drawn by itself.
    pub gap: Delay,
    /// `--event-data`: data of the events.
    pub data: EventData,
    /// `--event-stall`: a pause in some of the streams.
    pub stall: Option<EventStall>,
    /// `--event-cut`: an early end of some of the streams.
    pub cut: Option<EventCut>,
}

/// Data of the events of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EventData {
    /// `{"n":1,"sent_ns":123}`: the event's number in its stream, from 1, and the time immediately
    /// before it was passed to the kernel (`CLOCK_MONOTONIC`, absolute).
    #[default]
    Numbers,
    /// `{"choices":[{"delta":{"content":"x"}}]}`, and after the last event another one, `[DONE]`,
    /// as servers of language models send.
    Tokens,
    /// The same text in each. Its lines are lines of the data.
    Text(String),
}

/// A pause in exactly the k-th, 2k-th, … stream: written `1/10@20+1.5s`, in each tenth stream
/// after event 20 for 1.5 seconds. The events after it are as much later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStall {
    /// The k; at least 1.
    pub every: u64,
    /// Number of events before the pause.
    pub after: u32,
    /// Length of the pause.
    pub length: Duration,
}

/// An early end of exactly the k-th, 2k-th, … stream: written `1/100@20`, of each hundredth stream
/// after event 20. The connection is closed, or the stream of HTTP/2 reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCut {
    /// The k; at least 1.
    pub every: u64,
    /// Number of events before the end.
    pub after: u32,
}

impl EventStream {
    /// Largest number of events.
    pub const EVENTS_MAX: u32 = 1_000_000;

    /// Returns a stream of events that are all due at once.
    pub fn of(events: u32) -> EventStream {
        let first = Delay::NONE;
        let gap = Delay::NONE;
        EventStream { events, first, gap, data: EventData::default(), stall: None, cut: None }
    }

    /// Checks ranges and combinations.
    ///
    /// # Errors
    /// The first inconsistency, with its remedy.
    pub(crate) fn check(&self) -> Result<(), ParseError> {
        let most = EventStream::EVENTS_MAX;
        let of_places = [self.stall.map(|stall| stall.after), self.cut.map(|cut| cut.after)];
        let beyond = of_places.into_iter().flatten().find(|after| *after >= self.events);
        let text_bytes = match &self.data {
            EventData::Text(text) => text.len() as u64,
            EventData::Numbers | EventData::Tokens => 0,
        };
        let problem = if !(1..=most).contains(&self.events) {
            format!("a stream has 1 to {most} events")
        } else if let Some(after) = beyond {
            format!("a stream ends with event {}: {after} must be below it", self.events)
        } else if text_bytes.saturating_mul(self.events.into()) > BODY_MAX_BYTES {
            "the events of a stream are too large together: 1 GiB is the most".to_owned()
        } else {
            return Ok(());
        };
        Err(ParseError(problem))
    }

    /// Appends the data of event `number` alone, as a message of its own has it.
    pub(crate) fn push_data(&self, out: &mut Vec<u8>, number: u32, sent_ns: u64) {
        match &self.data {
            EventData::Numbers => {
                out.extend_from_slice(b"{\"n\":");
                push_decimal(out, number.into());
                out.extend_from_slice(b",\"sent_ns\":");
                push_decimal(out, sent_ns);
                out.push(b'}');
            }
            EventData::Tokens => out.extend_from_slice(TOKEN),
            EventData::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Appends event `number`, and if it is the `last` those that follow at once.
    pub(crate) fn push_event(&self, out: &mut Vec<u8>, number: u32, is_last: bool, sent_ns: u64) {
        match &self.data {
            EventData::Numbers | EventData::Tokens => {
                out.extend_from_slice(b"data: ");
                self.push_data(out, number, sent_ns);
                out.push(b'\n');
                if is_last && self.data == EventData::Tokens {
                    out.extend_from_slice(b"\ndata: [DONE]\n");
                }
            }
            EventData::Text(text) => {
                for line in text.split('\n') {
                    out.extend_from_slice(b"data: ");
                    out.extend_from_slice(line.as_bytes());
                    out.push(b'\n');
                }
            }
        }
        out.push(b'\n');
    }
}

/// Data of an event with a token.
const TOKEN: &[u8] = b"{\"choices\":[{\"delta\":{\"content\":\"x\"}}]}";

/// Progress of one stream: its end, and the time of its next event.
#[derive(Clone, Debug)]
pub(crate) struct EventProgress {
    draws: Draws,
    is_stalled: bool,
    /// True if the stream is cut after its last event.
    pub(crate) is_cut: bool,
    /// Events of the stream, less those that a cut leaves out.
    pub(crate) events: u32,
    /// Number of the event that was scheduled last; 0 before the first.
    number: u32,
    /// Time from the request to that event. A sum of whole nanoseconds, so it does not drift.
    elapsed_ns: u64,
}

impl EventProgress {
    /// Makes the progress of the stream with this `number`, from 1, among those with the same
    /// settings. `draws` are its request's.
    pub(crate) fn new(settings: &EventStream, number: u64, draws: Draws) -> EventProgress {
        let cut = settings.cut.filter(|cut| number.is_multiple_of(cut.every));
        let is_stalled = settings.stall.is_some_and(|stall| number.is_multiple_of(stall.every));
        let events = cut.map_or(settings.events, |cut| cut.after);
        let is_cut = cut.is_some();
        EventProgress { draws, is_stalled, is_cut, events, number: 0, elapsed_ns: 0 }
    }

    /// Returns the number of the event that was scheduled last.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Schedules the next event. Returns the time from the request to it.
    pub(crate) fn schedule(&mut self, settings: &EventStream) -> u64 {
        let delay = if self.number == 0 { settings.first } else { settings.gap };
        let gap_ns = delay.sample_ns(self.draws.nested(self.number.into()));
        let stall = settings.stall.filter(|stall| self.is_stalled && stall.after == self.number);
        let stall_ns = stall.map_or(0, |stall| span_ns(stall.length));
        self.number += 1;
        self.elapsed_ns = self.elapsed_ns.saturating_add(gap_ns).saturating_add(stall_ns);
        self.elapsed_ns
    }

    /// Returns the time from the request to the last event. It takes time for each event.
    pub(crate) fn end_ns(&self, settings: &EventStream) -> u64 {
        let mut progress = self.clone();
        while progress.number < progress.events {
            progress.schedule(settings);
        }
        progress.elapsed_ns
    }
}

impl FromStr for EventData {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<EventData, ParseError> {
        match text {
            "numbers" => Ok(EventData::Numbers),
            "tokens" => Ok(EventData::Tokens),
            _ => match text.strip_prefix("text:") {
                Some(text) if !text.contains('\r') => Ok(EventData::Text(text.to_owned())),
                Some(_) => Err(ParseError("a text of events has a CR: end lines with LF".into())),
                None => Err(ParseError(format!(
                    "`{text}` is no data of events: choose numbers, tokens or text:TEXT"
                ))),
            },
        }
    }
}

impl FromStr for EventStall {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<EventStall, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form 1/N@K+LENGTH: write for instance 1/10@20+1.5s for a \
                 pause of 1.5 seconds after event 20 of every tenth stream"
            ))
        };
        let (place, length) = text.split_once('+').ok_or_else(usage)?;
        let (every, after) = parse_place(place).ok_or_else(usage)?;
        Ok(EventStall { every, after, length: parse_span(length)? })
    }
}

impl FromStr for EventCut {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<EventCut, ParseError> {
        let usage = || {
            ParseError(format!(
                "`{text}` is not of the form 1/N@K: write for instance 1/100@20 to end every \
                 hundredth stream after event 20"
            ))
        };
        let (every, after) = parse_place(text).ok_or_else(usage)?;
        Ok(EventCut { every, after })
    }
}

/// Reads `1/10@20`: every how many streams, and after which event.
fn parse_place(text: &str) -> Option<(u64, u32)> {
    let (every, after) = text.strip_prefix("1/")?.split_once('@')?;
    let every = every.parse().ok().filter(|every| *every > 0)?;
    Some((every, after.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(settings: &EventStream, number: u64, index: u64) -> Vec<u64> {
        let mut progress = EventProgress::new(settings, number, Draws::new(1, index));
        let end_ns = progress.end_ns(settings);
        let times: Vec<_> = (0..progress.events).map(|_| progress.schedule(settings)).collect();
        assert_eq!(times.last().copied().unwrap_or(0), end_ns);
        times
    }

    fn fixed(ns: u64) -> Delay {
        Delay::Fixed(Duration::from_nanos(ns))
    }

    #[test]
    fn events_are_due_at_first_and_the_sum_of_gaps() {
        let stall = "1/3@2+70ns".parse().expect("valid");
        let cut = "1/4@1".parse().expect("valid");
        let settings = EventStream {
            first: fixed(100),
            gap: fixed(10),
            stall: Some(stall),
            cut: Some(cut),
            ..EventStream::of(4)
        };
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(schedule(&settings, 1, 0), [100, 110, 120, 130]);
        assert_eq!(schedule(&settings, 3, 0), [100, 110, 190, 200]);
        assert_eq!(schedule(&settings, 4, 0), [100]);
        assert_eq!(schedule(&settings, 12, 0), [100]);
        let early = EventStream { stall: Some(EventStall { after: 0, ..stall }), ..settings };
        assert_eq!(schedule(&early, 3, 0), [170, 180, 190, 200]);
    }

    #[test]
    fn gaps_are_drawn_one_by_one() {
        let mean = Duration::from_millis(1);
        let gap = Delay::Exponential { mean };
        let settings = EventStream { first: gap, gap, ..EventStream::of(100_000) };
        let times = schedule(&settings, 1, 5);
        assert_eq!(times, schedule(&settings, 1, 5));
        assert_ne!(times[0], schedule(&settings, 1, 6)[0]);
        let gaps: Vec<f64> =
            times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6 - 1.0).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let product = gaps.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
        assert!(mean.abs() < 4.0 / n.sqrt(), "mean {mean}");
        assert!(product.abs() < 4.0 / n.sqrt(), "serial correlation {product}");
    }

    #[test]
    fn events_are_written() {
        let check = |data: &str, is_last, expected: &str| {
            let data = data.parse().expect("valid");
            let settings = EventStream { data, ..EventStream::of(3) };
            let mut out = Vec::new();
            settings.push_event(&mut out, 3, is_last, 77);
            assert_eq!(String::from_utf8_lossy(&out), expected);
        };
        check("numbers", true, "data: {\"n\":3,\"sent_ns\":77}\n\n");
        let token = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
        check("tokens", false, token);
        check("tokens", true, &format!("{token}data: [DONE]\n\n"));
        check("text:", false, "data: \n\n");
        check("text: a\nb", true, "data:  a\ndata: b\n\n");
    }

    #[test]
    fn what_is_wrong_is_reported_with_an_example() {
        let stall = EventStall::from_str;
        let cut = EventCut::from_str;
        for text in ["", "1/10", "10@2", "1/0@2", "1/10@-1", "1/10@2"] {
            let error = stall(text).expect_err(text).to_string();
            assert!(error.contains("1/10@20+1.5s"), "{error}");
        }
        for text in ["1/10", "1/10@2+1s", "2/3@1"] {
            let error = cut(text).expect_err(text).to_string();
            assert!(error.contains("1/100@20"), "{error}");
        }
        let error = "json".parse::<EventData>().expect_err("no data").to_string();
        assert!(error.contains("choose numbers, tokens or text:TEXT"), "{error}");
        "text:a\rb".parse::<EventData>().expect_err("a CR is a line end");
        let check = |settings: EventStream, part: &str| {
            let error = settings.check().expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        check(EventStream::of(0), "1 to 1000000 events");
        check(EventStream::of(1_000_001), "1 to 1000000 events");
        let end = EventStream { cut: cut("1/2@3").ok(), ..EventStream::of(3) };
        check(end, "ends with event 3: 3 must be below it");
        let text = EventData::Text("x".repeat(2000));
        check(EventStream { data: text, ..EventStream::of(1_000_000) }, "1 GiB is the most");
    }
}
