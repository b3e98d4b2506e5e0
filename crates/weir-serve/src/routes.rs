//! Routes: responses by path and method. Plain data, the check of it, bodies prepared once, and the
//! search for a request's route. This module reads no file and counts nothing.

use std::io::{self, Read};
use std::str::FromStr;
use std::sync::Arc;

use weir_http::server::response_has_body;

use crate::content_coding::ContentCoding;
use crate::delay::Delay;
use crate::event_stream::EventStream;
use crate::extra_header::{ExtraHeader, is_token};
use crate::limits::{BODY_MAX_BYTES, FILLER, status_is_valid};
use crate::units::ParseError;

/// A route: the requests that it takes, and its responses. A setting without a value is the
/// [`Behaviour`](crate::Behaviour)'s.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Paths of its requests.
    pub path: RoutePath,
    /// Method of its requests, `None` for any. A route of GET takes HEAD too.
    pub method: Option<String>,
    /// Status of its responses: 200 to 599. 204 and 304 have no body.
    pub status: Option<u16>,
    /// Body of its responses, before the coding.
    pub body: Option<RouteBody>,
    /// Stream of events in the place of a body.
    pub events: Option<EventStream>,
    /// Coding of the bodies, whatever the request accepts. All but identity need a `body`.
    pub coding: ContentCoding,
    /// Delay of its responses.
    pub delay: Option<Delay>,
    /// Headers of its responses, besides the behaviour's; one of the same name replaces it.
    pub headers: Vec<ExtraHeader>,
    /// Responses that are wrong on purpose.
    pub broken: Option<BrokenResponses>,
}

/// Paths of a route: `/cart` is one path, `/item/*` all that begin with `/item/`. The query of a
/// request does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePath {
    /// The path, or the start of all its paths.
    begin: String,
    is_prefix: bool,
}

/// Body of a route's responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteBody {
    /// This text.
    Text(String),
    /// As many bytes, up to [`Behaviour::BODY_MAX_BYTES`](crate::Behaviour::BODY_MAX_BYTES), each
    /// an `x`.
    Size(u64),
}

/// Responses of a route that are wrong on purpose, so that a client's checks find them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenResponses {
    /// Exactly the k-th, 2k-th, 3k-th … request of the route gets one; at least 1.
    pub every: u64,
    /// Status, if it is not the route's: 200 to 599.
    pub status: Option<u16>,
    /// Body, in the coding of the route.
    pub body: String,
}

/// Routes in their order: a request takes the first that fits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routes(Vec<PreparedRoute>);

/// A route with its bodies as they are sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreparedRoute {
    pub(crate) route: Route,
    /// `None` for filler, which is sent as it is.
    body: Option<Arc<[u8]>>,
    broken_body: Option<Arc<[u8]>>,
}

/// The route of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Routed {
    pub(crate) index: u16,
    /// True if the response is one of [`Route::broken`].
    pub(crate) is_broken: bool,
}

impl Routes {
    /// Largest number of routes. They are searched one after the other.
    pub const MAX: usize = 1024;

    /// Checks a route and adds it behind the others. Its bodies are encoded here.
    ///
    /// # Errors
    /// A value is out of its range, or does not fit the others. The message has the remedy.
    pub fn push(&mut self, route: Route) -> Result<(), ParseError> {
        if self.0.len() == Routes::MAX {
            let most = Routes::MAX;
            return Err(ParseError(format!(
                "there are more than {most} routes: join paths by `*`"
            )));
        }
        route.check()?;
        let encoded = |text: &str| Arc::from(route.coding.encoded(text.as_bytes()));
        let body = match &route.body {
            Some(RouteBody::Text(text)) => Some(encoded(text)),
            Some(RouteBody::Size(bytes)) if route.coding != ContentCoding::Identity => {
                Some(route.coding.encoded(io::repeat(FILLER).take(*bytes)).into())
            }
            Some(RouteBody::Size(_)) | None => None,
        };
        let broken_body = route.broken.as_ref().map(|broken| encoded(&broken.body));
        self.0.push(PreparedRoute { route, body, broken_body });
        Ok(())
    }

    /// True if there are no routes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the index of the first route that takes a request with this method and path.
    #[cold]
    pub(crate) fn find(&self, method: &[u8], path: &[u8]) -> Option<u16> {
        let index = self.0.iter().position(|prepared| prepared.route.takes(method, path))?;
        Some(u16::try_from(index).expect("at most Routes::MAX"))
    }

    pub(crate) fn get(&self, index: u16) -> &PreparedRoute {
        &self.0[usize::from(index)]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PreparedRoute> {
        self.0.iter()
    }
}

impl PreparedRoute {
    /// Returns the body of a response as it is sent; `None` for filler.
    pub(crate) fn body(&self, is_broken: bool) -> Option<&Arc<[u8]>> {
        if is_broken { self.broken_body.as_ref() } else { self.body.as_ref() }
    }

