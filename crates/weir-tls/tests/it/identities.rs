//! The client's own certificate: what a server accepts, and files that hold no usable one.

use weir_tls::{ClientIdentity, IdentityError, TlsOptions};

use crate::certificates::Authority;
use crate::server::{Server, VERSIONS, client, config, insecure, shake};

#[test]
fn a_certificate_from_the_required_issuer_is_accepted() {
    let authority = Authority::new();
    let stranger = Authority::named("another authority");
    let server = authority.sign(&["localhost"], 2000..2100);
    for version in VERSIONS {
        let config = config(version, &server, Some(&authority));
        let check = |issuer: &Authority, years, expected: Result<(), &str>| {
            let own = issuer.sign(&["client"], years);
            let certificate = own.certificate_pem.as_bytes();
            let key = own.key_pem.as_bytes();
            let identity = ClientIdentity::from_pem(certificate, key).expect("they fit");
            let shown = format!("{identity:?}");
            assert!(!shown.contains("PRIVATE") && !shown.contains(&own.key_pem), "{shown}");
            let options = TlsOptions { identity: Some(identity), ..insecure() };
            let found = shake(&mut client(&options), &mut Server::new(&config));
            assert_eq!(found.map(|_| ()).map_err(|error| error.code()), expected, "{version:?}");
        };
        check(&authority, 2000..2100, Ok(()));
        check(&stranger, 2000..2100, Err("alert_unknown_ca"));
        check(&authority, 2000..2001, Err("alert_certificate_expired"));
    }
}

#[test]
fn one_file_may_hold_the_chain_and_the_key() {
    let own = Authority::new().sign(&["client"], 2000..2100);
    let other = Authority::new().sign(&["other"], 2000..2100);
    let chain = [own.certificate_pem.as_str(), &other.certificate_pem].concat();
    for text in [format!("{chain}{}", own.key_pem), format!("{}# key\n{chain}", own.key_pem)] {
        ClientIdentity::from_pem(text.as_bytes(), text.as_bytes()).expect(&text);
        assert!(ClientIdentity::is_secret(text.as_bytes()));
    }
    assert!(!ClientIdentity::is_secret(chain.as_bytes()));
}

#[test]
fn files_that_hold_no_identity_are_refused_with_the_reason() {
    let own = Authority::new().sign(&["client"], 2000..2100);
    let other = Authority::new().sign(&["other"], 2000..2100);
    let certificate = own.certificate_pem.as_str();
    let key = own.key_pem.as_str();
    let check = |certificate: &str, key: &str, part: &str, is_of_certificate: bool| {
        let found = ClientIdentity::from_pem(certificate.as_bytes(), key.as_bytes());
        let error: IdentityError = found.expect_err(part);
        assert!(error.to_string().contains(part), "{part:?}: {error}");
        assert_eq!(error.is_of_certificate(), is_of_certificate, "{error}");
    };
    check("", key, "no certificate in PEM form", true);
    check(key, key, "no certificate in PEM form", true);
    check("\u{30}\u{82}binary", key, "no certificate in PEM form", true);
    check(&certificate.replacen("MI", "M?", 1), key, "certificate 1 of it is broken", true);
    let hollow = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    check(hollow, key, "certificate 1 of it is broken", true);
    check(certificate, "", "no private key in PEM form; give the file with the key", false);
    check(certificate, certificate, "no private key in PEM form", false);
    check(certificate, &other.key_pem, "not that of the first certificate", false);
    let label = |word: &str| key.replace(" PRIVATE KEY-----", &format!(" {word}-----"));
    check(certificate, &label("ENCRYPTED PRIVATE KEY"), "key is encrypted; decrypt it", false);
    let old = label("RSA PRIVATE KEY");
    let old = old.replacen("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\n", 1);
    check(certificate, &old, "key is encrypted; decrypt it", false);
    check(certificate, &label("RSA PRIVATE KEY"), "private key cannot be used", false);
    check(certificate, &key.replacen("MI", "M?", 1), "private key cannot be used", false);
}
