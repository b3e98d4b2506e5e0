//! `--pin` and its list of CPUs, written as for taskset(1). Nothing here checks that the CPUs
//! exist.

use std::ffi::OsString;

use weir_runner::Pin;

/// Number of CPUs that a list may name: the size of the mask for sched_setaffinity(2).
const CPUS_MAX: u32 = 1_024;

/// The value that stands for `--pin` without a list.
pub(super) const ALL: &str = "all";

/// Parses `2-5`, `2,4` or `0-6:2`.
pub(super) fn pin(text: &str) -> Result<Pin, String> {
    if text == ALL {
        return Ok(Pin::All);
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let wrong = || format!("{part:?} is not a CPU or range; use 2-5 or 2,4");
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let first = number(first)?;
        let last = number(last)?;
        let step = number(step)?;
        if last < first || step == 0 {
            return Err(wrong());
        }
        if last >= CPUS_MAX {
            return Err(format!("CPU {last} is beyond the {CPUS_MAX} that can be named"));
        }
        cpus.extend((first..=last).step_by(step as usize));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Pin::Cpus(cpus))
}

/// Joins `--pin` with a list in the next word: without one the next word may be the URL.
pub(super) fn joined(words: impl IntoIterator<Item = impl Into<OsString>>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut are_flags = true;
    for word in words {
        let word = word.into();
        let is_list = word.to_str().is_some_and(|text| {
            let is_part = |part: char| part.is_ascii_digit() || "-,:".contains(part);
            text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(is_part)
        });
        match joined.last_mut() {
            Some(flag) if are_flags && flag == "--pin" && is_list => {
                flag.push("=");
                flag.push(word);
            }
            _ => {
                are_flags &= word != "--";
                joined.push(word);
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_by_taskset() {
        let check = |text, cpus: &[u32]| {
            assert_eq!(pin(text), Ok(Pin::Cpus(cpus.to_vec())), "{text}");
        };
        check("2", &[2]);
        check("2-5", &[2, 3, 4, 5]);
        check("4,2,2", &[2, 4]);
        check("0-6:2,9", &[0, 2, 4, 6, 9]);
        assert_eq!(pin("all"), Ok(Pin::All));
        for wrong in ["", "x", "5-2", "1,", "-1", "1-", "0-3:0", "1024", "0-4294967295"] {
            assert!(pin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_in_the_next_word_belongs_to_the_flag() {
        let check = |words: &str, expected: &str| {
            let words = joined(words.split(' ').map(OsString::from));
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), expected);
        };
        check("weir --pin 2-5 URL", "weir --pin=2-5 URL");
        check("weir --pin 2,4 -t2 URL", "weir --pin=2,4 -t2 URL");
        check("weir --pin 5-2 URL", "weir --pin=5-2 URL");
        check("weir --pin 127.0.0.1:80 2", "weir --pin 127.0.0.1:80 2");
        check("weir --pin http://h/ 2", "weir --pin http://h/ 2");
        check("weir -c10 --pin -d 2 URL", "weir -c10 --pin -d 2 URL");
        check("weir URL -- --pin 2", "weir URL -- --pin 2");
    }
}
