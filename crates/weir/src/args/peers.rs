//! Flags of other load generators that weir does not have, with weir's equivalent: a table, and the
//! search in it. The position of a flag in the command line does not matter here.

use std::net::IpAddr;

use weir_text::units::{parse_duration_ns, parse_rate};

/// The table: flags, the kind of value to which a meaning applies unless that is any, the flag's
/// tool and purpose, and weir's equivalent, in which a word in braces stands for the value. The
/// first line that fits counts.
const PEERS: &str = "\
-A media: hey's and oha's Accept header; use -H 'Accept: {TYPE}'
-A: ab's basic authentication; use -u USER:PASS
-B address: ab's source address; use --source-ip {ADDRESS}
-B: wrk2's latency per batch; weir measures each pipelined request
-C: ab's cookie; use -H 'Cookie: NAME=VALUE'
-D poisson: the arrivals of a wrk2 fork; use -R N --arrivals poisson
-D uniform: the arrivals of a wrk2 fork; use --arrivals uniform
-D law: the arrivals of a wrk2 fork; weir has --arrivals uniform and poisson
-D time: h2load's duration; use -d {T}
-D: hey's and oha's body file; use -b @{FILE}
-E: ab's client certificate; use --cert {FILE}
-F: oha's form; use -b with -H 'Content-Type: multipart/form-data; boundary=…'
-G: curl's GET with data; write the query into the URL
-I: curl's HEAD; use -X HEAD
-K: weighttp's pipelining; use --pipeline {N}
-M number: autocannon's requests per connection; use --requests-per-connection {N}
-N: h2load's inactivity timeout; use -T {T}
-O: autocannon's request count; use -n {N}
-P: ab's proxy authentication; weir has no proxy; --connect-to HOST[:PORT] sends elsewhere
-S media: autocannon's Unix socket; use --unix {PATH}
-S: a wrk2 fork's statistics per URL; give several URLs, or --from FILE: results are by name
-U: wrk2's uncorrected latency; the report has it as service time
-V: ab's version; use -v
-W: autocannon's warm-up; use --warmup {T}
-Z: oha's file of bodies; use --from FILE: JSON lines with url and body
-a number: autocannon's request count; use -n {N}
-a pair: hey's and oha's basic authentication; use -u USER:PASS
-a: bombardier's connection per request; use --close client
-e: ab's CSV of percentiles; use --raw FILE (Parquet), or -L
-f: bombardier's body file, or siege's list of URLs; use -b @{FILE}, or --from {FILE}
-g: ab's data per request; use --raw FILE (Parquet)
-i number: k6's iteration count; use -n {N}
-i text: h2load's list of URLs, or autocannon's body file; use --from {FILE}, or -b @{FILE}
-i: ab's HEAD, or siege's random order; use -X HEAD, or --from FILE --order random
-j: oha's JSON output; use --format json
-l: bombardier's and autocannon's latency output; use -L
-m number: h2load's streams per connection; use --streams {N}
-m: hey's, oha's and ab's method; use -X {METHOD}
-p number: autocannon's pipelining; use --pipeline {N}
-p: ab's file to POST; use -b @{FILE}
-r number: bombardier's and plow's rate; use -R {N}
-r: ab's going on after errors; weir does so by default
-w number: autocannon's worker threads; use -t {N}
-w: oha's wait for late responses, ab's HTML; weir waits; --format json is for programs
-x: hey's and oha's proxy; weir has none; --connect-to HOST[:PORT] sends elsewhere
-y: ab's table attributes; use --format json
-z: hey's duration; use -d {T}
-rate -qps: the rate of vegeta or fortio; use -R {N}
-duration: vegeta's duration; use -d {T}
-targets: vegeta's file of targets; use --from {FILE}
-lazy: vegeta's reading of targets during the load; --from FILE does so with a list above 4,096 rows
-chunked: vegeta's chunked bodies; use a Lua script, -s FILE (docs/SCRIPTING.md)
-connections -max-connections: vegeta's number of connections; use -c {N}
-max-workers: vegeta's greatest number of workers; use -R N -c 10..{N}
-workers -cpus: the threads of vegeta or hey; use -t {N}
-timeout: vegeta's response timeout; use -T {T}
-payload: fortio's body; use -b TEXT
-insecure: vegeta's unverified TLS; use -k, or --insecure
-root-certs: vegeta's CA certificates; use --cacert {FILE}
-cert -key: vegeta's client certificate; use --cert FILE and --key FILE
-keepalive: vegeta's choice of keep-alive; connections are kept unless --close client
-disable-keepalive: hey's connection per request; use --close client
-redirects: vegeta's greatest number of redirects; use --follow {N}
-disable-redirects: hey's choice of redirects; weir follows none without --follow N
-disable-compression: hey's choice of compression; weir sends no Accept-Encoding unless -H adds it
-unix-socket: vegeta's Unix socket; use --unix {PATH}
-laddr: vegeta's source address; use --source-ip {ADDRESS}
-connect-to: vegeta's other server; use --connect-to HOST[:PORT]
-resolvers -dns-ttl: vegeta's name resolution; weir resolves once, or use --connect-to HOST[:PORT]
-proxy-header: vegeta's proxy header; weir has no proxy; --connect-to HOST[:PORT] sends elsewhere
-max-body: vegeta's limit of read bodies; weir reads and drops bodies
-format: vegeta's format of targets; use --from FILE --from-format vegeta-{FORMAT}
-json: fortio's JSON output; use --format json
-name: vegeta's name of the attack; name the result file: -o NAME.json
-nocatchup: fortio's skipping of late requests; weir never skips: it sends late and says so
-uniform: fortio's spread of requests; weir does so by default
--rps --qps --query-per-second --overallRate --overall-rate: \
    the rate of k6, h2load, oha and others; use -R {N}
