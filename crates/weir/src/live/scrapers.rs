//! The programs that scrape the metrics of a run, and the wait for their last scrape at its end.
//! Independent of sockets.

use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_runner::Interrupts;

/// Most scrapers that are known. Further ones are not waited for.
const SCRAPERS_MAX: usize = 8;

/// Longest wait, whatever the interval of a scraper.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Intervals that are kept of a scraper. Scrapers that share an address and a `User-Agent` take
/// turns, so that their intervals repeat.
const INTERVALS_KEPT: usize = 16;

/// Least number of scrapes after the end that are awaited of one that came several times: two that
/// look alike may have come once each.
const END_SCRAPES: usize = 2;

/// Intervals are alike if they differ by no more than this share of a period.
const JITTER_SHARE: u32 = 8;

/// Starts of the `User-Agent` of programs with which people read a page once.
const OF_PEOPLE: [&str; 4] = ["curl/", "Wget/", "Mozilla/", "HTTPie/"];

/// The scrapers of a run. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scrapers(Arc<(Mutex<Vec<Scraper>>, Condvar)>);

/// One of them, or several that look alike: an address and a `User-Agent`.
#[derive(Debug)]
struct Scraper {
    address: IpAddr,
    agent: String,
    last_at: Instant,
    /// Times between its last scrapes, the latest first.
    intervals: Vec<Duration>,
    /// Number of its scrapes that had the end of the load.
    ends: usize,
}

impl Scraper {
    /// Returns the end of the wait for it, for a load that has ended at `now`. `None` if it has the
    /// end, is a person's, or has left.
    fn until(&self, now: Instant) -> Option<Instant> {
        let longest = self.intervals.iter().max();
        let span = match longest {
            Some(longest) => {
                // Each of several has come once a period has passed.
                let period = self.period(self.alike());
                longest.saturating_mul(2).max(period + period / JITTER_SHARE).min(WAIT_MAX)
            }
            // It came late in the load, or seldom comes.
            None if self.is_program() => WAIT_MAX,
            None => return None,
        };
        let has_left = now.saturating_duration_since(self.last_at) > span;
        (!self.has_end() && !has_left).then(|| now + span)
    }

    /// True if no further scrape is awaited. One that came once does not share its place.
    fn has_end(&self) -> bool {
        self.ends >= END_SCRAPES.min(self.intervals.len().max(1)).max(self.alike())
    }

    /// Returns the number of scrapers that look like this one: after so many of their intervals
    /// these repeat. 1 if they do not, or have not yet.
    fn alike(&self) -> usize {
        let repeats = |count: &usize| {
            let jitter = self.period(*count) / JITTER_SHARE;
            let pairs = self.intervals.iter().zip(&self.intervals[*count..]);
            pairs.into_iter().all(|(one, other)| one.abs_diff(*other) <= jitter)
        };
        (1..=self.intervals.len() / 2).find(repeats).unwrap_or(1)
    }

    /// Returns the time in which so many scrapers that look alike come once each.
    fn period(&self, count: usize) -> Duration {
        self.intervals.iter().take(count).sum()
    }

    /// True if it names a program that comes again.
    fn is_program(&self) -> bool {
        !self.agent.is_empty() && !OF_PEOPLE.iter().any(|begin| self.agent.starts_with(begin))
    }
}

impl Scrapers {
    /// Notes a scrape; `has_end` if it had the end of the load.
    pub(super) fn seen(&self, address: IpAddr, agent: Option<&str>, has_end: bool, now: Instant) {
        let mut scrapers = self.lock();
        let agent = agent.unwrap_or_default();
        let known = scrapers.iter().position(|one| one.address == address && one.agent == agent);
        match known {
            Some(index) => {
                let scraper = &mut scrapers[index];
                let interval = now.saturating_duration_since(scraper.last_at);
                scraper.last_at = now;
                if has_end {
                    // A wait that has begun keeps its length.
                    scraper.ends += 1;
                } else {
                    scraper.ends = 0;
                    scraper.intervals.insert(0, interval);
                    scraper.intervals.truncate(INTERVALS_KEPT);
                }
            }
            None if scrapers.len() < SCRAPERS_MAX => {
                let agent = agent.to_owned();
                let last_at = now;
                let intervals = Vec::new();
                let ends = usize::from(has_end);
                scrapers.push(Scraper { address, agent, last_at, intervals, ends });
            }
            None => {}
        }
        self.0.1.notify_all();
    }

