//! Secrets that a stored specification lacks: each is given again by the flag that set it.

use anyhow::{Result, bail};
use weir_result::Header;
use weir_runner::{BodySpec, REDACTED, RunSpec, credentials};

use crate::args::request::body;
use crate::args::study::Secrets;

/// Puts the given values in the place of the redacted ones.
///
/// # Errors
/// When a value is given that the specification has, or lacks altogether, or one is still missing.
pub(crate) fn restore(spec: &mut RunSpec, given: &Secrets) -> Result<()> {
    for line in &given.headers {
        set_header(spec, line)?;
    }
    if let Some(url) = &given.url {
        set_url(spec, url)?;
    }
    if let Some(text) = &given.body {
        match &mut spec.request.body {
            Some(own @ BodySpec::Text(_)) => *own = body(text),
            _ => bail!("--body: the specification has no text as its body"),
        }
    }
    let page = "URL for it";
    let own = [
        ("--user", &mut spec.request.basic_auth, &given.user, "user"),
        ("--watch-nginx", &mut spec.watch.nginx, &given.watch_nginx, page),
        ("--watch-prometheus", &mut spec.watch.prometheus, &given.watch_prometheus, page),
    ];
    for (flag, own, value, what) in own {
        let Some(value) = value else { continue };
        let Some(own) = own.as_mut().filter(|own| is_redacted(own)) else {
            bail!("{flag}: the specification has no redacted {what}");
        };
        own.clone_from(value);
    }
    spec.redaction.users.extend(given.user.clone());
    check_complete(spec)
}

fn is_redacted(text: &str) -> bool {
    text.contains(REDACTED)
}

/// Sets a header, `Name: value`, whose value is redacted.
fn set_header(spec: &mut RunSpec, line: &str) -> Result<()> {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    let name = name.trim();
    let is_it =
        |header: &&mut Header| header.name.eq_ignore_ascii_case(name) && is_redacted(&header.value);
    match spec.request.headers.iter_mut().find(is_it) {
        Some(header) => value.trim().clone_into(&mut header.value),
        None => bail!("--header {name}: the specification has no redacted header of this name"),
    }
    Ok(())
}

/// Sets the URL, if it or the user name and password in it are redacted.
fn set_url(spec: &mut RunSpec, url: &str) -> Result<()> {
    let (plain, userinfo) = credentials::split_userinfo(url);
    let user = spec.request.basic_auth.as_mut().filter(|user| is_redacted(user));
    if !is_redacted(&spec.target.url) && (user.is_none() || userinfo.is_none()) {
        bail!("the URL: the specification has one without redacted values; leave it out");
    }
    if let (Some(user), Some(userinfo)) = (user, userinfo) {
        *user = credentials::decoded(userinfo);
        spec.redaction.userinfos.push(userinfo.to_owned());
    }
    spec.target.url = plain;
    Ok(())
}

/// Checks that no value is redacted any more.
fn check_complete(spec: &RunSpec) -> Result<()> {
    let missing = spec.missing_secrets();
    if missing.is_empty() {
        return Ok(());
    }
    let described: Vec<_> = missing.iter().map(|field| described(field)).collect();
    let names: Vec<&str> = described.iter().map(|(name, _)| name.as_str()).collect();
    let remedy = match described.iter().map(|(_, flag)| *flag).collect::<Option<Vec<&str>>>() {
        Some(mut flags) => {
            flags.dedup();
            format!("give the values with {}", flags.join(", "))
        }
        None => "no flag gives all of them: type the command line anew".to_owned(),
    };
    bail!("the specification has {REDACTED} for {}; {remedy}", names.join(", "));
}

/// Returns the name of a field of the specification for people, and the flag that gives its value.
fn described(field: &str) -> (String, Option<&'static str>) {
    let (name, flag) = match field {
        "target.url" => ("the URL", Some("--url")),
        "request.basic_auth" => ("basic authentication", Some("--user")),
        "request.body" => ("the body", Some("--body")),
        "watch.nginx" => ("the value of --watch-nginx", Some("--watch-nginx")),
        "watch.prometheus" => ("the value of --watch-prometheus", Some("--watch-prometheus")),
        "watch.commands" => ("the value of --watch-command", None),
        "watch.captures" => ("the value of --capture", None),
        "watch.metrics" => ("the value of --watch-metric", None),
        "watch.processes" => ("the value of --watch-pid", None),
        _ => return in_list(field),
    };
    (name.to_owned(), flag)
}

/// Likewise, of a field within a list.
fn in_list(field: &str) -> (String, Option<&'static str>) {
    if let Some(name) = field.strip_prefix("request.headers.") {
        return (format!("the header {name}"), Some("--header"));
    }
    match field.strip_prefix("script.args.").and_then(|index| index.parse::<u32>().ok()) {
        Some(index) => (format!("argument {} of the script", index + 1), None),
        None => (field.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A specification with a secret in each place, redacted.
    fn redacted() -> RunSpec {
        let mut spec = RunSpec::new("http://h/?token=SECRET1234");
        let header = |name: &str| Header { name: name.into(), value: "Bearer SECRET1234".into() };
        spec.request.headers = vec![header("Authorization"), header("Cookie")];
        spec.request.basic_auth = Some("me:SECRET1234".to_owned());
        spec.request.body = Some(BodySpec::Text("token=SECRET1234".to_owned()));
        spec.redaction.names = vec!["token".to_owned()];
        spec.redacted()
    }

    fn restored(given: Secrets) -> Result<RunSpec, String> {
        let mut spec = redacted();
        restore(&mut spec, &given).map(|()| spec).map_err(|error| error.to_string())
    }

    #[test]
    fn each_flag_gives_its_value() {
        let error = restored(Secrets::default()).expect_err("nothing is given");
        assert_eq!(
            error,
            "the specification has [redacted] for the URL, the header Authorization, the header \
             Cookie, basic authentication, the body; give the values with --url, --header, \
             --user, --body"
        );
        let all = Secrets {
            url: Some("http://h/?token=a".to_owned()),
            headers: vec!["authorization: b".to_owned(), "Cookie:c".to_owned()],
            user: Some("me:d".to_owned()),
            body: Some("token=e".to_owned()),
            ..Secrets::default()
        };
        let spec = restored(all.clone()).expect("all are given");
        assert_eq!(spec.target.url, "http://h/?token=a");
        let values: Vec<_> = spec.request.headers.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(values, ["b", "c"]);
        assert_eq!(spec.request.basic_auth.as_deref(), Some("me:d"));
        assert_eq!(spec.request.body, Some(BodySpec::Text("token=e".to_owned())));
        let other = Secrets { headers: vec!["X-Other: f".to_owned()], ..all };
        let error = restored(other).expect_err("it is not there");
        assert!(error.contains("--header X-Other: the specification has no"), "{error}");
    }

    #[test]
    fn a_user_of_the_url_is_given_with_it() {
        let mut spec = RunSpec::new("http://h/");
        spec.request.basic_auth = Some(REDACTED.to_owned());
        let url = |url: &str| Secrets { url: Some(url.to_owned()), ..Secrets::default() };
        restore(&mut spec, &url("http://m%65:p@h/")).expect("a user");
        assert_eq!(
            (spec.request.basic_auth.as_deref(), &*spec.target.url),
            (Some("me:p"), "http://h/")
        );
        let error = restore(&mut spec, &url("http://other/")).expect_err("it has one");
        assert!(error.to_string().contains("leave it out"), "{error}");
    }
}
