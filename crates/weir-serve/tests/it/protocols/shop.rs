//! The shop over real sockets, with and without TLS, over HTTP/1 and HTTP/2, on several threads.
//! Each request has a connection of its own, so that all threads get some. Times are not tested
//! here: the client does not send the cookie that has a lifetime.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::Command;

use rustls::ClientConfig;
use weir_http::h2::{H2Client, H2Options};
use weir_http::{BodyBudget, Http1, Interest, Multiplexed, Prepared, SingleExchange};
use weir_io::Endpoint;
use weir_serve::{
    Handle, Identity, ServeOptions, ShopOptions, ShopStats, TlsConfig, TlsOptions, spawn,
};

use crate::protocols::client::{connect, read};
use crate::protocols::tls::{config, make, open};

/// A protocol, with and without TLS.
const ALL: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// A server with a shop, on three threads.
struct ShopServer {
    handle: Handle,
    address: SocketAddr,
    is_http2: bool,
    tls: Option<ClientConfig>,
}

impl ShopServer {
    fn start(is_http2: bool, has_tls: bool, shop: ShopOptions) -> ShopServer {
        let alpn = if is_http2 { "h2" } else { "http/1.1" };
        let identity = has_tls.then(|| make(&[alpn]));
        let (tls, client) = identity.map(|(own, client)| (config(own), client)).unzip();
        let mut options = ServeOptions { threads: 3, tls, ..ServeOptions::default() };
        options.behaviour.shop = Some(shop);
        let handle = spawn(options).expect("a free port");
        let Endpoint::Tcp(address) = *handle.endpoint() else { panic!("not TCP") };
        ShopServer { handle, address, is_http2, tls: client }
    }

    fn send(&self, method: &str, path: &str, fields: &[&str], body: &str) -> Reply {
        let length = format!("Content-Length: {}", body.len());
        let line = format!("{method} {path} HTTP/1.1");
        let head = [&[&*line, "Host: a", &length], fields].concat();
        let text = format!("{}\r\n\r\n{body}", head.join("\r\n"));
        let request = Prepared::raw(text.as_bytes()).expect("a request");
        match &self.tls {
            None => exchange(connect(self.address), self.is_http2, &request),
            Some(client) => {
                exchange(open(self.address, client, "localhost"), self.is_http2, &request)
            }
        }
    }

    /// Stops the server. Returns the counters of the shop.
    fn stop(self) -> ShopStats {
        let stats = self.handle.stop().expect("the workers end well");
        assert_eq!(stats.requests.received, stats.requests.answered, "{stats:?}");
        stats.shop.expect("there is a shop")
    }
}

/// A response.
#[derive(Debug)]
struct Reply {
    status: u16,
    fields: Vec<(String, String)>,
    body: String,
}

impl Reply {
    /// Returns the text between two others in the body.
    fn between(&self, begin: &str, end: &str) -> String {
        let rest = self.body.split_once(begin).unwrap_or_else(|| panic!("no {begin}: {self:?}")).1;
        rest.split_once(end).unwrap_or_else(|| panic!("no {end}: {self:?}")).0.to_owned()
    }
}

/// Sends a request on a new connection. Returns its response.
fn exchange(mut stream: impl Read + Write, is_http2: bool, request: &Prepared) -> Reply {
    let budget = BodyBudget::default();
    let mut exchange = if is_http2 {
        let mut client = H2Client::new(1, &H2Options::default());
        client.set_interest(Interest::Body, &budget);
        let mut exchange = SingleExchange::http2(client, 0);
        exchange.request(&request.request("http").into());
        exchange
    } else {
        let mut protocol = Http1::new(1);
        protocol.set_interest(Interest::Body, &budget);
        SingleExchange::http1(protocol, request.bytes().clone(), request.traits())
    };
    let mut buffer = vec![0; 1 << 16];
    while !exchange.progress().is_complete {
        stream.write_all(&exchange.take_output(0)).expect("the server reads");
        let count = read(&mut stream, &mut buffer).expect("the server sends");
        exchange.receive(&buffer[..count], 0).expect("a response");
    }
    let response = exchange.response().expect("it is complete");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    Reply {
        status: response.status,
        fields: response
            .fields()
            .map(|(name, value)| (text(name).to_ascii_lowercase(), text(value)))
            .collect(),
        body: text(response.body),
    }
}

