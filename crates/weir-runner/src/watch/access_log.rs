//! The lines that a server appends to its access log during the run, counted by status. The request
//! and the status have to stand as in nginx's formats `combined` and `common`: the first text in
//! quotes, and the number behind it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use weir_result::document::{AccessLogSection, ServerLoad};

use crate::errors::shown;

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// Maximum length of a line, in bytes; the rest of a longer one is skipped.
const LINE_MAX_BYTES: usize = 1 << 20;

/// An access log from the end that it had when it was opened.
#[derive(Debug)]
pub(super) struct AccessLog {
    path: PathBuf,
    file: File,
    /// Incomplete last line.
    rest: Vec<u8>,
    /// The counts so far, with the lines of watchers.
    counts: AccessLogSection,
    /// Paths of watched pages, and the number of lines with status 200 of each.
    pages: BTreeMap<String, u64>,
}

impl AccessLog {
    /// Opens the log at its end. Lines of requests for `pages` are counted apart.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(path: &Path, pages: Vec<String>) -> io::Result<AccessLog> {
        // To open a pipe without a writer would wait for one.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(AccessLog {
            path: path.to_owned(),
            file,
            rest: Vec::new(),
            counts: AccessLogSection { path: shown(path), ..AccessLogSection::default() },
            pages: pages.into_iter().map(|page| (page, 0)).collect(),
        })
    }

    /// Reads what was appended until now, and returns true if that was anything. Lines that come
    /// meanwhile are left for the next time, or other clients could keep this from ending.
    pub(super) fn read(&mut self) -> bool {
        let read = self.read_to_end();
        if let Err(error) = &read {
            self.give_up(error.to_string());
        }
        read.is_ok_and(|bytes| bytes > 0)
    }

    fn read_to_end(&mut self) -> io::Result<u64> {
        let at = self.file.stream_position()?;
        let appended = self.file.metadata()?.len().saturating_sub(at);
        let mut bytes = vec![0; READ_BYTES];
        let mut left = appended;
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(READ_BYTES).min(READ_BYTES);
            let count = self.file.read(&mut bytes[..most])?;
            if count == 0 {
                break;
            }
            self.add(&bytes[..count]);
            left -= count as u64;
        }
        Ok(appended - left)
    }

    /// Notes why lines are missing: then the log is not compared.
    pub(super) fn give_up(&mut self, reason: String) {
        self.counts.error.get_or_insert(reason);
    }

    /// Lines so far, without the lines of `polls`, the requests for watched pages.
    pub(super) fn lines_without(&self, polls: &BTreeMap<String, u64>) -> u64 {
        self.counts.lines - self.own_lines(polls)
    }

    fn own_lines(&self, polls: &BTreeMap<String, u64>) -> u64 {
        let of_page =
            |(page, lines): (&String, &u64)| polls.get(page).copied().unwrap_or(0).min(*lines);
        self.pages.iter().map(of_page).sum()
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = bytes.split_at(end);
            match self.rest.is_empty() {
                true => self.count(line),
                false => {
                    let mut whole = std::mem::take(&mut self.rest);
                    whole.extend_from_slice(line);
                    self.count(&whole);
                }
            }
            bytes = &behind[1..];
        }
        let room = LINE_MAX_BYTES.saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn count(&mut self, line: &[u8]) {
        self.counts.lines += 1;
        let Some((request, status)) = parse(line) else {
            self.counts.unrecognised += 1;
            return;
        };
        *self.counts.status.entry(status).or_default() += 1;
        let target = request.split(|byte| *byte == b' ').nth(1);
        let target = target.and_then(|target| std::str::from_utf8(target).ok());
        let page = target.and_then(|target| self.pages.get_mut(target));
        if let Some(lines) = page.filter(|_| status == 200) {
            *lines += 1;
        }
    }

    /// Makes the section. `polls` are the requests for watched pages, by path.
    pub(super) fn section(
        mut self,
        load: Option<&ServerLoad>,
        polls: &BTreeMap<String, u64>,
    ) -> AccessLogSection {
        let own_lines = self.own_lines(polls);
        if self.is_rotated() {
            self.give_up("the access log was rotated or truncated during the run".to_owned());
        }
        let mut section = self.counts;
        if let Some(ok) = section.status.get_mut(&200) {
            *ok -= own_lines;
        }
        section.status.retain(|_, count| *count > 0);
        (section.lines, section.own_lines) = (section.lines - own_lines, own_lines);
        let load = load.filter(|_| section.error.is_none());
        section.difference = load.map(|load| load.difference(section.lines));
        section
    }

    /// True if the path is now another file, or the file became shorter.
    fn is_rotated(&mut self) -> bool {
        let (Ok(now), Ok(own)) = (fs::metadata(&self.path), self.file.metadata()) else {
            return true;
        };
        let at = self.file.stream_position().unwrap_or(u64::MAX);
        (now.dev(), now.ino()) != (own.dev(), own.ino()) || now.len() < at
    }
}

