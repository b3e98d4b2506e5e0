//! Checks of the fuzz targets on stable Rust: over the committed corpus, and over thousands of
//! mutations of it, the same in every run.

use crate::cases;
use crate::check;
use std::fs;
use std::path::{Path, PathBuf};

use crate::check::{Setup, XorShift};

/// Mutations of each file of the corpus.
const MUTATIONS: usize = 60;

/// Largest input that is mutated: larger ones take long and behave like smaller ones.
const MUTATED_BYTES_MAX: usize = 2000;

/// Insertions of the mutations: protocol elements, and bytes that invalidate them.
const WORDS: [&[u8]; 28] = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 404 \r\n",
    b"HTTP/1.1 100 \r\n\r\n",
    b"HTTP/1.1 204\n",
    b"HTTP/1.1 304 Not Modified\r\n",
    b"Content-Length: ",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: ",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"\r\n\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"\n\n",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"\"",
    b"\0",
    b"0\r\n\r\n",
    b"3\r\nabc\r\n",
    b"abc",
    b"9999999999999999999999",
    b"\xff",
];

#[test]
fn the_corpus_holds() {
    let inputs = corpus();
    assert!(inputs.len() > 30, "the corpus is in fuzz/corpus");
    for input in &inputs {
        check(input);
    }
}

#[test]
fn mutations_of_the_corpus_hold() {
    let inputs: Vec<_> =
        corpus().into_iter().filter(|input| input.len() <= MUTATED_BYTES_MAX).collect();
    let mut random = XorShift::new(20_250_607);
    for input in &inputs {
        for _ in 0..MUTATIONS {
            let other = &inputs[random.below(inputs.len())];
            let mutant = mutate(input, other, &WORDS, &mut random);
            // The message of a failure contains its input, for a regression test.
            let result = std::panic::catch_unwind(|| check(&mutant));
            assert!(result.is_ok(), "failed: {:?}", mutant.escape_ascii().to_string());
        }
    }
}

/// Every small case of the table is in the corpus. `WRITE_CORPUS=1` writes it.
#[test]
fn the_corpus_has_the_table() {
    for case in cases::all().iter().filter(|case| case.bytes.len() <= MUTATED_BYTES_MAX) {
        let setup = Setup { requests: case.requests(), seed: case.bytes.len() as u64 };
        let input = [&setup.bytes()[..], &case.bytes].concat();
        let path = directory().join(case.name);
        if std::env::var_os("WRITE_CORPUS").is_some() {
            fs::write(&path, &input).expect("the corpus can be written");
        }
        let file = fs::read(&path).expect("the case is in the corpus; WRITE_CORPUS=1 adds it");
        assert_eq!(file, input, "{}", case.name);
    }
}

fn check(input: &[u8]) {
    check::response(input);
    check::head(&input[Setup::BYTES.min(input.len())..]);
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/http1_response")
}

/// Returns the files of the corpus, ordered by name.
fn corpus() -> Vec<Vec<u8>> {
    let entries = fs::read_dir(directory()).expect("the corpus is in the tree");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a readable file")).collect()
}

/// Mutations of each file of a small corpus.
const SMALL_MUTATIONS: usize = 500;

/// Checks mutations of the corpus of a fuzz target, with its words.
pub(crate) fn hold_under_mutations(
    target: &str,
    seed: u64,
    words: &[&[u8]],
    check: impl Fn(&[u8]) + std::panic::RefUnwindSafe,
) {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(place).expect("the corpus is in the tree");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let inputs: Vec<_> =
        paths.iter().map(|path| fs::read(path).expect("a readable file")).collect();
    assert!(inputs.len() >= 8, "the corpus is in fuzz/corpus");
    let mut random = XorShift::new(seed);
    for input in &inputs {
        check(input);
        for _ in 0..SMALL_MUTATIONS {
            let other = &inputs[random.below(inputs.len())];
            let mutant = mutate(input, other, words, &mut random);
            // The message of a failure contains its input, for a regression test.
            let result = std::panic::catch_unwind(|| check(&mutant));
            assert!(result.is_ok(), "failed: {:?}", mutant.escape_ascii().to_string());
        }
    }
}

/// Returns `input` after some random edits, which insert `words` and parts of `other`.
pub(crate) fn mutate(
    input: &[u8],
    other: &[u8],
    words: &[&[u8]],
    random: &mut XorShift,
) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(8)).min(bytes.len());
        match random.below(7) {
            0 => drop(bytes.splice(at..at, words[random.below(words.len())].iter().copied())),
            1 => drop(bytes.splice(at..end, words[random.below(words.len())].iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => drop(bytes.splice(at..end, input[at.min(input.len())..].iter().copied())),
            4 => drop(bytes.splice(at.., other[at.min(other.len())..].iter().copied())),
            5 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.below(256) as u8),
        }
    }
    bytes
}
