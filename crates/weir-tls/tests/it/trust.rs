//! Accepted certificates, and the errors for the others.

use std::ops::Range;
use std::path::PathBuf;

use weir_tls::{TlsConfig, TlsConfigError, TlsError, TlsOptions};

use crate::certificates::{Authority, Identity, file};
use crate::server::{Server, VERSIONS, client, config, insecure, shake};

/// Returns a client's verdict on `identity` if it connects to `name` and trusts `ca_file`. Also
/// asserts that a client without verification accepts it.
fn verdict(identity: &Identity, name: &str, ca_file: PathBuf) -> Result<(), TlsError> {
    let options = TlsOptions { ca_file: Some(ca_file), ..TlsOptions::new(name) };
    let verdicts = VERSIONS.map(|version| {
        let config = config(version, identity, None);
        let careless = TlsOptions { verify: false, ..options.clone() };
        shake(&mut client(&careless), &mut Server::new(&config)).expect("it takes any certificate");
        shake(&mut client(&options), &mut Server::new(&config)).map(|_| ())
    });
    assert_eq!(verdicts[0], verdicts[1], "the versions agree");
    let [verdict, _] = verdicts;
    verdict
}

fn check(
    test: &str,
    (names, years): (&[&str], Range<i32>),
    host: &str,
    expected: Result<(), (&str, &str)>,
) {
    let authority = Authority::new();
    let identity = authority.sign(names, years);
    let verdict = verdict(&identity, host, authority.file(test));
    let verdict = verdict.map_err(|error| (error.code(), error.to_string()));
    let expected = expected.map_err(|(code, sentence)| (code, sentence.to_owned()));
    assert_eq!(verdict, expected);
}

#[test]
fn a_certificate_from_the_ca_file_for_the_name_is_trusted() {
    check("name", (&["localhost"], 2000..2100), "localhost", Ok(()));
    check("second", (&["example.test", "localhost"], 2000..2100), "localhost", Ok(()));
    check("wildcard", (&["*.example.test"], 2000..2100), "www.example.test", Ok(()));
    check("address", (&["127.0.0.1"], 2000..2100), "127.0.0.1", Ok(()));
    check("address6", (&["::1"], 2000..2100), "::1", Ok(()));
}

#[test]
fn a_certificate_for_another_name_is_refused_with_the_names_it_has() {
    check(
        "other",
        (&["example.test"], 2000..2100),
        "localhost",
        Err((
            "wrong_name",
            "the certificate is not valid for \"localhost\": it names \"example.test\"; load the \
             host it names, or `tls.insecure` to accept any certificate",
        )),
    );
    check(
        "others",
        (&["a.test", "10.0.0.1", "::1", "b.test", "c.test"], 2000..2100),
        "127.0.0.1",
        Err((
            "wrong_name",
            "the certificate is not valid for \"127.0.0.1\": it names \"a.test\", \"10.0.0.1\", \
             \"::1\" and 2 more; load the host it names, or `tls.insecure` to accept any \
             certificate",
        )),
    );
    check(
        "untrusted",
        (&[], 2000..2100),
        "localhost",
        Err((
            "wrong_name",
            "the certificate is not valid for \"localhost\": it names no host (subjectAltName); \
             replace it, or `tls.insecure` to accept any certificate",
        )),
    );
}

#[test]
fn a_certificate_out_of_its_time_is_refused_with_the_day() {
    check(
        "expired",
        (&["localhost"], 2000..2024),
        "localhost",
        Err((
            "expired_certificate",
            "the certificate expired on 2024-01-01: renew it, or `tls.insecure` to accept any \
             certificate",
        )),
    );
    check(
        "early",
        (&["localhost"], 2090..2100),
        "localhost",
        Err((
            "not_yet_valid_certificate",
            "the certificate is not valid before 2090-01-01: set this machine's clock, or \
             `tls.insecure` to accept any certificate",
        )),
    );
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let stranger = Authority::named("another authority").file("stranger");
    let found = verdict(&identity, "localhost", stranger).unwrap_err();
    assert_eq!(found, TlsError::UnknownIssuer);
    assert_eq!(
        found.to_string(),
        "the certificate's issuer is not trusted: give it with `tls.ca_file` FILE, or \
         `tls.insecure` to accept any certificate"
    );
    let renewed = Authority::new().file("renewed");
    let found = verdict(&identity, "localhost", renewed).unwrap_err();
    assert_eq!(
        found.to_string(),
        "the certificate cannot be accepted (a signature does not fit the issuer's key): replace \
         it, or `tls.insecure` to accept any certificate"
    );
}

