//! nginx's stub_status page: its form, and the counts between two readings. The numbers include the
//! requests for the page itself.

use weir_result::document::{NginxSample, NginxSection, Polls, ServerLoad};

/// Parses the page; `None` if it has another form.
pub(super) fn parse(page: &str) -> Option<NginxSample> {
    let after = |label: &str| {
        let (_, rest) = page.split_once(label)?;
        rest.split_whitespace().next()?.parse().ok()
    };
    // `server accepts handled requests`, in newer versions with `request_time`, and the numbers in
    // the line below.
    let (_, rest) = page.split_once("server accepts handled requests")?;
    let mut numbers = rest.lines().nth(1)?.split_whitespace().map(str::parse);
    let mut number = || numbers.next()?.ok();
    Some(NginxSample {
        at_s: 0.0,
        active: after("Active connections:")?,
        accepts: number()?,
        handled: number()?,
        requests: number()?,
        reading: after("Reading:")?,
        writing: after("Writing:")?,
        waiting: after("Waiting:")?,
    })
}

/// Makes the section of these readings. `own_requests` is the number of requests that watchers sent
/// to nginx after the first reading; the last one is in `after`.
pub(super) fn section(
    url: String,
    polls: Polls,
    series: Vec<NginxSample>,
    after: Option<NginxSample>,
    own_requests: u64,
    load: Option<&ServerLoad>,
) -> NginxSection {
    let before = series.first().copied().unwrap_or_default();
    let grown = |of: fn(&NginxSample) -> u64| of(&after?).checked_sub(of(&before));
    let requests =
        grown(|sample| sample.requests).map(|requests| requests.saturating_sub(own_requests));
    let unhandled = |sample: &NginxSample| sample.accepts.saturating_sub(sample.handled);
    let dropped = after.and_then(|after| unhandled(&after).checked_sub(unhandled(&before)));
    NginxSection {
        url,
        polls,
        own_requests,
        requests,
        difference: load.zip(requests).map(|(load, requests)| load.difference(requests)),
        dropped: dropped.filter(|_| requests.is_some()),
        before,
        after,
        series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "Active connections: 12 \nserver accepts handled requests\n 105 103 9876 \n\
                        Reading: 1 Writing: 2 Waiting: 9 \n";

    #[test]
    fn the_page_is_read() {
        let sample = parse(PAGE).expect("nginx's form");
        let NginxSample { active, accepts, handled, requests, .. } = sample;
        assert_eq!((active, accepts, handled, requests), (12, 105, 103, 9_876));
        assert_eq!((sample.reading, sample.writing, sample.waiting), (1, 2, 9));
        // Tengine has one more column.
        let tengine =
            PAGE.replace("requests\n", "requests request_time\n").replace("9876 ", "9876 5");
        assert_eq!(parse(&tengine), Some(sample));
        for wrong in ["", "<html>", &PAGE.replace("9876", "many"), &PAGE.replace("Waiting", "x")] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_watchers_requests_are_taken_off() {
        let sample = |requests, accepts, handled| NginxSample {
            requests,
            accepts,
            handled,
            ..NginxSample::default()
        };
        let made = |after| {
            let load = ServerLoad { requests: 90, ..ServerLoad::default() };
            let series = vec![sample(10, 5, 5)];
            section(String::new(), Polls::default(), series, after, 3, Some(&load))
        };
        let section = made(Some(sample(103, 20, 18)));
        let found = (section.requests, section.difference, section.dropped);
        assert_eq!(found, (Some(90), Some(0), Some(2)));
        // Restarted, or without the last reading.
        for after in [Some(sample(9, 1, 1)), None] {
            let section = made(after);
            let found = (section.requests, section.difference, section.dropped);
            assert_eq!(found, (None, None, None));
        }
    }
}