    /// Returns the length of a response's body as it is sent; `None` for the behaviour's.
    pub(crate) fn body_bytes(&self, is_broken: bool) -> Option<u64> {
        match (self.body(is_broken), &self.route.body) {
            (Some(body), _) => Some(body.len() as u64),
            (None, Some(RouteBody::Size(bytes))) => Some(*bytes),
            (None, _) => None,
        }
    }

    /// Returns a response's status; `None` for the behaviour's.
    pub(crate) fn status(&self, is_broken: bool) -> Option<u16> {
        let broken = self.route.broken.as_ref().filter(|_| is_broken);
        broken.and_then(|broken| broken.status).or(self.route.status)
    }
}

impl Route {
    fn takes(&self, method: &[u8], path: &[u8]) -> bool {
        let takes_method = self
            .method
            .as_ref()
            .is_none_or(|own| own.as_bytes() == method || (own == "GET" && method == b"HEAD"));
        takes_method && self.path.contains(path)
    }

    fn check(&self) -> Result<(), ParseError> {
        let has_header = |name| self.headers.iter().any(|h| h.name.eq_ignore_ascii_case(name));
        let statuses = [self.status, self.broken.as_ref().and_then(|broken| broken.status)];
        let bad_status = statuses.into_iter().flatten().find(|status| !status_is_valid(*status));
        let has_no_body = |status| !response_has_body(status, false);
        let is_coded = self.coding != ContentCoding::Identity;
        let problem = if let Some(method) = self.method.as_ref().filter(|own| !is_token(own)) {
            format!("`{method}` is no method: write it as in a request, such as GET")
        } else if let Some(status) = bad_status {
            format!("{status} is no final status: use 200 to 599")
        } else if matches!(self.body, Some(RouteBody::Size(bytes)) if bytes > BODY_MAX_BYTES) {
            "the body is too large: 1 GiB is the most".to_owned()
        } else if let Some(Err(error)) = self.events.as_ref().map(EventStream::check) {
            error.0
        } else if self.events.is_some() && self.body.is_some() {
            "there are events and a body: leave out one".to_owned()
        } else if self.events.is_some() && is_coded {
            "events are not compressed: leave out the content coding".to_owned()
        } else if self.events.is_some() && self.status.is_some_and(has_no_body) {
            "a response without a body has no events: use status 200".to_owned()
        } else if is_coded && self.body.is_none() {
            "a content coding needs a body: give its text or its size".to_owned()
        } else if is_coded && has_header("content-encoding") {
            "there are a content coding and a header Content-Encoding: leave out one".to_owned()
        } else if self.broken.as_ref().is_some_and(|broken| broken.every == 0) {
            "broken responses are every 1st, 2nd, …: give 1 or more".to_owned()
        } else {
            return Ok(());
        };
        Err(ParseError(problem))
    }
}

impl RoutePath {
    fn contains(&self, path: &[u8]) -> bool {
        let begin = self.begin.as_bytes();
        if self.is_prefix { path.starts_with(begin) } else { path == begin }
    }

    /// Returns the path as it is written.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.begin, if self.is_prefix { "*" } else { "" })
    }
}

