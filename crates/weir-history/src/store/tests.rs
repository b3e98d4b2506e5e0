//! The file: saved runs come back, also with several writers, and every fault has its message.

use std::sync::Barrier;
use std::{fs, thread};

use super::*;
use crate::tests::document;

/// A directory for one test, removed after it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("weir-history-{name}-{}", std::process::id()));
        let _none = fs::remove_dir_all(&path);
        Directory(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("data/weir/history.db")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.0);
    }
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn tags(words: &[&str]) -> Vec<Tag> {
    words.iter().map(|word| word.parse().expect("a tag")).collect()
}

fn selector(text: &str) -> Selector {
    text.parse().expect("a selector")
}

/// A history with three runs of `a` and one of `b`, saved in another order than they ran.
fn four(directory: &Directory) -> History {
    let mut history = History::create(&directory.file()).expect("a new history");
    for (of, id, time) in [("a", "one", 10), ("a", "three", 30), ("b", "b", 25), ("a", "two", 20)] {
        history.save(&name(of), &tags(&["t"]), &document(id, time, 100, 1_000_000)).expect("saved");
    }
    history
}

fn ids(history: &History, text: &str) -> Vec<i64> {
    let entries = history.select(&selector(text)).expect(text);
    entries.iter().map(|entry| entry.id).collect()
}

#[test]
fn a_document_comes_back_as_it_was_saved() {
    let directory = Directory::new("back");
    let mut history = History::create(&directory.file()).expect("a new history");
    let saved = document("one", 10, 1_000, 1_234_567);
    let id = history.save(&name("a"), &tags(&["v2", "main", "v2"]), &saved).expect("saved");
    assert_eq!(id, 1);
    drop(history);
    let history = History::open(&directory.file()).expect("it is there");
    let [run] = &history.documents(&selector("a")).expect("saved")[..] else { panic!("one run") };
    assert_eq!(run.document, saved);
    let entry = &run.entry;
    assert_eq!((entry.id, entry.name.as_str(), entry.run_id.as_str()), (1, "a", "one"));
    assert_eq!(entry.tags, ["main", "v2"]);
    assert_eq!(entry.minute(), "2026-01-02 03:04");
    assert_eq!(entry.key, SeriesKey::of(&saved));
    assert_eq!(entry.plan_sha256.as_deref(), Some("3f1c"));
    assert_eq!(entry.command, saved.run.command);
    assert_eq!(entry.grade, saved.verdict.grade);
    let names: Vec<_> = entry.figures.iter().map(|figure| figure.metric.as_str()).collect();
    assert_eq!(names, ["rate", "p50", "p99", "errors"]);
    assert_eq!(entry.figure("rate").map(|figure| figure.value), Some(100.0));
}

