//! Header compression: the examples of RFC 7541, an independent implementation as the second
//! opinion, and properties of random blocks.

use proptest::prelude::*;
use weir_http::h2::hpack::{Decoder, Encoder, HpackError};

/// A name and a value.
type Field = (Vec<u8>, Vec<u8>);

/// Returns the bytes that hexadecimal digits spell.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// Decodes a block, and returns its fields.
fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, HpackError> {
    let mut fields = Vec::new();
    let is_too_large =
        decoder.decode(block, |name, value| fields.push((name.to_vec(), value.to_vec())))?;
    assert!(!is_too_large);
    Ok(fields)
}

fn owned(fields: &[(&str, &str)]) -> Vec<Field> {
    fields.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect()
}

/// Fields as text.
type Fields<'a> = &'a [(&'a str, &'a str)];

/// Decodes the blocks of one connection, given in hexadecimal, and checks fields, table and size.
fn check_blocks(blocks: &[(&str, Fields<'_>, Fields<'_>, usize)]) {
    let mut decoder = Decoder::new(4096);
    for (block, fields, table, table_bytes) in blocks {
        assert_eq!(decode(&mut decoder, &bytes(block)).as_deref(), Ok(&owned(fields)[..]));
        let entries = (0..).map_while(|nth| decoder.table_field(nth));
        let entries: Vec<Field> =
            entries.map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!((entries, decoder.table_bytes()), (owned(table), *table_bytes), "{block}");
    }
}

/// RFC 7541 appendix C.2: each representation.
#[test]
fn representations_of_the_appendix() {
    let custom = ("custom-key", "custom-header");
    check_blocks(&[(
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        &[custom],
        &[custom],
        55,
    )]);
    check_blocks(&[("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")], &[], 0)]);
    check_blocks(&[(
        "1008 7061 7373 776f 7264 0673 6563 7265 74",
        &[("password", "secret")],
        &[],
        0,
    )]);
    check_blocks(&[("82", &[(":method", "GET")], &[], 0)]);
}

const REQUEST_1: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")];
const REQUEST_2: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "www.example.com"),
    ("cache-control", "no-cache"),
];
const REQUEST_3: &[(&str, &str)] = &[
    (":method", "GET"),
    (":scheme", "https"),
    (":path", "/index.html"),
    (":authority", "www.example.com"),
    ("custom-key", "custom-value"),
];
const AUTHORITY: (&str, &str) = (":authority", "www.example.com");
const NO_CACHE: (&str, &str) = ("cache-control", "no-cache");
const CUSTOM: (&str, &str) = ("custom-key", "custom-value");

/// RFC 7541 appendices C.3 and C.4: requests, without and with the Huffman code.
#[test]
fn requests_of_the_appendix() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for [first, second, third] in [plain, huffman] {
        check_blocks(&[
            (first, REQUEST_1, &[AUTHORITY], 57),
            (second, REQUEST_2, &[NO_CACHE, AUTHORITY], 110),
            (third, REQUEST_3, &[CUSTOM, NO_CACHE, AUTHORITY], 164),
        ]);
    }
}

const CACHE: (&str, &str) = ("cache-control", "private");
const DATE_21: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:21 GMT");
const DATE_22: (&str, &str) = ("date", "Mon, 21 Oct 2013 20:13:22 GMT");
const LOCATION: (&str, &str) = ("location", "https://www.example.com");
const GZIP: (&str, &str) = ("content-encoding", "gzip");
const COOKIE: (&str, &str) =
    ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1");

/// RFC 7541 appendices C.5 and C.6: responses, without and with the Huffman code, and a table of
/// 256 bytes. The first block begins with the update to that size.
#[test]
fn responses_of_the_appendix() {
    let plain = [
        "3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65
         2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0
         5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851
         5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad
         94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160
         65c0 03ed 4ee5 b106 3d50 07",
    ];
    for [first, second, third] in [plain, huffman] {
        check_blocks(&[
            (
                first,
                &[(":status", "302"), CACHE, DATE_21, LOCATION],
                &[LOCATION, DATE_21, CACHE, (":status", "302")],
                222,
            ),
            (
                second,
                &[(":status", "307"), CACHE, DATE_21, LOCATION],
                &[(":status", "307"), LOCATION, DATE_21, CACHE],
                222,
            ),
            (
                third,
                &[(":status", "200"), CACHE, DATE_22, LOCATION, GZIP, COOKIE],
                &[COOKIE, GZIP, DATE_22],
                215,
            ),
        ]);
    }
}

