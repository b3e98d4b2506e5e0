//! The number of threads that are runnable now on the whole machine, from /proc/loadavg.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The open file, which the kernel makes anew at each reading; one takes about 1 µs.
#[derive(Debug)]
pub struct RunnableThreads(Option<File>);

impl RunnableThreads {
    /// Opens the file.
    pub fn open() -> RunnableThreads {
        RunnableThreads(File::open("/proc/loadavg").ok())
    }

    /// Returns their number, the calling thread included; `None` if it cannot be read.
    pub fn count(&self) -> Option<u32> {
        let mut text = [0; 64];
        let bytes = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        parse(&text[..bytes])
    }
}

/// Parses the number before the slash of the fourth field (proc_loadavg(5)).
fn parse(loadavg: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(loadavg).ok()?;
    let (runnable, _) = text.split_ascii_whitespace().nth(3)?.split_once('/')?;
    runnable.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runnable_threads_are_read() {
        assert_eq!(parse(b"0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(parse(b"0.20 0.18 0.12\n"), None);
        assert_eq!(parse(b""), None);
        assert!(RunnableThreads::open().count().is_some_and(|count| count >= 1));
    }
}