#[test]
fn the_newest_run_is_the_first() {
    let directory = Directory::new("newest");
    let history = four(&directory);
    for (text, expected) in
        [("a", &[2, 4, 1][..]), ("a@1", &[2]), ("a@3", &[1]), ("b", &[3]), ("3", &[3])]
    {
        assert_eq!(ids(&history, text), expected, "{text}");
    }
    let all = history.entries(Filter { count: Some(2), ..Filter::default() }).expect("runs");
    assert_eq!(all.iter().map(|entry| entry.id).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn runs_that_are_not_there_have_an_error() {
    let directory = Directory::new("missing");
    let mut history = four(&directory);
    let error = |text| history.select(&selector(text)).expect_err(text).to_string();
    assert_eq!(error("c"), "no run is saved as c: saved are a, b");
    assert_eq!(error("c@2"), "no run is saved as c: saved are a, b");
    assert_eq!(error("a@4"), "a@4 is not there: the number of runs under this name is 3");
    assert_eq!(error("9"), "there is no run #9 in the history: weir history list prints all");
    let twice = history.save(&name("a"), &[], &document("two", 99, 1, 1_000));
    let twice = twice.expect_err("the same run").to_string();
    assert_eq!(twice, "this run is saved as a already: it is #4");
    history.save(&name("c"), &[], &document("two", 99, 1, 1_000)).expect("another name");
}

#[test]
fn tags_are_added_and_removed() {
    let directory = Directory::new("tags");
    let mut history = four(&directory);
    assert_eq!(history.tag(2, &tags(&["x", "t"]), true).expect("tagged").tags, ["t", "x"]);
    assert_eq!(history.tag(2, &tags(&["t", "none"]), false).expect("untagged").tags, ["x"]);
    let tag = tags(&["t"]);
    let filter = Filter { tag: tag.first(), ..Filter::default() };
    let tagged = history.entries(filter).expect("runs");
    assert_eq!(tagged.iter().map(|entry| entry.id).collect::<Vec<_>>(), [3, 4, 1]);
    assert!(matches!(history.tag(9, &tag, true), Err(HistoryError::UnknownId(9))));
    let of = name("c");
    let tag = tags(&["t"]);
    let filter = Filter { name: Some(&of), tag: tag.first(), count: None };
    assert!(matches!(history.entries(filter), Err(HistoryError::UnknownName { .. })));
    // No run of this name has the tag: an empty list, not an error.
    let of = name("a");
    let tag = tags(&["x2"]);
    let filter = Filter { name: Some(&of), tag: tag.first(), count: None };
    assert_eq!(history.entries(filter).expect("none"), []);
}

#[test]
fn removed_runs_are_gone() {
    let directory = Directory::new("removed");
    let mut history = four(&directory);
    let error = history.remove(&[1, 9]).expect_err("one is not there");
    assert!(matches!(error, HistoryError::UnknownId(9)), "{error}");
    assert_eq!(ids(&history, "a"), [2, 4, 1], "none was removed");
    history.save(&name("a"), &[], &document("SECRET-name", 5, 1, 1_000)).expect("saved");
    let size = fs::metadata(directory.file()).expect("a file").len();
    history.remove(&[1, 2, 4, 5]).expect("removed");
    assert!(matches!(history.document(1), Err(HistoryError::UnknownId(1))));
    let bytes = fs::read(directory.file()).expect("a file");
    assert!((bytes.len() as u64) < size, "{} of {size} bytes are left", bytes.len());
    assert!(!bytes.windows(11).any(|part| part == b"SECRET-name"), "it is still in the file");
    // An ID is never given twice.
    let id = history.save(&name("a"), &[], &document("new", 40, 1, 1_000)).expect("saved");
    assert_eq!(id, 6);
}

#[test]
fn many_writers_all_save() {
    let directory = Directory::new("writers");
    let barrier = Barrier::new(8);
    let saved = document("base", 1, 100, 1_000_000);
    thread::scope(|scope| {
        for writer in 0..8 {
            let barrier = &barrier;
            let saved = &saved;
            let file = directory.file();
            let save = move || {
                barrier.wait();
                // The first of them begins the history.
                for run in 0..5 {
                    let mut document = saved.clone();
                    document.run.id = format!("{writer}-{run}");
                    let mut history = History::create(&file).expect("a history");
                    history.save(&name("a"), &tags(&["t"]), &document).expect("saved");
                }
            };
            thread::Builder::new().spawn_scoped(scope, save).expect("a thread");
        }
    });
    let history = History::open(&directory.file()).expect("it is there");
    assert_eq!(history.select(&selector("a")).expect("runs").len(), 40);
}

#[test]
fn a_part_is_not_saved() {
    let directory = Directory::new("part");
    let mut history = History::create(&directory.file()).expect("a new history");
    let mut part = document("one", 10, 10, 1_000);
    part.plan.part = weir_result::Part::new(2, 3);
    let error = history.save(&name("a"), &[], &part).expect_err("a part").to_string();
    assert!(error.starts_with("it is part 2 of 3 of a run: merge the parts"), "{error}");
}

#[test]
fn every_fault_of_the_file_has_its_message() {
    let directory = Directory::new("faults");
    let file = directory.file();
    let open = || History::open(&file).expect_err("it cannot be opened").to_string();
    let shown = file.display();
    assert_eq!(
        open(),
        format!("there is no history at {shown}: weir `history.save` NAME URL begins one")
    );

    drop(four(&directory));
    let good = fs::read(&file).expect("a file");
    fs::write(&file, [b"garbage".repeat(1_000)].concat()).expect("a file");
    assert!(open().contains("it is damaged or no history: move it away"), "{}", open());
    let create = History::create(&file).expect_err("damaged").to_string();
    assert_eq!(create, open());

    fs::remove_file(&file).expect("a file");
    let other = Connection::open(&file).expect("a file");
    other.execute_batch("CREATE TABLE theirs (a); PRAGMA user_version = 1").expect("a table");
    let expected =
        format!("{shown} belongs to another program: give another file with `history.file`");
    assert_eq!(open(), expected);

    fs::write(&file, &good).expect("a file");
    let newer = Connection::open(&file).expect("a file");
    newer.pragma_update(None, "user_version", 7).expect("a number");
    let expected = "is of a newer weir (format 7, this weir reads up to 1): use that weir, or";
    assert!(open().contains(expected), "{}", open());

    // Tables are damaged, the header is not.
    let mut cut = good.clone();
    cut.truncate(good.len() / 4096 / 2 * 4096);
    fs::write(&file, cut).expect("a file");
    let damaged = History::open(&file).and_then(|history| history.documents(&selector("a")));
    let damaged = damaged.expect_err("it is cut").to_string();
    assert!(damaged.contains("move it away"), "{damaged}");
}

#[test]
fn a_damaged_document_is_named() {
    let directory = Directory::new("document");
    let history = four(&directory);
    let spoil = |sql: &str| history.connection.execute_batch(sql).expect(sql);
    spoil("UPDATE runs SET document = x'0102' WHERE id = 1");
    let error = history.document(1).expect_err("no document").to_string();
    assert!(error.starts_with("run #1 of the history is damaged: "), "{error}");
    assert!(error.ends_with("; weir history remove 1 removes it"), "{error}");
    spoil("UPDATE runs SET grade = 'splendid' WHERE id = 3");
    let error = history.select(&selector("b")).expect_err("no grade").to_string();
    assert!(error.starts_with("run #3 of the history is damaged: unknown variant"), "{error}");
    assert_eq!(ids(&history, "a"), [2, 4, 1], "the others can be read");
    // A file from elsewhere, with text that a terminal would obey.
    spoil("UPDATE tags SET tag = char(27) || '[2J' WHERE run = 1");
    let error = history.select(&selector("a")).expect_err("no tag").to_string();
    assert!(error.starts_with("run #1 of the history is damaged: use letters, digits"), "{error}");
    spoil("UPDATE runs SET time = char(27) || '[2J' WHERE id = 2");
    let entry = history.newest(&selector("2")).expect("its tags are right");
    assert_eq!((entry.minute(), entry.day()), ("?[2J".to_owned(), "?[2J".to_owned()));
}

/// Root may write everywhere, so the first place is one without directories for files.
#[test]
fn a_place_that_cannot_be_written_has_a_remedy() {
    let error = History::create(Path::new("/proc/weir/history.db")).expect_err("no directory");
    let text = error.to_string();
    assert!(matches!(error, HistoryError::Directory { .. }), "{text}");
    assert!(text.ends_with("choose another place with `history.file` FILE"), "{text}");

    let directory = Directory::new("readonly");
    drop(four(&directory));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let mut history = History::connect(&directory.file(), flags).expect("it can be read");
    assert_eq!(ids(&history, "b"), [3]);
    let error = history.save(&name("a"), &[], &document("x", 1, 1, 1_000));
    let text = error.expect_err("it is read-only").to_string();
    assert!(text.contains("make the file and its directory writable, or choose"), "{text}");
    let pages = "PRAGMA max_page_count = 1";
    let mut full = History::open(&directory.file()).expect("it is there");
    full.connection.query_row(pages, [], |_| Ok(())).expect("a limit");
    let long: Vec<String> = (0..20_000).map(|word| word.to_string()).collect();
    let mut large = document("large", 1, 10, 1_000);
    large.run.command = Some(long);
    let error = full.save(&name("a"), &[], &large).expect_err("it is full").to_string();
    assert!(
        error.contains("database or disk is full; free space on its disk, or choose"),
        "{error}"
    );
    assert_eq!(ids(&full, "a"), [2, 4, 1], "nothing is lost");
}

/// A writer that holds the file does not block for ever, and its message says so.
#[test]
fn a_busy_file_is_waited_for() {
    let directory = Directory::new("busy");
    let history = four(&directory);
    let mut other = History::open(&directory.file()).expect("it is there");
    other.connection.busy_timeout(Duration::from_millis(1)).expect("a time");
    history.connection.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let error = other.remove(&[1]).expect_err("it is locked").to_string();
    assert!(error.ends_with("another program uses it: try again"), "{error}");
    history.connection.execute_batch("COMMIT").expect("unlocked");
    other.remove(&[1]).expect("removed");
}