--connectionRate: autocannon's rate per connection; use -R with that rate times -c
--vus --users --concurrency --concurrent --clients --max-concurrency: \
    the number of clients in k6, locust and others; use -c {N}
--max-vus: k6's greatest number of virtual users; use -c 10..{N} with a rate, -R N
--spawn-rate: locust's users per second at the start; use --stages 30s@c=0..100
--think-time --delay --wait-time: \
    a pause between a user's requests; use -R N, or think of the steps of --scenario FILE
--iterations --amount --maxOverallRequests --reps --total --num-prompts: \
    the request count of k6, ghz, vLLM and others; use -n {N}
--request-rate: vLLM's rate; use -R {N}, with --arrivals poisson as there
--call: ghz's method; use --grpc {METHOD}
--protoset: ghz's descriptor set; use --grpc METHOD --proto {FILE}
--import-paths: ghz's directories of imports; \
    use --grpc METHOD --proto FILE --proto-path {DIR}
--data-file --binary-file: ghz's file of messages; use -b @{FILE}
--binary: ghz's binary messages; use --grpc METHOD --grpc-binary -b @FILE
--metadata --metadata-file: ghz's metadata; use -H 'NAME: VALUE'
--skipTLS: ghz's unverified TLS; use -k
--cname --authority: ghz's name of the server; use --sni {NAME}, or -H 'Host: NAME'
--load-schedule --load-start --load-step --load-end --load-step-duration --load-max-duration: \
    ghz's rate that changes; use --stages 30s@100,30s@200..1k
--concurrency-schedule --concurrency-start --concurrency-step --concurrency-end: \
    ghz's number of workers that changes; use --stages 30s@c=10,1m@c=10..500
--stream-call-duration: ghz's length of a stream; use -T {T}
--dry-run: a check without a load; use --print-plan
--stage: k6's stage of a ramp; use --stages 30s@c=0..100 (clients), or --stages 30s@0..1k (a rate)
--burst-rate --burst-delay --rate-period: \
    a rate that changes; use --stages 1m@50x200 (50 bursts a second of 200 requests)
--latencies --u_latency: \
    the latency output of bombardier or wrk2; use -L (service time is uncorrected)
--batch_latency: wrk2's latency per batch; weir measures each pipelined request
--latency-correction: oha's corrected latency; weir does so by default with -R: response time
--ignoreCoordinatedOmission --ignore-coordinated-omission: \
    autocannon's uncorrected latency; the report has it as service time
--warm-up-time --warm-up: h2load's warm-up; use --warmup {T}
--ramp-up: plow's ramp of connections; use --stages 1m@c=0..500
--pipelining: autocannon's pipelining; use --pipeline {N}
--max-concurrent-streams --parallel: the streams per connection of h2load or oha; use --streams {N}
--workers: the threads of autocannon; use -t {N}
--request-timeout --req-timeout --max-time --connection-inactivity-timeout: \
    another tool's timeout; use -T {T}
