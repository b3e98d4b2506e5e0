//! Invalid responses.

use weir_http::ProtocolError;

use super::{Case, chunked, fails, fails_after, ok};

pub(crate) fn bad_lines() -> Vec<Case> {
    use ProtocolError as E;
    let hello = ok("Content-Length: 5\r\n") + "hello";
    let framing = |name, fields: &str, error| fails(name, &ok(fields), error);
    vec![
        fails("icy", "ICY 200 OK\r\n\r\n", E::BadStatusLine),
        fails("http_2", "HTTP/2.0 200 OK\r\n\r\n", E::BadStatusLine),
        fails("http_lower", "http/1.1 200 OK\r\n\r\n", E::BadStatusLine),
        fails("http_no_minor", "HTTP/1 200 OK\r\n\r\n", E::BadStatusLine),
        fails("http_long_minor", "HTTP/1.10 200 OK\r\n\r\n", E::BadStatusLine),
        fails("tls_alert", "\x15\x03\x03\0\x02\x02\x46", E::TlsRecord),
        fails("http_0_9", "<html>", E::BadStatusLine),
        fails("blank_line_first", &("\r\n".to_owned() + &hello), E::BadStatusLine),
        fails("status_letter", "HTTP/1.1 20x OK\r\n\r\n", E::BadStatusLine),
        fails("status_short", "HTTP/1.1 20\r\n\r\n", E::BadStatusLine),
        fails("status_long", "HTTP/1.1 2000\r\n\r\n", E::BadStatusLine),
        fails("status_low", "HTTP/1.1 099 Low\r\n\r\n", E::BadStatusLine),
        fails("status_two_spaces", "HTTP/1.1  200 OK\r\n\r\n", E::BadStatusLine),
        fails("status_tab", "HTTP/1.1\t200 OK\r\n\r\n", E::BadStatusLine),
        fails("reason_nul", "HTTP/1.1 200 O\0K\r\n\r\n", E::BadStatusLine),
        fails("reason_cr", "HTTP/1.1 200 O\rK\r\n\r\n", E::BadStatusLine),
        framing("space_before_colon", "Content-Length : 5\r\n", E::BadHeader),
        framing("tab_before_colon", "X\t: 5\r\n", E::BadHeader),
        framing("space_in_name", "X Y: 5\r\n", E::BadHeader),
        framing("no_colon", "Content-Length 5\r\n", E::BadHeader),
        framing("no_name", ": 5\r\n", E::BadHeader),
        framing("control_in_name", "Content-Length\x0b: 5\r\n", E::BadHeader),
        framing("high_byte_in_name", "\u{fc}: 5\r\n", E::BadHeader),
        framing("nul_in_value", "X: a\0b\r\n", E::BadHeader),
        framing("cr_in_value", "X: a\rContent-Length: 5\r\n", E::BadHeader),
        framing("cr_cr_lf", "X: a\r\r\n", E::BadHeader),
        framing("cr_line", "\rX: a\r\n", E::BadHeader),
        framing("fold_first", " X: a\r\n", E::BadHeader),
        framing("fold_of_length", "Content-Length: 5\r\n 6\r\n", E::FoldedHeader),
        framing("fold_of_coding", "Transfer-Encoding:\r\n chunked\r\n", E::FoldedHeader),
        framing("fold_of_connection", "Connection: keep-alive,\r\n\tclose\r\n", E::FoldedHeader),
    ]
}

pub(crate) fn bad_framing() -> Vec<Case> {
    use ProtocolError as E;
    let framing = |name, fields: &str, error| fails(name, &ok(fields), error);
    vec![
        framing("length_sign", "Content-Length: +5\r\n", E::BadContentLength),
        framing("length_minus", "Content-Length: -5\r\n", E::BadContentLength),
        framing("length_hex", "Content-Length: 0x5\r\n", E::BadContentLength),
        framing("length_spaces", "Content-Length: 5 5\r\n", E::BadContentLength),
        framing("length_empty", "Content-Length:\r\n", E::BadContentLength),
        framing("length_overflow", "Content-Length: 18446744073709551616\r\n", E::BadContentLength),
        framing("length_list_differs", "Content-Length: 5, 6\r\n", E::ConflictingContentLength),
        framing(
            "length_twice_differs",
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            E::ConflictingContentLength,
        ),
        framing(
            "length_and_chunked",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            E::ConflictingFraming,
        ),
        framing(
            "identity_and_length",
            "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
            E::ConflictingFraming,
        ),
        framing("chunked_twice", "Transfer-Encoding: chunked, chunked\r\n", E::BadTransferEncoding),
        framing("chunked_parameter", "Transfer-Encoding: chunked;a=b\r\n", E::BadTransferEncoding),
        framing("coding_control", "Transfer-Encoding: \x0bchunked\r\n", E::BadTransferEncoding),
        framing("coding_empty", "Transfer-Encoding:\r\n", E::BadTransferEncoding),
        fails(
            "old_chunked",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            E::BadTransferEncoding,
        ),
    ]
}

pub(crate) fn bad_chunks() -> Vec<Case> {
    use ProtocolError as E;
    vec![
        fails("chunk_no_size", &chunked("\r\nhello\r\n0\r\n\r\n"), E::BadChunkSize),
        fails("chunk_bad_digit", &chunked("5g\r\nhello"), E::BadChunkSize),
        fails("chunk_prefixed", &chunked("0x5\r\nhello"), E::BadChunkSize),
        fails("chunk_negative", &chunked("-5\r\nhello"), E::BadChunkSize),
        fails("chunk_overflow", &chunked("10000000000000000\r\n"), E::BadChunkSize),
        fails("chunk_lone_lf", &chunked("5\nhello"), E::BadChunkSize),
        fails("chunk_extension_lf", &chunked("5;a\nhello"), E::BadChunkSize),
        fails("chunk_size_cr", &chunked("5\r5"), E::BadChunkSize),
        fails("chunk_data_long", &chunked("5\r\nhello!\r\n"), E::BadChunkEnd),
        fails("chunk_data_lf", &chunked("5\r\nhello\n0\r\n\r\n"), E::BadChunkEnd),
        fails("trailer_no_colon", &chunked("0\r\nX\r\n\r\n"), E::BadHeader),
        fails("trailer_fold_first", &chunked("0\r\n X: y\r\n\r\n"), E::BadHeader),
    ]
}

pub(crate) fn unasked() -> Vec<Case> {
    use ProtocolError as E;
    let hello = ok("Content-Length: 5\r\n") + "hello";
    vec![
        fails_after("unasked", "", &hello, &[], E::UnsolicitedBytes),
        fails_after("one_too_many", "G", &hello.repeat(2), &[(200, 5, false)], E::UnsolicitedBytes),
        fails_after(
            "blank_line_after",
            "G",
            &(hello.clone() + "\r\n"),
            &[(200, 5, false)],
            E::UnsolicitedBytes,
        ),
        fails_after(
            "body_after_head",
            "HG",
            &(hello.clone() + &hello),
            &[(200, 0, false)],
            E::BadStatusLine,
        ),
        fails_after(
            "junk_after_close",
            "G!",
            &(hello.clone() + "!"),
            &[(200, 5, true)],
            E::UnsolicitedBytes,
        ),
        fails_after(
            "bad_after_good",
            "GG",
            &(hello + "HTTQ"),
            &[(200, 5, false)],
            E::BadStatusLine,
        ),
    ]
}