/// A user with a cookie jar (RFC 6265 §5), as far as this shop needs one.
struct User<'a> {
    server: &'a ShopServer,
    /// Name, value and path of each cookie; with `Secure` if the last is true.
    jar: Vec<(String, String, String, bool)>,
    bearer: Option<String>,
}

impl User<'_> {
    fn new(server: &ShopServer) -> User<'_> {
        User { server, jar: Vec::new(), bearer: None }
    }

    fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, "")
    }

    fn post(&mut self, path: &str, body: &str) -> Reply {
        self.send("POST", path, body)
    }

    fn send(&mut self, method: &str, path: &str, body: &str) -> Reply {
        let media_type = if body.starts_with('{') { JSON } else { FORM };
        let mut fields = vec![format!("Content-Type: {media_type}")];
        let is_for = |of: &str| of == "/" || path == of || path.starts_with(&format!("{of}/"));
        let has_tls = self.server.tls.is_some();
        let sent = self.jar.iter().filter(|(.., of, secure)| is_for(of) && (!secure || has_tls));
        let sent: Vec<String> = sent.map(|(name, value, ..)| format!("{name}={value}")).collect();
        if !sent.is_empty() {
            fields.push(format!("Cookie: {}", sent.join("; ")));
        }
        fields.extend(self.bearer.iter().map(|token| format!("Authorization: Bearer {token}")));
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let reply = self.server.send(method, path, &fields, body);
        for (_, set) in reply.fields.iter().filter(|(name, _)| name == "set-cookie") {
            self.take_cookie(set);
        }
        reply
    }

    fn take_cookie(&mut self, set: &str) {
        let mut parts = set.split("; ");
        let (name, value) = parts.next().and_then(|pair| pair.split_once('=')).expect("a pair");
        let parts: Vec<&str> = parts.collect();
        let path = parts.iter().find_map(|part| part.strip_prefix("Path=")).expect("a path");
        self.jar.retain(|(own, _, of, _)| (&**own, &**of) != (name, path));
        if !parts.iter().any(|part| part.starts_with("Max-Age=")) {
            let is_secure = parts.contains(&"Secure");
            self.jar.push((name.to_owned(), value.to_owned(), path.to_owned(), is_secure));
        }
    }

    /// Logs in, and follows the redirect.
    fn log_in(&mut self) -> Reply {
        let csrf = self.get("/login").between("name=\"csrf\" value=\"", "\"");
        let reply = self.post("/login", &format!("user=ann+lee&password=secret&csrf={csrf}"));
        assert_eq!(reply.status, 303, "{reply:?}");
        let location = reply.fields.iter().find(|(name, _)| name == "location");
        self.get(&location.expect("a redirect").1)
    }

    fn take_token(&mut self) {
        let reply = self.post("/token", "{}");
        self.bearer = Some(reply.between("\"access_token\":\"", "\""));
    }
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const MORE: &str = "{\"product\":3,\"quantity\":2}";

#[test]
fn users_walk_from_the_log_in_to_the_order() {
    for (is_http2, has_tls) in ALL {
        let server = ShopServer::start(is_http2, has_tls, ShopOptions::default());
        let mut users: Vec<User<'_>> = (0..5).map(|_| User::new(&server)).collect();
        // One step of all users after the other, so that a state that two share would show.
        for user in &mut users {
            assert!(user.log_in().body.contains("Welcome, <b>ann lee</b>."));
        }
        users.iter_mut().for_each(User::take_token);
        for user in &mut users {
            assert!(user.get("/api/products?page=2").body.starts_with("{\"page\":2,"));
            assert!(user.get("/api/products/11").body.starts_with("{\"id\":11,"));
            assert_eq!(user.post("/api/cart", MORE).status, 201);
        }
        let mut orders = Vec::new();
        for user in &mut users {
            let cart = user.get("/api/cart");
            assert!(cart.body.contains("[{\"product\":3,\"quantity\":2}]"), "{cart:?}");
            let order = format!("{{\"cart\":{}}}", cart.between("\"id\":", ","));
            orders.push(user.post("/api/orders", &order).body);
        }
        assert_eq!(orders, [1, 2, 3, 4, 5].map(|number| format!("{{\"order\":{number}}}\n")));
        assert_eq!(users[0].post("/logout", "").status, 204);
        assert_eq!(users[0].get("/stats").status, 200);
        let stats = server.stop();
        assert_eq!(stats.broken_line(), "rules broken: none");
        assert_eq!((stats.sessions_made, stats.sessions_live), (5, 4));
        assert_eq!((stats.logins, stats.tokens, stats.orders), (5, 5, 5));
        let count = |name| stats.requests().find(|(own, _)| *own == name).expect(name).1;
        assert_eq!((count("POST /login"), count("GET /api/products/{id}")), (5, 5));
    }
}