--dial-timeout: plow's connect timeout; use --connect-timeout {T}
--connection-active-timeout: h2load's age of connections; use --connection-lifetime {T}
--time --run-time --seconds: another tool's duration; use -d {T}
--no-duration --forever: a run without an end; use -d 0; Ctrl-C ends it with its report
--timing-script-file: h2load's replay; use --replay FILE, of JSON lines with time and url
--urls-from-file --input-file --file: the list of URLs of oha, h2load or siege; use --from {FILE}
--har: autocannon's requests of a HAR file; use --from {FILE}
--input: autocannon's body file; use -b @{FILE}
--internet: siege's random order of URLs; use --from FILE --order random
--rand-regex-url --max-repeat: oha's random URLs; write {{rand:1:100}} or {{uuid}} into the URL
--dump-urls: oha's print of URLs; use --print-plan, which has the first requests
--locustfile: locust's program; list its requests for --from FILE, or use a Lua script, -s FILE
--data --data-raw --data-binary: the body of curl; use -b TEXT, or -b @FILE
--body-file --body-path --post-file: a body file; use -b @{FILE}
--body-path-lines: oha's file of bodies; use --from FILE: JSON lines with url and body
--content-type --content: the body's media type; use -H 'Content-Type: {TYPE}'
--accept: oha's Accept header; use -H 'Accept: {TYPE}'
--host: a Host header; use -H 'Host: {NAME}'
--user-agent: the User-Agent header; use -H 'User-Agent: {NAME}'
--cookie: the Cookie header; use -H 'Cookie: NAME=VALUE'
--basic-auth --auth: basic authentication; use -u USER:PASS
--aws-session --aws-sigv4: oha's AWS signature; use a Lua script, -s FILE (docs/SCRIPTING.md)
--insecure-skip-tls-verify --tls-skip-verify --no-check-certificate: k6's unverified TLS; use -k
--servername: another tool's TLS server name; use --sni {NAME}
--tls13-ciphers: h2load's ciphers of TLS 1.3; use --ciphers {LIST}
--tls-max-version --max-tls: another tool's highest version of TLS; use --tls-max {VERSION}
--groups --ktls --alpn-list --npn-list: h2load's choice of TLS; weir offers the defaults of rustls
--http2: another tool's HTTP/2; use --http 2
--http1 --http1.1 --h1 --fasthttp: another tool's HTTP/1.1; use --http 1.1
--http-version: oha's choice of protocol; use --http {HTTP}
--no-tls-proto: h2load's protocol without TLS; use --http 2, or --http 1.1
--h3 --http3: HTTP/3; weir has HTTP/1 and HTTP/2
--proxy --http-proxy --socks5 --proxy-header --proxy-http2 --proxy-http-version: \
    a proxy; weir has none; --connect-to HOST[:PORT] sends elsewhere
--resolve: curl's other address; use --connect-to HOST[:PORT]
--no-pre-lookup --dns --dns-ttl: \
    another tool's name resolution; weir resolves once, or use --connect-to HOST[:PORT]
--unix-socket --socketPath --socket-path: another tool's Unix socket; use --unix {PATH}
--local-ips --local-addr --interface --bind: \
    k6's and curl's source addresses; use --source-ip {LIST}
--disable-keepalive --disableKeepAlives --no-keepalive: \
    the connection per request of oha and bombardier; use --close client
--no-connection-reuse --no-vu-connection-reuse: k6's connection per request; use --close client
--max-requests-per-connection --maxConnectionRequests --reconnectRate: \
    another tool's renewal of connections; use --requests-per-connection {N}
--redirect --max-redirects: \
    the greatest number of redirects of oha and k6; use --follow {N}
--disable-compression --compressed: \
    oha's and curl's choice of compression; weir sends no Accept-Encoding unless -H adds it
--json: the JSON output of oha and others; use --format json, or -o FILE
--output-format: oha's output format; use --format text or --format json
--summary-export --log-file --db-url: \
    another tool's result file; use -o {FILE}, or --raw FILE for every request
--summary-trend-stats --percentiles --stats-success-breakdown: \
    k6's and oha's choice of statistics; the report has percentiles; -L prints all
--no-tui --no-color --disable-color --fps --no-progress --no-print --no-summary: \
    another tool's display; weir has a progress line; -q switches it and the report off
--wait-ongoing-requests-after-deadline: oha's wait for late responses; weir does so by default
--bailout --abort-on: another tool's end after errors; use --abort 'errors > 5% for 5s'
--threshold --thresholds --slo --sla: \
    another tool's threshold; use --assert 'p99 < 5ms'