/// The first text in quotes, and the status behind it. nginx and Apache escape quotes in it.
fn parse(line: &[u8]) -> Option<(&[u8], u16)> {
    let start = line.iter().position(|byte| *byte == b'"')? + 1;
    let rest = &line[start..];
    let end = (0..rest.len()).find(|at| {
        let is_escaped = *at > 0 && rest[at - 1] == b'\\';
        rest[*at] == b'"' && !is_escaped
    })?;
    let (request, behind) = rest.split_at(end);
    let status = behind.strip_prefix(b"\" ")?.get(..3)?;
    let status = std::str::from_utf8(status).ok()?.parse().ok()?;
    (100..=999).contains(&status).then_some((request, status))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_of_both_formats_are_parsed() {
        let check = |line: &str, expected: Option<(&str, u16)>| {
            let expected = expected.map(|(request, status)| (request.as_bytes(), status));
            assert_eq!(parse(line.as_bytes()), expected, "{line}");
        };
        let head = "127.0.0.1 - - [23/Nov/2026:22:12:14 +0000]";
        check(&format!("{head} \"GET / HTTP/1.1\" 200 2"), Some(("GET / HTTP/1.1", 200)));
        let combined = format!("{head} \"GET /\\x22 HTTP/1.1\" 404 2 \"-\" \"weir \\\"x\\\"\"");
        check(&combined, Some(("GET /\\x22 HTTP/1.1", 404)));
        check(
            &format!("{head} \"GET /\\\" 5 HTTP/1.1\" 301 2"),
            Some(("GET /\\\" 5 HTTP/1.1", 301)),
        );
        check(&format!("{head} \"\" 400 0 \"-\" \"-\""), Some(("", 400)));
        for wrong in ["", "{\"status\": 200}", "\"GET /\" - 2", "\"GET /\" 20", "\"GET / 200"] {
            check(wrong, None);
        }
    }

    /// An access log in a file without a name, with its writer.
    fn log(pages: &[&str]) -> (AccessLog, File, PathBuf) {
        let name = format!("weir-access-log-{}-{}", std::process::id(), pages.len());
        let path = std::env::temp_dir().join(name);
        let mut file = File::create(&path).expect("a temporary file");
        file.write_all(b"x \"GET /old HTTP/1.1\" 500 1\n").expect("room");
        let pages = pages.iter().map(|page| (*page).to_owned()).collect();
        (AccessLog::open(&path, pages).expect("it is there"), file, path)
    }

    #[test]
    fn appended_lines_are_counted_however_they_arrive() {
        let (mut log, mut file, path) = log(&[]);
        assert!(!log.read(), "older lines do not count");
        for piece in ["x \"GET /a", " HTTP/1.1\" 20", "0 1\nx \"GET /b HTTP/1.1\" 404 1\nno\n"] {
            file.write_all(piece.as_bytes()).expect("room");
            log.read();
        }
        let load = ServerLoad { requests: 2, ..ServerLoad::default() };
        let section = log.section(Some(&load), &BTreeMap::new());
        fs::remove_file(path).expect("it is there");
        assert_eq!((section.lines, section.unrecognised, section.own_lines), (3, 1, 0));
        assert_eq!(section.status, BTreeMap::from([(200, 1), (404, 1)]));
        assert_eq!((section.difference, section.error), (Some(1), None));
    }

    #[test]
    fn the_watchers_lines_are_taken_off_even_if_the_load_has_their_path() {
        let (mut log, mut file, path) = log(&["/status"]);
        for _ in 0..10 {
            file.write_all(b"x \"GET /status HTTP/1.1\" 200 1\n").expect("room");
        }
        log.read();
        let polls = BTreeMap::from([("/status".to_owned(), 3)]);
        assert_eq!(log.lines_without(&polls), 7);
        // Another file in its place.
        fs::remove_file(&path).expect("it is there");
        let section = log.section(None, &polls);
        assert_eq!((section.lines, section.own_lines, section.difference), (7, 3, None));
        assert_eq!(section.status, BTreeMap::from([(200, 7)]));
        assert!(section.error.is_some_and(|error| error.contains("rotated")));
    }
}
