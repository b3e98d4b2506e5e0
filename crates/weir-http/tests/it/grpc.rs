//! gRPC: random bodies, and mutations of a corpus, are split as a plain reading splits them, in
//! whatever pieces they arrive; and messages of responses over HTTP/2.

use proptest::prelude::*;
use weir_http::grpc::{GrpcSplitter, push_message};

use crate::check::grpc::{KEPT_MAX, messages, plain_reading, split};
use crate::corpus::hold_under_mutations;

/// Elements of bodies, and bytes that spoil them.
const WORDS: [&[u8]; 12] = [
    b"\0\0\0\0\0",
    b"\0\0\0\0\x01a",
    b"\x01\0\0\0\x02zz",
    b"\0\0\0\0\x0512345",
    b"\0\0\0\x01\0",
    b"\0\xff\xff\xff\xff",
    b"\x02\0\0\0\0",
    b"\x01",
    b"\0",
    b"\0\0",
    b"\xff",
    b"some bytes that are longer than the limit of a message that is kept in memory",
];

#[test]
fn mutations_of_the_corpus_hold() {
    hold_under_mutations("grpc", 20_261_127, &WORDS, messages);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn bodies_are_split_at_any_cuts(
        contents in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..100)), 0..20),
        rest in prop::collection::vec(any::<u8>(), 0..10),
        cuts in prop::collection::vec(1usize..20, 1..20),
    ) {
        let mut body = Vec::new();
        for (is_compressed, data) in &contents {
            push_message(&mut body, *is_compressed, data);
        }
        let whole = contents.iter().map(|(is_compressed, data)| {
            let kept = data[..data.len().min(KEPT_MAX)].to_vec();
            (*is_compressed, u32::try_from(data.len()).expect("short"), kept)
        });
        prop_assert_eq!(plain_reading(&body).0, whole.collect::<Vec<_>>());
        body.extend_from_slice(&rest);
        let (expected, is_incomplete) = plain_reading(&body);
        let mut cuts = cuts.iter().cycle();
        let cut = || *cuts.next().expect("there is a cut");
        let mut splitter = GrpcSplitter::new(KEPT_MAX);
        prop_assert_eq!(split(&mut splitter, &body, cut), expected);
        prop_assert_eq!(splitter.is_incomplete(), is_incomplete);
    }
}