--open-loop: nighthawk's open loop; weir's -R N is an open loop
";

/// The same table for flags that weir has too, with values that it refuses.
const OTHER_MEANINGS: &str = "\
-d data: a body, as hey's, oha's and curl's -d; use -b TEXT
-t time: a timeout or duration, as oha's and fortio's -t; use -T {T}, or -d {T}
-T media: a media type, as hey's, oha's and ab's -T; use -H 'Content-Type: {TYPE}'
-n method: a method, as curl's --request; use -X {METHOD}
-u number: virtual users, as k6's -u; use -c {N}
";

/// The error for an unknown flag and its value, if another tool has the flag.
pub(super) fn hint(flag: &str, value: Option<&str>) -> Option<String> {
    let [is, then] = find(PEERS, flag, value)?;
    Some(format!("unknown flag {flag}: that is {is}; {}", filled(then, value)))
}

/// The hint for a long flag with one dash, as in vegeta.
pub(super) fn of_one_dash(word: &str, following: Option<&str>) -> Option<String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, following),
    };
    (name.len() > 2 && !name.starts_with("--")).then(|| hint(name, value))?
}

/// The tip for a flag of weir whose value fits the flag's meaning in another tool.
pub(super) fn tip(flag: &str, value: &str) -> Option<String> {
    let [is, then] = find(OTHER_MEANINGS, flag, Some(value))?;
    Some(format!("for {is}, {}", filled(then, Some(value))))
}

/// Finds the tool and purpose of a flag, and weir's equivalent.
fn find(table: &'static str, flag: &str, value: Option<&str>) -> Option<[&'static str; 2]> {
    let mut meanings = table.lines().filter_map(meaning);
    let found = meanings.find(|(flags, when, ..)| {
        flags.split(' ').any(|listed| listed == flag) && fits(when, value)
    });
    found.map(|(.., is, then)| [is, then])
}

/// Splits a line: flags, the kind of value, the tool and purpose, weir's equivalent.
fn meaning(line: &str) -> Option<(&str, &str, &str, &str)> {
    let (head, rest) = line.split_once(": ")?;
    let kind = head.rsplit_once(' ').filter(|(_, when)| !when.starts_with('-'));
    let (flags, when) = kind.unwrap_or((head, "any"));
    let (is, then) = rest.split_once("; ")?;
    Some((flags, when, is, then))
}

/// True if a meaning applies to a value.
fn fits(when: &str, value: Option<&str>) -> bool {
    let Some(value) = value else { return when == "any" };
    let is_url = value.contains("://");
    match when {
        "any" => true,
        "number" => parse_rate(value).is_ok(),
        "time" => parse_duration_ns(value).is_ok(),
        "address" => value.parse::<IpAddr>().is_ok(),
        "text" => parse_rate(value).is_err() && !is_url,
        "media" => value.contains('/') && !is_url,
        "pair" => value.contains(':') && !is_url,
        "data" => value.contains(['{', '[', '=', '&', '"', '@', ' ']),
        "method" => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_uppercase()),
        "poisson" => matches!(value, "exp" | "poisson"),
        "uniform" => matches!(value, "fixed" | "uniform"),
        "law" => matches!(value, "norm" | "zipf"),
        _ => false,
    }
}

/// Maximum length in bytes of a value that is repeated.
const VALUE_MAX_BYTES: usize = 40;

/// Inserts the value into the placeholders of `then`, if weir accepts it there.
fn filled(then: &str, value: Option<&str>) -> String {
    let mut text = String::new();
    let mut rest = then;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        text += before;
        // A field of a template is text.
        text += &match name.strip_prefix('{') {
            Some(field) => format!("{{{{{field}}}"),
            None => value.and_then(|value| typed(name, value)).unwrap_or_else(|| name.to_owned()),
        };
        rest = after;
    }
    text + rest
}

