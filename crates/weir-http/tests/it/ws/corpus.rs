//! The check of the fuzz target `ws` on stable Rust: over the committed corpus, over mutations of
//! it, and over random frames.

use proptest::prelude::*;
use weir_http::ws::Opcode;
use weir_http::ws::frame::{push_close, push_frame};

use crate::check::ws::frames;
use crate::corpus::hold_under_mutations;

/// Elements of frames, and bytes that spoil them.
const WORDS: [&[u8]; 16] = [
    b"\x81\x02hi",
    b"\x01\x03Hel",
    b"\x80\x02lo",
    b"\x00\x00",
    b"\x80\x00",
    b"\x82\x7e\x00\x80",
    b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00",
    b"\x89\x00",
    b"\x8a\x01x",
    b"\x88\x02\x03\xe8",
    b"\x88\x00",
    b"\x81\x82\x01\x02\x03\x04hi",
    b"\x89\x80\x00\x00\x00\x00",
    b"\xff",
    b"\xc3\xa9",
    b"\xc3",
];

#[test]
fn mutations_of_the_corpus_hold() {
    hold_under_mutations("ws", 20_261_127, &WORDS, frames);
}

/// A frame: its kind, true for the last of a message, and its payload.
fn frame() -> impl Strategy<Value = (u8, bool, Vec<u8>)> {
    let opcode = prop::sample::select(&[0, 0, 1, 2, 2, 9, 10][..]);
    let payload = prop_oneof![
        prop::collection::vec(32u8..127, 0..20),
        prop::collection::vec(any::<u8>(), 0..200),
    ];
    (opcode, any::<bool>(), payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn frames_are_read_at_any_cuts(
        choices in any::<u8>(),
        seed in any::<u8>(),
        list in prop::collection::vec(frame(), 0..30),
        is_closed in any::<bool>(),
    ) {
        let mut input = vec![choices, seed];
        let mask = (choices & 1 == 1).then_some([seed, 7, 0, 255]);
        for (opcode, is_final, payload) in list {
            let is_final = is_final || opcode >= 8;
            let payload = if opcode >= 8 { &payload[..payload.len().min(125)] } else { &payload };
            push_frame(&mut input, Opcode(opcode), is_final, mask, payload);
        }
        if is_closed {
            push_close(&mut input, weir_http::ws::CloseCode::NORMAL, mask);
        }
        frames(&input);
    }
}