/// Each rule once, but for the cookies that were not sent, whose number depends on TLS.
#[test]
fn each_broken_rule_is_counted() {
    for (is_http2, has_tls) in ALL {
        let server = ShopServer::start(is_http2, has_tls, ShopOptions::default());
        let send = |method: &str, path: &str, fields: &[&str], body: &str| {
            server.send(method, path, fields, body).status
        };
        let form = format!("Content-Type: {FORM}");
        let unknown = "Cookie: session=0-0000000000000000";
        assert_eq!(send("GET", "/account", &[], ""), 401, "session_missing");
        assert_eq!(send("GET", "/account", &[unknown], ""), 401, "session_unknown");
        let mut user = User::new(&server);
        let csrf = user.get("/login").between("name=\"csrf\" value=\"", "\"");
        assert_eq!(user.post("/login", "user=a&password=secret").status, 403, "csrf_wrong");
        let wrong = user.post("/login", &format!("csrf={csrf}&user=a&password=Secret"));
        assert_eq!(wrong.status, 401, "credentials_wrong");
        user.log_in();
        user.take_token();
        let mut other = User::new(&server);
        other.log_in();
        assert_eq!(other.get("/api/products").status, 401, "token_missing");
        other.bearer = Some("0-0000000000000000".to_owned());
        assert_eq!(other.get("/api/products").status, 401, "token_unknown");
        other.bearer = user.bearer.clone();
        assert_eq!(other.get("/api/products").status, 403, "token_foreign");
        assert_eq!(other.get("/api/cart").status, 404, "cart_missing");
        let cart = user.post("/api/cart", MORE).between("\"id\":", ",");
        let order = format!("{{\"cart\":{cart}}}");
        assert_eq!(other.post("/api/orders", &order).status, 403, "cart_foreign");
        assert_eq!(send("GET", "/", &["Cookie: seen=1"], ""), 200, "cookie_out_of_path");
        let session = |user: &User<'_>| {
            let pairs = user.jar.iter().filter(|(.., path, _)| path == "/");
            let pairs: Vec<_> = pairs.map(|(name, value, ..)| format!("{name}={value}")).collect();
            format!("Cookie: {}", pairs.join("; "))
        };
        assert_eq!(send("GET", "/account", &[&session(&user)], ""), 200, "cookie_missing");
        let twice = [&*session(&user), &session(&user)];
        assert_eq!(send("GET", "/", &twice, ""), 200, "cookie_twice");
        let insecure = if has_tls { 0 } else { 1 };
        send("GET", "/", &["Cookie: tls=1"], "");
        let late = session(&other);
        other.post("/logout", "");
        assert_eq!(send("POST", "/login", &[&late, &form], ""), 401, "cookie_expired");
        let stats = server.stop();
        for (name, count) in stats.broken() {
            let expected = match name {
                "token_expired" => 0,
                "cookie_insecure" => insecure,
                _ => 1,
            };
            assert_eq!(count, expected, "{name}, TLS: {has_tls}: {}", stats.broken_line());
        }
    }
}

#[test]
fn a_token_expires() {
    let options = ShopOptions { token_ttl: std::time::Duration::from_nanos(1) };
    for (is_http2, has_tls) in ALL {
        let server = ShopServer::start(is_http2, has_tls, options);
        let mut user = User::new(&server);
        user.log_in();
        user.take_token();
        let reply = user.get("/api/products");
        assert_eq!((reply.status, &*reply.body), (401, "{\"error\":\"token_expired\"}\n"));
        assert!(reply.fields.contains(&("www-authenticate".to_owned(), "Bearer".to_owned())));
        assert_eq!(server.stop().broken_line(), "rules broken: token_expired 1");
    }
}