    /// Waits until each scraper has seen the end of the load, for two of its longest intervals at
    /// most; one that came once, for a minute. A signal ends the wait. `announce` is called
    /// before it, with its longest time.
    pub(crate) fn await_last(&self, interrupts: &Interrupts, announce: impl FnOnce(Duration)) {
        let now = Instant::now();
        let ends: Vec<Option<Instant>> =
            self.lock().iter().map(|scraper| scraper.until(now)).collect();
        let Some(last) = ends.iter().flatten().max() else { return };
        interrupts.begin_wait();
        let patience = interrupts.patience(*last - now);
        announce(*last - now);
        let mut scrapers = self.lock();
        while let Ok(slice) = patience.slice() {
            let now = Instant::now();
            let is_awaited = |(scraper, until): (&Scraper, &Option<Instant>)| {
                !scraper.has_end() && until.is_some_and(|until| now < until)
            };
            if !scrapers.iter().zip(&ends).any(is_awaited) {
                return;
            }
            let waited = self.0.1.wait_timeout(scrapers, slice);
            scrapers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Scraper>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_scraper_is_awaited_for_two_of_its_intervals() {
        let scrapers = Scrapers::default();
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let until = |index: usize, now: Instant| scrapers.lock()[index].until(now);
        let see = |agent, ms, has_end| scrapers.seen(ADDRESS, agent, has_end, at(ms));
        see(Some("Prometheus"), 0, false);
        see(None, 500, false);
        assert_eq!(until(0, at(900)), Some(at(60_900)), "it came once, and may come again");
        see(Some("Prometheus"), 1_000, false);
        assert_eq!(until(0, at(1_900)), Some(at(3_900)));
        assert_eq!(until(0, at(3_001)), None, "it has left");
        assert_eq!(until(1, at(1_000)), None, "a person came once");
        see(Some("Prometheus"), 2_000, true);
        assert_eq!(until(0, at(2_100)), None, "it has seen the end");
        see(None, 600_500, false);
        assert_eq!(until(1, at(600_500)), Some(at(660_500)), "no wait is longer");
        see(Some("curl/8.5"), 0, false);
        assert_eq!(until(2, at(1)), None, "a person came once");
    }

    /// Two Prometheus behind one address scrape every 5 s, the second 1 s after the first.
    #[test]
    fn two_scrapers_that_look_alike_both_see_the_end() {
        let scrapers = Scrapers::default();
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let see = |ms, has_end| scrapers.seen(ADDRESS, Some("Prometheus"), has_end, at(ms));
        [0, 1_000, 5_000, 6_000, 10_000, 11_000].into_iter().for_each(|ms| see(ms, false));
        let until = |now: Instant| scrapers.lock()[0].until(now);
        assert_eq!(until(at(11_500)), Some(at(19_500)), "two of the longest of its intervals");
        see(15_000, true);
        assert!(until(at(15_001)).is_some(), "the other one has not seen it");
        see(16_000, true);
        assert_eq!(until(at(16_001)), None);
    }

    /// Three scrape every 6 s, the second 1 s and the third 3 s after the first.
    #[test]
    fn three_scrapers_that_look_alike_all_see_the_end() {
        let scrapers = Scrapers::default();
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let see = |ms, has_end| scrapers.seen(ADDRESS, Some("Prometheus"), has_end, at(ms));
        for ms in [0, 1_000, 3_000, 6_000, 7_050, 9_000, 12_000] {
            see(ms, false);
        }
        let until = |now: Instant| scrapers.lock()[0].until(now);
        assert_eq!(scrapers.lock()[0].alike(), 3);
        assert!(until(at(12_500)) >= Some(at(18_500)), "each of them comes once in 6 s");
        for ms in [13_000, 15_000] {
            see(ms, true);
            assert!(until(at(ms + 1)).is_some(), "another one has not seen it");
        }
        see(18_000, true);
        assert_eq!(until(at(18_001)), None);
    }

    #[test]
    fn the_wait_ends_when_each_scraper_has_seen_the_end() {
        let scrapers = Scrapers::default();
        let now = Instant::now();
        let mut announced = None;
        scrapers.await_last(&Interrupts::default(), |span| announced = Some(span));
        assert_eq!(announced, None, "without a scraper");
        let early = now.checked_sub(Duration::from_secs(20)).expect("this machine runs longer");
        scrapers.seen(ADDRESS, None, false, early);
        scrapers.seen(ADDRESS, None, false, now);
        let theirs = scrapers.clone();
        scrapers.await_last(&Interrupts::default(), |span| {
            announced = Some(span);
            std::thread::spawn(move || theirs.seen(ADDRESS, None, true, Instant::now()));
        });
        assert_eq!(announced, Some(Duration::from_secs(40)));
    }
}
