//! Lists of CPUs as the kernel and taskset(1) write them: `0-3,8`.

/// Parses a list; `None` if it has an unknown form. An empty list has no CPUs.
pub fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for span in text.trim().split(',').filter(|span| !span.is_empty()) {
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        let from: u32 = from.parse().ok()?;
        let to: u32 = to.parse().ok()?;
        cpus.extend(from..=to.min(from.saturating_add(CPUS_MAX)));
    }
    Some(cpus)
}

/// Maximum CPUs of a span: more than Linux supports.
const CPUS_MAX: u32 = 65_535;

/// Formats ascending numbers as a list.
pub fn format(cpus: &[u32]) -> String {
    let spans = cpus.chunk_by(|a, b| a + 1 == *b).map(|span| match span {
        [first, .., last] if span.len() > 2 => format!("{first}-{last}"),
        _ => span.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    });
    spans.collect::<Vec<_>>().join(",")
}

/// Formats a list with its noun: `CPU 3`, `CPUs 0-3`.
pub fn named(cpus: &[u32]) -> String {
    format!("CPU{} {}", if cpus.len() == 1 { "" } else { "s" }, format(cpus))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, cpus) in [
            ("0-3,8", &[0, 1, 2, 3, 8][..]),
            ("0,1", &[0, 1]),
            ("5", &[5]),
            ("", &[]),
            ("0,2,4-6", &[0, 2, 4, 5, 6]),
        ] {
            assert_eq!(parse(text).as_deref(), Some(cpus), "{text}");
            assert_eq!(format(cpus), text);
        }
        assert_eq!(parse("0-x"), None);
        assert_eq!((named(&[3]).as_str(), named(&[0, 1]).as_str()), ("CPU 3", "CPUs 0,1"));
    }
}