/// Runs curl with a cookie jar and these words. Returns the body of the response. Redirects are not
/// followed, at which curl 7.88 fails over HTTP/2 with prior knowledge (curl issue 10634).
fn curl(jar: &str, words: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "60"]);
    let output = command.args(["--cookie-jar", jar, "--cookie", jar]).args(words).output();
    let output = output.expect("curl is installed: cargo xtask setup");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The cookie engine of curl is not the one of these tests.
#[test]
fn curl_keeps_the_rules() {
    let (identity, pem) = Identity::generate(&[]).expect("keys can be made");
    let tls = TlsConfig::new(TlsOptions::new(identity)).expect("the options are right");
    let own = |name: &str| {
        let file = std::env::temp_dir().join(format!("weir-shop-{}-{name}", std::process::id()));
        file.to_str().expect("temporary paths are text").to_owned()
    };
    let authority = own("ca.pem");
    std::fs::write(&authority, pem).expect("the directory can be written");
    let jar = own("jar");
    for (tls, scheme, http2) in
        [(None, "http", "--http2-prior-knowledge"), (Some(&tls), "https", "--http2")]
    {
        for flag in ["--http1.1", http2] {
            let mut options =
                ServeOptions { threads: 3, tls: tls.cloned(), ..ServeOptions::default() };
            options.behaviour.shop = Some(ShopOptions::default());
            let handle = spawn(options).expect("a free port");
            let Endpoint::Tcp(address) = *handle.endpoint() else { panic!("not TCP") };
            let url = |path: &str| format!("{scheme}://localhost:{}{path}", address.port());
            let run = |path: &str, words: &[&str]| {
                curl(&jar, &[&[flag, "--cacert", &authority, &url(path)], words].concat())
            };
            let between = |text: &str, begin: &str, end: &str| -> String {
                let rest = text.split_once(begin).unwrap_or_else(|| panic!("{text}")).1;
                rest.split_once(end).unwrap_or_else(|| panic!("{text}")).0.to_owned()
            };
            let csrf = between(&run("/login", &[]), "name=\"csrf\" value=\"", "\"");
            let user = ["--data-urlencode", "user=Ann & <Bob>", "--data", "password=secret"];
            let csrf = format!("csrf={csrf}");
            assert_eq!(run("/login", &[&user[..], &["--data", &csrf]].concat()), "");
            let page = run("/account", &[]);
            assert!(page.contains("Welcome, <b>Ann &amp; &lt;Bob&gt;</b>."), "{page}");
            let token = run("/token", &["--request", "POST"]);
            let bearer = between(&token, "\"access_token\":\"", "\"");
            let bearer = format!("Authorization: Bearer {bearer}");
            let products = run("/api/products?page=3", &["--header", &bearer]);
            assert!(products.starts_with("{\"page\":3,"), "{products}");
            let json = ["--header", "Content-Type: application/json", "--data"];
            run("/api/cart", &[&json[..], &[MORE]].concat());
            let cart = between(&run("/api/cart", &[]), "\"id\":", ",");
            let order = format!("{{\"cart\":{cart}}}");
            assert_eq!(run("/api/orders", &[&json[..], &[&order]].concat()), "{\"order\":1}\n");
            run("/logout", &["--request", "POST"]);
            run("/", &[]);
            let shop = handle.stop().expect("it ends well").shop.expect("there is a shop");
            // On a busy machine the cookie of one second may arrive late.
            let mut broken = shop.broken().filter(|(name, _)| *name != "cookie_expired");
            assert!(broken.all(|(_, count)| count == 0), "{scheme} {flag}: {}", shop.broken_line());
            assert_eq!((shop.logins, shop.sessions_live, shop.orders), (1, 0, 1));
            std::fs::remove_file(&jar).expect("curl wrote it");
        }
    }
    std::fs::remove_file(authority).expect("it is there");
}