#[test]
fn invalid_blocks() {
    let check = |block: &str, error| {
        assert_eq!(decode(&mut Decoder::new(4096), &bytes(block)), Err(error), "{block}");
    };
    check("80", HpackError::BadIndex);
    check("be", HpackError::BadIndex);
    check("7e 00", HpackError::BadIndex);
    check("0f 30 00", HpackError::BadIndex);
    check("ff 80 80 80 80 01", HpackError::IntegerTooLarge);
    check("ff", HpackError::Truncated);
    check("40 0a 63", HpackError::Truncated);
    check("40", HpackError::Truncated);
    check("41", HpackError::Truncated);
    check("41 81 ff", HpackError::BadHuffman);
    check("82 20", HpackError::UpdateOutOfPlace);
    check("3f e2 1f", HpackError::UpdateTooLarge);
}

/// RFC 7541 §4.2: after a reduction of the limit, the next block begins with an update.
#[test]
fn required_size_updates() {
    let reduced = |limits: &[u32], block: &str| {
        let mut decoder = Decoder::new(4096);
        limits.iter().for_each(|limit| decoder.set_size_limit(*limit));
        decode(&mut decoder, &bytes(block)).map(|fields| fields.len())
    };
    assert_eq!(reduced(&[100], "82"), Err(HpackError::UpdateMissing));
    assert_eq!(reduced(&[100], "3f46 82"), Err(HpackError::UpdateTooLarge));
    assert_eq!(reduced(&[100], "3f45 82"), Ok(1));
    assert_eq!(reduced(&[100], "20 82"), Ok(1));
    // The least limit has to be seen, and the last one holds.
    assert_eq!(reduced(&[0, 100], "3f45 82"), Err(HpackError::UpdateMissing));
    assert_eq!(reduced(&[0, 100], "20 3f45 82"), Ok(1));
    assert_eq!(reduced(&[8192], "3fe1 3f 82"), Ok(1));
}

#[test]
fn a_list_beyond_the_limit_is_cut_and_keeps_the_table_right() {
    let mut decoder = Decoder::new(100);
    let mut passed = 0;
    let block = bytes("4101 61 4101 62 4101 63");
    let decoded = decoder.decode(&block, |_, _| passed += 1);
    assert_eq!((decoded, passed), (Ok(true), 2));
    assert_eq!(decoder.table_field(0), Some((&b":authority"[..], &b"c"[..])));
    // Small fields after a large one are beyond the limit as well.
    let mut passed = 0;
    let large = [&bytes("4178")[..], &[b'x'; 0x78], &bytes("82")].concat();
    let decoded = decoder.decode(&large, |_, _| passed += 1);
    assert_eq!((decoded, passed), (Ok(true), 0));
}

/// Encodes a block.
fn encode(encoder: &mut Encoder, fields: &[Field]) -> Vec<u8> {
    let mut block = Vec::new();
    encoder.begin(&mut block);
    fields.iter().for_each(|(name, value)| encoder.field(name, value, &mut block));
    block
}

#[test]
fn equal_requests_shrink_to_indexes() {
    let fields = owned(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "example.com"),
        (":path", "/a/path"),
        ("user-agent", "weir"),
        ("accept", "*/*"),
    ]);
    let mut encoder = Encoder::new(4096);
    let first = encode(&mut encoder, &fields);
    let second = encode(&mut encoder, &fields);
    let before = encoder.generation();
    let third = encode(&mut encoder, &fields);
    assert_eq!(encoder.generation(), before);
    assert!(first.len() > 25 && second.len() < 15, "{first:?}, {second:?}");
    assert_eq!(third.len(), fields.len());
    let mut decoder = Decoder::new(4096);
    for block in [first, second, third] {
        assert_eq!(decode(&mut decoder, &block).as_deref(), Ok(&fields[..]));
    }
}

/// Such a block empties the decoder's table, so it must not be sent again.
#[test]
fn a_block_with_a_size_update_is_another_generation() {
    let mut encoder = Encoder::new(4096);
    let fields = owned(&[(":method", "GET")]);
    [0, 4096].into_iter().for_each(|bytes| encoder.set_size_limit(bytes));
    let before = encoder.generation();
    assert_eq!(encode(&mut encoder, &fields), bytes("20 3fe1 1f 82"));
    let after = encoder.generation();
    assert_ne!(after, before);
    assert_eq!((encode(&mut encoder, &fields), encoder.generation()), (bytes("82"), after));
}

#[test]
fn secrets_never_enter_a_table() {
    for name in ["authorization", "cookie", "proxy-authorization", "set-cookie"] {
        let mut encoder = Encoder::new(4096);
        let fields = owned(&[(name, "secret")]);
        let blocks = [encode(&mut encoder, &fields), encode(&mut encoder, &fields)];
        let mut decoder = Decoder::new(4096);
        for block in blocks {
            assert_eq!(block[0] & 0xf0, 0x10, "{name}");
            assert_eq!(decode(&mut decoder, &block).as_deref(), Ok(&fields[..]));
        }
        assert_eq!(decoder.table_bytes(), 0);
    }
}