/// The value as typed for weir, if it is valid for the placeholder `name` and needs no quotes.
fn typed(name: &str, value: &str) -> Option<String> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"/.:,%@_+-*=".contains(&byte);
    let is_plain = (1..=VALUE_MAX_BYTES).contains(&value.len()) && value.bytes().all(is_known);
    if !is_plain || value.contains("://") {
        return None;
    }
    let fits = match name {
        "N" => parse_rate(value).is_ok(),
        "T" => parse_duration_ns(value).is_ok(),
        _ => true,
    };
    fits.then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Arg, CommandFactory};

    use super::*;
    use crate::args::Cli;

    fn check(flag: &str, value: Option<&str>, expected: &str) {
        let found = hint(flag, value).unwrap_or_default();
        assert!(found.starts_with(&format!("unknown flag {flag}: that is ")), "{found}");
        assert!(found.contains(expected), "{flag} {value:?}: {found}");
    }

    #[test]
    fn the_value_is_carried_over() {
        check("-z", Some("30s"), "that is hey's duration; use -d 30s");
        check("-z", None, "use -d T");
        check("-m", Some("PUT"), "use -X PUT");
        check("-D", Some("body.json"), "use -b @body.json");
        check("-rate", Some("50/1s"), "use -R 50/1s");
        check("-rate", Some("max"), "use -R N");
        check("--time", Some("never"), "use -d T");
        check("--vus", Some("10"), "use -c 10");
        check("-z", Some("30s; rm"), "use -d T");
        check("-w", Some("http://h/"), "--format json");
        check("--dial-timeout", Some("2s"), "--connect-timeout 2s");
        check("-targets", Some("targets.txt"), "use --from targets.txt");
        check("-format", Some("json"), "use --from FILE --from-format vegeta-json");
        check("-format", None, "--from-format vegeta-FORMAT");
        check("--rand-regex-url", Some("x"), "write {{rand:1:100}} or {{uuid}} into the URL");
        check("--total", Some("500"), "use -n 500");
        check("--call", Some("a.B/C"), "use --grpc a.B/C");
        check("--urls-from-file", Some("urls.txt"), "use --from urls.txt");
        check("--har", Some("a.har"), "use --from a.har");
        check("-f", Some("urls.txt"), "--from urls.txt");
    }

    #[test]
    fn values_select_the_meaning() {
        check("-A", Some("text/html"), "use -H 'Accept: text/html'");
        check("-A", Some("me:SECRET"), "use -u USER:PASS");
        check("-a", Some("me:SECRET"), "use -u USER:PASS");
        check("-a", Some("5000"), "use -n 5000");
        check("-a", None, "--close client");
        check("-D", Some("exp"), "--arrivals poisson");
        check("-D", Some("30"), "use -d 30");
        check("-r", Some("100"), "use -R 100");
        check("-r", Some("http://h/"), "by default");
        check("-p", Some("post.txt"), "-b @post.txt");
        check("-p", Some("16"), "--pipeline 16");
        check("-i", Some("http://h/"), "-X HEAD");
        check("-i", None, "--order random");
        check("-i", Some("urls.txt"), "--from urls.txt");
        check("-i", Some("100"), "-n 100");
        check("-m", Some("32"), "--streams 32");
        check("-B", Some("127.0.0.2"), "--source-ip 127.0.0.2");
    }

    #[test]
    fn credentials_are_not_repeated() {
        for flag in ["-a", "-A", "-C", "-P", "--cookie", "--auth", "--basic-auth"] {
            for value in ["me:SECRET", "a=SECRET", "Authorization:SECRET"] {
                let found = hint(flag, Some(value)).unwrap_or_default();
                assert!(!found.is_empty() && !found.contains("SECRET"), "{flag}: {found}");
            }
        }
    }

    /// Every meaning of every flag: the flag, the kind of value, the tool and purpose, the
    /// equivalent.
    fn meanings(
        table: &'static str,
    ) -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
        let mut found = Vec::new();
        for line in table.lines() {
            let (flags, when, is, then) = meaning(line).unwrap_or_else(|| panic!("{line}"));
            found.extend(flags.split(' ').map(|flag| (flag, when, is, then)));
        }
        found
    }

    #[test]
    fn no_flag_of_weirs_is_in_the_table() {
        let command = Cli::command();
        for (flag, ..) in meanings(PEERS) {
            let longs = || command.get_arguments().filter_map(Arg::get_long);
            let is_known = match flag.strip_prefix("--") {
                Some(name) => longs().any(|long| long == name),
                None if flag.len() > 2 => false,
                None => command.get_arguments().any(|arg| arg.get_short() == flag.chars().nth(1)),
            };
            assert!(!is_known, "{flag} is weir's");
        }
    }

    #[test]
    fn equivalents_are_flags_of_weirs() {
        let command = Cli::command();
        let longs: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        let letters: Vec<char> = command.get_arguments().filter_map(Arg::get_short).collect();
        for (flag, .., then) in [meanings(PEERS), meanings(OTHER_MEANINGS)].concat() {
            let words = then.split([' ', '\'', ',', ':', ';', ')']);
            for word in words.filter(|word| word.starts_with('-')) {
                let is_known = match word.strip_prefix("--") {
                    Some(long) => longs.contains(&long),
                    None => word.chars().nth(1).is_some_and(|letter| letters.contains(&letter)),
                };
                assert!(is_known, "{flag}: weir has no {word}");
            }
        }
    }

    /// The value that stands for the name of one in an example.
    fn sample(name: &str) -> String {
        match name {
            "N" => "5".to_owned(),
            "T" => "5s".to_owned(),
            "ADDRESS" | "LIST" => "127.0.0.1".to_owned(),
            "PATH" => "/p".to_owned(),
            "HOST[:PORT]" => "h:80".to_owned(),
            "METHOD" => "PUT".to_owned(),
            "VERSION" => "1.3".to_owned(),
            "HTTP" => "2".to_owned(),
            "vegeta-FORMAT" => "vegeta-json".to_owned(),
            "10..N" => "10..50".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The words of an example, where a text in quotation marks is one.
    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in text.split('\'').enumerate() {
            match index % 2 {
                1 => words.push(part.to_owned()),
                _ => words.extend(part.split_whitespace().map(str::to_owned)),
            }
        }
        words
    }

    /// Each equivalent is a command line that weir accepts.
    #[test]
    fn equivalents_are_accepted() {
        let command = Cli::command();
        let takes_value = |word: &str| {
            let is_it = |arg: &&Arg| match word.strip_prefix("--") {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short() == word.chars().nth(1),
            };
            let found = command.get_arguments().find(is_it);
            found.map(|arg| arg.get_action().takes_values())
        };
        for (flag, .., then) in [meanings(PEERS), meanings(OTHER_MEANINGS)].concat() {
            let then = filled(then, None);
            let parts = then.split("; ").flat_map(|part| part.split(", or "));
            for part in parts.flat_map(|part| part.split(" or ")) {
                let mut line = vec!["weir".to_owned()];
                let found = words(part);
                for (at, word) in found.iter().enumerate().filter(|(_, word)| word.starts_with('-'))
                {
                    let name = word.trim_end_matches([',', ':', ')']);
                    let value = found.get(at + 1).map(|it| it.trim_end_matches([',', ':', ')']));
                    match (takes_value(name), value) {
                        (Some(false), _) => line.push(name.to_owned()),
                        (Some(true), Some(value)) if name == word => {
                            line.extend([name.to_owned(), sample(value)]);
                        }
                        // A flag that is named without a value, as in "times -c".
                        (Some(true), _) => {}
                        (None, _) => panic!("{flag}: weir has no {name}"),
                    }
                }
                let is_prose = part.contains("with that rate") || part.contains("unless");
                line.push("http://h/".to_owned());
                if let Err(error) = Cli::of_words(&line)
                    && error.use_stderr()
                    && !is_prose
                {
                    panic!("{flag}: {line:?}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_meaning_is_reached_and_fits_two_lines() {
        let examples = [
            "7",
            "1.5m",
            "text/html",
            "me:secret",
            "::1",
            "exp",
            "fixed",
            "norm",
            "{}",
            "PUT",
            "word",
        ];
        let mut seen = BTreeSet::new();
        for (flag, when, is, then) in [meanings(PEERS), meanings(OTHER_MEANINGS)].concat() {
            assert!(examples.iter().any(|value| fits(when, Some(value))), "{flag}: {when}?");
            assert!(!seen.contains(&(flag, "any")), "{flag}: {when} comes behind any");
            assert!(seen.insert((flag, when)), "{flag}: {when} is there twice");
            let text = format!("error: unknown flag {flag}: that is {is}; {then}");
            assert!(text.chars().count() <= 160, "more than two lines: {text}");
        }
    }

    #[test]
    fn refused_values_have_a_tip() {
        for (flag, value, expected) in [
            ("-d", "{\"a\":1}", Some("use -b TEXT")),
            ("-t", "30s", Some("-T 30s, or -d 30s")),
            ("-T", "application/json", Some("-H 'Content-Type: application/json'")),
            ("-n", "POST", Some("use -X POST")),
            ("-t", "x", None),
            ("-R", "fast", None),
        ] {
            let found = tip(flag, value);
            let fits = match expected {
                Some(part) => found.as_ref().is_some_and(|found| found.contains(part)),
                None => found.is_none(),
            };
            assert!(fits, "{flag} {value}: {found:?}");
        }
    }
}