#[test]
fn a_server_that_is_its_own_authority_is_trusted_if_given() {
    let (identity, path) = Identity::self_signed(&["localhost"], 2000..2100, "own");
    assert_eq!(verdict(&identity, "localhost", path.clone()), Ok(()));
    assert_eq!(verdict(&identity, "example.test", path).unwrap_err().code(), "wrong_name");
    let (_, other) = Identity::self_signed(&["localhost"], 2000..2100, "other_own");
    assert_eq!(verdict(&identity, "localhost", other), Err(TlsError::UnknownIssuer));
    let (identity, path) = Identity::self_signed(&["localhost"], 2000..2024, "old_own");
    assert_eq!(verdict(&identity, "localhost", path).unwrap_err().code(), "expired_certificate");
}

#[test]
fn all_certificates_of_the_ca_file_are_trusted() {
    let authorities = [Authority::new(), Authority::new(), Authority::new()];
    let pems: Vec<String> = authorities.iter().map(Authority::pem).collect();
    let path = file("all", format!("# ours\n{}", pems.join("\nnext\n")).as_bytes());
    for authority in authorities {
        let identity = authority.sign(&["localhost"], 2000..2100);
        assert_eq!(verdict(&identity, "localhost", path.clone()), Ok(()));
    }
}

#[test]
fn without_a_ca_file_strangers_are_not_trusted() {
    let identity = Authority::new().sign(&["localhost"], 2000..2100);
    let config = config(VERSIONS[1], &identity, None);
    let options = TlsOptions { verify: true, ..insecure() };
    let verdict = shake(&mut client(&options), &mut Server::new(&config));
    assert_eq!(verdict, Err(TlsError::UnknownIssuer));
}

#[test]
fn what_is_no_certificate_at_all_is_bad_but_not_for_the_careless() {
    let identity = Identity::unreadable(b"no certificate");
    let verdict = verdict(&identity, "localhost", Authority::new().file("unreadable"));
    assert_eq!(verdict.unwrap_err().code(), "bad_certificate");
}

/// Returns the error for a CA file with these bytes.
fn refusal(test: &str, bytes: &[u8]) -> TlsConfigError {
    let options = TlsOptions { verify: true, ca_file: Some(file(test, bytes)), ..insecure() };
    TlsConfig::new(&options).expect_err("no certificate is trusted")
}

#[test]
fn a_bad_ca_file_is_named_with_what_is_wrong() {
    let good = Authority::new().pem();
    let hollow = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let cut = good.split("-----END").next().unwrap();
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";

    let check = |test: &str, text: &str, expected: &str| {
        let found = refusal(test, text.as_bytes()).to_string();
        assert!(found.contains(&format!("{test}.pem")), "{found}");
        assert!(found.contains(expected), "{found}");
    };
    check("empty", "", "holds no certificate in PEM form");
    check("prose", "to whom it may concern\n", "holds no certificate in PEM form");
    check("key", key, "holds no certificate in PEM form");
    check("hollow", hollow, "certificate 1 of the CA file");
    check("later", &format!("{good}{key}{hollow}"), "certificate 2 of the CA file");
    check("cut", &format!("{good}{cut}"), "certificate 2 of the CA file");
    check("base64", &good.replacen("MI", "M?", 1), "certificate 1 of the CA file");

    let ca_file = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nowhere.pem"));
    let options = TlsOptions { verify: true, ca_file, ..insecure() };
    let found = TlsConfig::new(&options).unwrap_err();
    assert!(matches!(found, TlsConfigError::UnreadableCaFile { .. }), "{found}");
    assert!(found.to_string().contains("nowhere.pem\" cannot be read: No such file"), "{found}");
}