impl FromStr for RoutePath {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<RoutePath, ParseError> {
        let (begin, is_prefix) = match text.strip_suffix('*') {
            Some(begin) => (begin, true),
            None => (text, false),
        };
        let is_of_paths = |c: char| c.is_ascii_graphic() && !"*?#\"\\<>^`{|}".contains(c);
        let reason = if begin.contains(['?', '#']) {
            "has a query or a fragment: leave it out, as it does not matter"
        } else if !begin.starts_with('/') || !begin.chars().all(is_of_paths) {
            "is no path: write /cart, or /item/* for all that begin so; encode other \
             characters by %"
        } else {
            return Ok(RoutePath { begin: begin.to_owned(), is_prefix });
        };
        Err(ParseError(format!("`{text}` {reason}")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A route that takes these paths and changes nothing.
    pub(crate) fn route(path: &str) -> Route {
        Route {
            path: path.parse().expect("a path"),
            method: None,
            status: None,
            body: None,
            events: None,
            coding: ContentCoding::Identity,
            delay: None,
            headers: Vec::new(),
            broken: None,
        }
    }

    pub(crate) fn routes(all: impl IntoIterator<Item = Route>) -> Routes {
        let mut routes = Routes::default();
        all.into_iter().for_each(|route| routes.push(route).expect("it is valid"));
        routes
    }

    #[test]
    fn the_first_route_that_fits_is_taken() {
        let post = Route { method: Some("POST".to_owned()), ..route("/cart") };
        let get = Route { method: Some("GET".to_owned()), ..route("/item/7") };
        let routes = routes([post, get, route("/item/*"), route("/item/8"), route("/")]);
        let check = |method: &str, path: &str, expected: Option<u16>| {
            assert_eq!(
                routes.find(method.as_bytes(), path.as_bytes()),
                expected,
                "{method} {path}"
            );
        };
        check("POST", "/cart", Some(0));
        check("GET", "/cart", None);
        check("post", "/cart", None);
        check("GET", "/item/7", Some(1));
        check("HEAD", "/item/7", Some(1));
        check("PUT", "/item/7", Some(2));
        check("GET", "/item/8", Some(2));
        check("GET", "/item/", Some(2));
        check("GET", "/item", None);
        check("GET", "/", Some(4));
        assert_eq!(Routes::default().find(b"GET", b"/"), None);
    }

    #[test]
    fn paths_are_read_and_written() {
        for text in ["/", "/*", "/a/b", "/a*", "/item/%20/*", "/a;b=c,d@e:f!$&'()+~"] {
            assert_eq!(text.parse::<RoutePath>().expect(text).text(), text);
        }
        for (text, part) in [
            ("", "is no path"),
            ("*", "is no path"),
            ("a", "is no path"),
            ("/a b", "encode other characters"),
            ("/ü", "encode other characters"),
            ("/a*b", "is no path"),
            ("/a\"", "is no path"),
            ("/a?b=c", "leave it out"),
        ] {
            let error = text.parse::<RoutePath>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn bodies_are_prepared() {
        let check = |body, coding, is_broken, expected: Option<&[u8]>, bytes: Option<u64>| {
            let broken = BrokenResponses { every: 2, status: Some(500), body: "no".to_owned() };
            let status = Some(201);
            let routes =
                routes([Route { body, coding, status, broken: Some(broken), ..route("/") }]);
            let prepared = routes.get(0);
            assert_eq!(prepared.body(is_broken).map(|body| &body[..]), expected);
            assert_eq!(prepared.body_bytes(is_broken), bytes);
            assert_eq!(prepared.status(is_broken), Some(if is_broken { 500 } else { 201 }));
        };
        let text = || Some(RouteBody::Text("yes".to_owned()));
        check(text(), ContentCoding::Identity, false, Some(b"yes"), Some(3));
        check(text(), ContentCoding::Identity, true, Some(b"no"), Some(2));
        check(Some(RouteBody::Size(1 << 30)), ContentCoding::Identity, false, None, Some(1 << 30));
        check(None, ContentCoding::Identity, false, None, None);
        let gzip = ContentCoding::Gzip.encoded(&b"yes"[..]);
        check(text(), ContentCoding::Gzip, false, Some(&gzip), Some(gzip.len() as u64));
        let gzip = ContentCoding::Gzip.encoded(&b"no"[..]);
        check(text(), ContentCoding::Gzip, true, Some(&gzip), Some(gzip.len() as u64));
        let filler = ContentCoding::Gzip.encoded(&[FILLER; 5000][..]);
        let size = Some(RouteBody::Size(5000));
        check(size, ContentCoding::Gzip, false, Some(&filler), Some(filler.len() as u64));
    }

    #[test]
    fn values_that_do_not_fit_are_refused_with_their_remedy() {
        let check = |change: fn(&mut Route), part: &str| {
            let mut changed = route("/");
            change(&mut changed);
            let error = Routes::default().push(changed).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        check(|r| r.method = Some("G T".to_owned()), "such as GET");
        check(|r| r.status = Some(100), "200 to 599");
        check(|r| r.body = Some(RouteBody::Size(BODY_MAX_BYTES + 1)), "1 GiB is the most");
        check(|r| r.coding = ContentCoding::Gzip, "needs a body");
        check(|r| r.events = Some(EventStream::of(0)), "1 to 1000000 events");
        check(
            |r| {
                r.events = Some(EventStream::of(1));
                r.body = Some(RouteBody::Size(1));
            },
            "events and a body: leave out one",
        );
        check(
            |r| {
                r.events = Some(EventStream::of(1));
                r.coding = ContentCoding::Gzip;
            },
            "events are not compressed",
        );
        check(
            |r| {
                r.events = Some(EventStream::of(1));
                r.status = Some(204);
            },
            "use status 200",
        );
        check(
            |r| {
                r.coding = ContentCoding::Gzip;
                r.body = Some(RouteBody::Size(1));
                r.headers = vec!["content-encoding: br".parse().expect("valid")];
            },
            "leave out one",
        );
        fn broken(every: u64, status: Option<u16>) -> Option<BrokenResponses> {
            Some(BrokenResponses { every, status, body: String::new() })
        }
        check(|r| r.broken = broken(0, None), "give 1 or more");
        check(|r| r.broken = broken(1, Some(600)), "200 to 599");
        let mut full = routes((0..Routes::MAX).map(|_| route("/")));
        let error = full.push(route("/")).expect_err("they are too many").to_string();
        assert!(error.contains("more than 1024 routes"), "{error}");
    }
}
