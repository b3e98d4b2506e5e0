//! The content of a request, if its response depends on it: the messages of a call of gRPC, or all
//! of a request to the shop.

use weir_http::h2::server::RequestFields;
use weir_http::server::RequestPart;

use crate::grpc::CallBody;
use crate::shop::ShopRequest;

/// The content of a request, as far as it has arrived.
#[derive(Debug)]
pub(crate) enum RequestContent {
    Call(CallBody),
    Shop(ShopRequest),
}

impl RequestContent {
    /// Makes the content of a request of HTTP/2 with these fields, if its response depends on it.
    pub(crate) fn of_fields(
        fields: &RequestFields,
        is_call: bool,
        has_shop: bool,
    ) -> Option<Box<RequestContent>> {
        let content = match (has_shop, is_call) {
            (true, _) => RequestContent::Shop(ShopRequest::of_fields(fields)),
            (false, true) => RequestContent::Call(CallBody::of(fields)),
            (false, false) => return None,
        };
        Some(Box::new(content))
    }

    /// Takes a part of a head of HTTP/1, in which there are no calls.
    pub(crate) fn take(&mut self, part: &RequestPart<'_>) {
        if let RequestContent::Shop(request) = self {
            request.take(part);
        }
    }

    /// Takes bytes of the body.
    pub(crate) fn take_body(&mut self, bytes: &[u8]) {
        match self {
            RequestContent::Call(body) => body.receive(bytes),
            RequestContent::Shop(request) => request.take_body(bytes),
        }
    }

    /// Returns the body of a call.
    pub(crate) fn call(&self) -> Option<&CallBody> {
        match self {
            RequestContent::Call(body) => Some(body),
            RequestContent::Shop(_) => None,
        }
    }

    /// Returns the request to the shop.
    pub(crate) fn shop(&self) -> Option<&ShopRequest> {
        match self {
            RequestContent::Call(_) => None,
            RequestContent::Shop(request) => Some(request),
        }
    }
}