#[test]
fn a_table_of_no_bytes_is_not_used() {
    let fields = owned(&[(":authority", "example.com"), ("x", "y")]);
    // The peer's limit, and the own one.
    let mut limited = Encoder::new(4096);
    limited.set_size_limit(0);
    for mut encoder in [limited, Encoder::new(0)] {
        let mut decoder = Decoder::new(4096);
        decoder.set_size_limit(0);
        let blocks = [encode(&mut encoder, &fields), encode(&mut encoder, &fields)];
        assert_eq!(blocks[0][1..], blocks[1][..]);
        for block in blocks {
            assert_eq!(decode(&mut decoder, &block).as_deref(), Ok(&fields[..]));
        }
        assert_eq!(decoder.table_bytes(), 0);
    }
}

/// Generates fields; many repeat.
fn fields() -> impl Strategy<Value = Vec<Field>> {
    let name = prop_oneof![
        3 => prop::sample::select(vec![":status", ":path", "date", "etag", "server", "cookie"])
            .prop_map(|name| name.as_bytes().to_vec()),
        1 => "[a-z0-9-]{1,20}".prop_map(String::into_bytes),
    ];
    let value = prop_oneof![
        3 => prop::sample::select(vec!["200", "404", "/", "a", "", "longer than the others"])
            .prop_map(|value| value.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..100),
        1 => "[ -~]{0,60}".prop_map(String::into_bytes),
    ];
    prop::collection::vec((name, value), 0..12)
}

/// A step of a connection: a block, or a new limit.
#[derive(Clone, Debug)]
enum Step {
    Block(Vec<Field>),
    Limit(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let limit = prop_oneof![Just(0u32), 30..300u32, Just(4096), Just(10_000)];
    let step = prop_oneof![5 => fields().prop_map(Step::Block), 1 => limit.prop_map(Step::Limit)];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        steps in steps(),
        size_max in prop::sample::select(vec![0, 100, 4096, 9000]),
    ) {
        let mut encoder = Encoder::new(size_max);
        let mut decoder = Decoder::new(100_000);
        for step in steps {
            match step {
                Step::Block(fields) => {
                    let block = encode(&mut encoder, &fields);
                    prop_assert_eq!(decode(&mut decoder, &block), Ok(fields));
                }
                Step::Limit(bytes) => {
                    encoder.set_size_limit(bytes);
                    decoder.set_size_limit(bytes);
                }
            }
        }
    }

    #[test]
    fn another_decoder_agrees(blocks in prop::collection::vec(fields(), 1..20)) {
        let mut encoder = Encoder::new(4096);
        let mut other = loona_hpack::Decoder::new();
        for fields in blocks {
            let decoded = other.decode(&encode(&mut encoder, &fields));
            prop_assert_eq!(decoded.expect("a valid block"), fields);
        }
    }

    #[test]
    fn another_encoder_agrees(blocks in prop::collection::vec(fields(), 1..20)) {
        let mut decoder = Decoder::new(100_000);
        let mut other = loona_hpack::Encoder::new();
        for fields in blocks {
            let borrowed = fields.iter().map(|(name, value)| (&name[..], &value[..]));
            let block = other.encode(borrowed);
            prop_assert_eq!(decode(&mut decoder, &block), Ok(fields));
        }
    }

    /// Any bytes are fields within the limits, or an error.
    #[test]
    fn any_block(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..5)) {
        let mut decoder = Decoder::new(1000);
        for block in blocks {
            let mut bytes = 0;
            match decoder.decode(&block, |name, value| bytes += name.len() + value.len() + 32) {
                Ok(_) => prop_assert!(bytes <= 1000 && decoder.table_bytes() <= 4096),
                Err(_) => decoder.reset(),
            }
        }
    }

    /// Changes of single bytes of valid blocks do not panic either, and reach deeper.
    #[test]
    fn mutated_blocks(
        blocks in prop::collection::vec(fields(), 1..6),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut encoder = Encoder::new(4096);
        let mut decoder = Decoder::new(100_000);
        for fields in blocks {
            let mut block = encode(&mut encoder, &fields);
            if !block.is_empty() {
                let at = at.index(block.len());
                block[at] = byte;
            }
            if decoder.decode(&block, |_, _| {}).is_err() {
                break;
            }
            prop_assert!(decoder.table_bytes() <= 4096);
        }
    }
}
