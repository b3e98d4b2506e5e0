//! Server-sent events: random streams, and mutations of a corpus, are split as a plain reading of
//! the standard splits them, in whatever pieces they arrive.

use proptest::prelude::*;
use weir_http::sse::EventSplitter;

use crate::check::sse::{Data, events, plain_reading, split};
use crate::corpus::hold_under_mutations;

/// Elements of streams, and bytes that spoil them.
const WORDS: [&[u8]; 24] = [
    b"data",
    b"data:",
    b"data: ",
    b"data: a\n\n",
    b"data: [DONE]\n\n",
    b"data:b\r\n\r\n",
    b"data: c\r\r",
    b"dat",
    b"Data: ",
    b"event: x\n",
    b"id: 7\r\n",
    b"retry: 10\r",
    b":",
    b": comment\n",
    b" ",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\n\r\n",
    b"\xef\xbb\xbf",
    b"\xef\xbb",
    b"\0",
    b"\xc3\xa9",
];

#[test]
fn mutations_of_the_corpus_hold() {
    hold_under_mutations("sse", 20_270_114, &WORDS, events);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn streams_of_words_are_split_at_any_cuts(
        words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60),
        cuts in prop::collection::vec(1usize..20, 1..20),
    ) {
        let body = words.concat();
        let expected: Vec<Data> = plain_reading(&body)
            .into_iter()
            .map(|data| { let bytes = data.len() as u64; (data, bytes) })
            .collect();
        let mut cuts = cuts.iter().cycle();
        let cut = || *cuts.next().expect("there is a cut");
        prop_assert_eq!(split(&mut EventSplitter::new(), &body, cut), expected);
    }
}
