//! The error for an unreachable server, and the wait for it, which repeats a failed attempt until
//! it succeeds or the time is over. Nothing here connects or resolves.

use std::fmt::Display;
use std::thread;
use std::time::{Duration, Instant};

use weir_text::setting::WAIT_FOR_SERVER;
use weir_text::units;

use crate::errors::NoServer;
use crate::observer::Observer;
use crate::spec::TargetSpec;

/// Interval between two attempts.
const EVERY: Duration = Duration::from_millis(100);

/// The wait for a server, if one is specified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerWait {
    span_ns: Option<u64>,
    from: Instant,
}

impl ServerWait {
    /// Starts the wait for `target`.
    pub(crate) fn new(target: &TargetSpec) -> ServerWait {
        ServerWait { span_ns: target.wait_ns, from: Instant::now() }
    }

    /// True if the run waits for the server.
    pub(crate) fn is_enabled(&self) -> bool {
        self.span_ns.is_some()
    }

    /// Repeats `attempt` until it succeeds or the time is over. The observer gets the first
    /// failure, the caller the last one.
    pub(crate) fn retry<T, E: Display>(
        &self,
        mut attempt: impl FnMut() -> Result<T, E>,
        observer: &mut dyn Observer,
    ) -> Result<T, E> {
        let span = Duration::from_nanos(self.span_ns.unwrap_or(0));
        let mut is_reported = false;
        loop {
            match attempt() {
                Err(error) if self.from.elapsed() < span => {
                    if !std::mem::replace(&mut is_reported, true) {
                        observer.waiting(&error.to_string());
                    }
                    thread::sleep(EVERY.min(span.saturating_sub(self.from.elapsed())));
                }
                result => return result,
            }
        }
    }

    /// The error for a failure, with its `remedy`.
    pub(crate) fn give_up(&self, failure: impl Display, remedy: &str) -> NoServer {
        NoServer(match self.span_ns {
            Some(span_ns) => {
                format!("{failure} (retried for {}); {remedy}", units::exact_duration(span_ns))
            }
            None => format!("{failure}; {remedy}, or wait for it with {WAIT_FOR_SERVER} 30s"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    fn waiting(span_ns: Option<u64>) -> ServerWait {
        ServerWait { span_ns, from: Instant::now() }
    }

    /// Collects the reported failures.
    #[derive(Default)]
    struct Reported(Vec<String>);

    impl Observer for Reported {
        fn waiting(&mut self, failure: &str) {
            self.0.push(failure.to_owned());
        }
    }

    #[test]
    fn one_attempt_is_enough_without_the_flag() {
        let mut attempts = 0;
        let failed: Result<(), _> = waiting(None).retry(
            || {
                attempts += 1;
                Err("refused")
            },
            &mut Silent,
        );
        assert_eq!((failed, attempts), (Err("refused"), 1));
        let error = waiting(None).give_up("refused", "start it").to_string();
        assert_eq!(error, "refused; start it, or wait for it with `target.wait_ns` 30s");
    }

    #[test]
    fn what_fails_is_tried_until_it_succeeds() {
        let mut attempts = 0;
        let mut reported = Reported::default();
        let found = waiting(Some(u64::MAX)).retry(
            || {
                attempts += 1;
                if attempts < 3 { Err("refused") } else { Ok(attempts) }
            },
            &mut reported,
        );
        assert_eq!((found, reported.0), (Ok(3), vec!["refused".to_owned()]), "reported once");
    }

    #[test]
    fn the_wait_has_an_end() {
        let failed: Result<(), _> = waiting(Some(1)).retry(|| Err("refused"), &mut Silent);
        assert_eq!(failed, Err("refused"));
        let error = waiting(Some(2_000_000_000)).give_up("refused", "start it").to_string();
        assert_eq!(error, "refused (retried for 2 s); start it");
    }
}
