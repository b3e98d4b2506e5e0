//! HTTP/1 to the shop in the responder: requests are read with their contents, and none is like
//! another.

use weir_http::server::ReadProgress;
use weir_io::{ConnId, Nanos};

use super::Responder;
use crate::connection::Protocol;
use crate::response::{Response, ResponseKind};

/// Takes the requests in `bytes`, and stores a last one that is incomplete.
pub(super) fn take_requests(responder: &mut Responder, conn: ConnId, bytes: &[u8], at: Nanos) {
    let connection = &mut responder.connections[conn.index()];
    let Protocol::ShopHttp1(mut content) = std::mem::take(&mut connection.protocol) else { return };
    let mut request = connection.request.take().unwrap_or_default();
    let mut rest = bytes;
    while !rest.is_empty() && !responder.connections[conn.index()].is_ending {
        let parser = &mut responder.connections[conn.index()].parser;
        match request.read_with_content(parser, &mut rest, &mut content) {
            Ok(ReadProgress::Incomplete) => break,
            // RFC 9110 §10.1.1: not needed once the body has begun to arrive.
            Ok(ReadProgress::Head) if request.awaits_continue() && rest.is_empty() => {
                let response = Response::bare(ResponseKind::Continue, 100, at);
                responder.line_up(conn, response, None, at, at);
            }
            Ok(ReadProgress::Head) => {}
            Ok(ReadProgress::End) => {
                responder.take_request(conn, 0, &request, Some(&content), at);
            }
            Err(bad) => responder.refuse(conn, bad, at),
        }
    }
    let connection = &mut responder.connections[conn.index()];
    connection.request = Some(request);
    connection.protocol = Protocol::ShopHttp1(content);
}
