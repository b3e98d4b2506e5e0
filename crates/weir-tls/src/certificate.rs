//! Summary of a certificate (RFC 5280), by which a reader recognises it. It decides nothing: trust
//! is the verifiers' matter.

use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};

use crate::der::{Der, DerElement, dotted, tag};

/// Summary of a certificate. Texts are foreign, and empty if the certificate cannot be read that
/// far, as `--insecure` accepts any bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Holder: `CN=example.test,O=Example` (RFC 4514).
    pub subject: String,
    /// Signer, in the same form.
    pub issuer: String,
    /// Host names and addresses that it is valid for (subjectAltName).
    pub names: Vec<String>,
    /// First instant of validity, as RFC 3339.
    pub not_before: String,
    /// Last instant of validity, as RFC 3339.
    pub not_after: String,
    /// Kind of its key: `ECDSA P-256`, `RSA 2048`, `Ed25519`.
    pub key: String,
    /// SHA-256 of the certificate, in hexadecimal.
    pub sha256: String,
}

/// Object identifiers of attributes in names, with their short names (RFC 4514 §3, RFC 2985).
const ATTRIBUTES: [(&[u8], &str); 10] = [
    (&[0x55, 4, 3], "CN"),
    (&[0x55, 4, 5], "serialNumber"),
    (&[0x55, 4, 6], "C"),
    (&[0x55, 4, 7], "L"),
    (&[0x55, 4, 8], "ST"),
    (&[0x55, 4, 9], "STREET"),
    (&[0x55, 4, 10], "O"),
    (&[0x55, 4, 11], "OU"),
    (&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25], "DC"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1], "emailAddress"),
];

/// Object identifiers of keys whose size is the size of the modulus.
const MODULAR_KEYS: [(&[u8], &str); 2] = [
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1], "RSA"),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10], "RSA-PSS"),
];

/// Object identifier of keys on a named curve.
const CURVE_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];

/// Object identifiers of named curves (RFC 5480 §2.1.1.1).
const CURVES: [(&[u8], &str); 3] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7], "P-256"),
    (&[0x2b, 0x81, 4, 0, 34], "P-384"),
    (&[0x2b, 0x81, 4, 0, 35], "P-521"),
];

/// Object identifiers of keys with a size of their own (RFC 8410; FIPS 204).
const OTHER_KEYS: [(&[u8], &str); 5] = [
    (&[0x2b, 0x65, 112], "Ed25519"),
    (&[0x2b, 0x65, 113], "Ed448"),
    (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 17], "ML-DSA-44"),
    (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 18], "ML-DSA-65"),
    (&[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 19], "ML-DSA-87"),
];

/// Object identifier of the extension subjectAltName.
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 17];

/// Tags of the names in it that a host can have: dNSName and iPAddress.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

impl Certificate {
    /// Summarizes the certificate with these bytes, which may be any.
    pub fn of_der(der: &[u8]) -> Certificate {
        let sha256 = hex(digest(&SHA256, der).as_ref());
        let mut certificate = Certificate { sha256, ..Certificate::default() };
        // Whatever comes after a malformed element stays empty.
        let _is_whole = certificate.read(der);
        certificate
    }

    fn read(&mut self, der: &[u8]) -> Option<()> {
        let mut fields = Der(der).sequence()?.sequence()?;
        fields.take_if(tag::VERSION);
        fields.take(tag::INTEGER)?;
        fields.sequence()?;
        self.issuer = distinguished_name(fields.sequence()?);
        let mut validity = fields.sequence()?;
        self.not_before = time(validity.next()?)?;
        self.not_after = time(validity.next()?)?;
        self.subject = distinguished_name(fields.sequence()?);
        self.key = key(fields.sequence()?)?;
        while let Some(DerElement { tag, content }) = fields.next() {
            if tag == tag::EXTENSIONS {
                self.names = alternative_names(Der(content).sequence()?)?;
            }
        }
        Some(())
    }
}

/// Formats a name as RFC 4514 §2: the last of its parts first.
fn distinguished_name(mut name: Der<'_>) -> String {
    let mut parts = Vec::new();
    while let Some(part) = name.take(tag::SET) {
        let mut part = Der(part);
        let mut attributes = Vec::new();
        while let Some(attribute) = part.sequence() {
            attributes.extend(attribute_text(attribute));
        }
        parts.push(attributes.join("+"));
    }
    parts.reverse();
    parts.join(",")
}

fn attribute_text(mut attribute: Der<'_>) -> Option<String> {
    let oid = attribute.take(tag::OID)?;
    Some(format!("{}={}", name_in(&ATTRIBUTES, oid), escaped(&text(attribute.next()?))))
}

/// Decodes a string of any type; bytes that are none become replacement characters.
fn text(DerElement { tag, content }: DerElement<'_>) -> String {
    match tag {
        tag::UTF8_STRING | tag::PRINTABLE_STRING | tag::IA5_STRING => {
            String::from_utf8_lossy(content).into_owned()
        }
        tag::TELETEX_STRING => content.iter().map(|&byte| char::from(byte)).collect(),
        tag::BMP_STRING => {
            let units: Vec<u16> = content
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16_lossy(&units)
        }
        _ => format!("#{}", hex(content)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Escapes the characters that separate the parts of a name (RFC 4514 §2.4).
fn escaped(text: &str) -> String {
    let escape = |character| ",+\"\\<>;".contains(character).then_some('\\');
    text.chars().flat_map(|character| escape(character).into_iter().chain([character])).collect()
}

/// Formats a time as RFC 3339 (RFC 5280 §4.1.2.5).
fn time(DerElement { tag, content }: DerElement<'_>) -> Option<String> {
    let digits = content.strip_suffix(b"Z")?;
    let century = match (tag, digits) {
        (tag::UTC_TIME, [b'5'..=b'9', ..]) => "19",
        (tag::UTC_TIME, _) => "20",
        (tag::GENERALIZED_TIME, _) => "",
        _ => return None,
    };
    let digits = format!("{century}{}", str::from_utf8(digits).ok()?);
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize| &digits[from..from + 2];
    let year = &digits[..4];
    let month = part(4);
    let day = part(6);
    Some(format!("{year}-{month}-{day}T{}:{}:{}Z", part(8), part(10), part(12)))
}

/// Describes a public key.
fn key(mut info: Der<'_>) -> Option<String> {
    let mut algorithm = info.sequence()?;
    let oid = algorithm.take(tag::OID)?;
    if let Some((_, name)) = MODULAR_KEYS.iter().find(|(of, _)| *of == oid) {
        // The first byte of a bit string is its number of unused bits.
        let bits = info.take(tag::BIT_STRING)?.get(1..)?;
        let modulus = Der(bits).sequence()?.take(tag::INTEGER)?;
        let zeros = modulus.iter().take_while(|&&byte| byte == 0).count();
        let first = modulus.get(zeros)?;
        let bits = 8 * (modulus.len() - zeros) - first.leading_zeros() as usize;
        return Some(format!("{name} {bits}"));
    }
    if oid == CURVE_KEY {
        let curve = algorithm.take(tag::OID)?;
        return Some(format!("ECDSA {}", name_in(&CURVES, curve)));
    }
    Some(name_in(&OTHER_KEYS, oid))
}

/// Returns the name of an object identifier; its numbers if the table has none.
fn name_in(table: &[(&[u8], &str)], oid: &[u8]) -> String {
    let known = table.iter().find(|(of, _)| *of == oid);
    known.map_or_else(|| dotted(oid), |(_, name)| (*name).to_owned())
}

/// Finds the names of hosts among the extensions.
fn alternative_names(mut extensions: Der<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while let Some(mut extension) = extensions.sequence() {
        if extension.take(tag::OID)? != ALTERNATIVE_NAMES {
            continue;
        }
        // Before the value, the extension may be marked as critical.
        let mut value = extension.next()?;
        if value.tag != tag::OCTET_STRING {
            value = extension.next()?;
        }
        let mut found = Der(value.content).sequence()?;
        while let Some(DerElement { tag, content }) = found.next() {
            match tag {
                DNS_NAME => names.push(String::from_utf8_lossy(content).into_owned()),
                IP_ADDRESS => {
                    let v4 = <[u8; 4]>::try_from(content).map(IpAddr::from);
                    let address = v4.or_else(|_| <[u8; 16]>::try_from(content).map(IpAddr::from));
                    names.extend(address.map(|address| address.to_string()));
                }
                _ => {}
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        CertificateParams, DnType, DnValue, KeyPair, PKCS_ECDSA_P256_SHA256,
        PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm, date_time_ymd,
    };

    use super::*;

    fn element(tag: u8, content: &[u8]) -> DerElement<'_> {
        DerElement { tag, content }
    }

    fn certificate(names: &[&str], algorithm: &'static SignatureAlgorithm) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names are well formed");
        params.not_before = date_time_ymd(1999, 12, 31);
        params.not_after = date_time_ymd(2050, 1, 2);
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "a, \"b\" + c");
        name.push(DnType::OrganizationName, DnValue::Utf8String("\u{dc}ber".to_owned()));
        name.push(DnType::CountryName, "DE");
        name.push(DnType::CustomDnType(vec![1, 2, 3, 4]), "own");
        let key = KeyPair::generate_for(algorithm).expect("random bytes do not fail");
        params.self_signed(&key).expect("parameters are complete").der().to_vec()
    }

    #[test]
    fn a_certificate_is_summarized() {
        let names = ["a.test", "*.b.test", "127.0.0.1", "::1"];
        let der = certificate(&names, &PKCS_ECDSA_P256_SHA256);
        let found = Certificate::of_der(&der);
        let name = "1.2.3.4=own,C=DE,O=\u{dc}ber,CN=a\\, \\\"b\\\" \\+ c";
        assert_eq!((found.subject.as_str(), found.issuer.as_str()), (name, name));
        assert_eq!(found.names, names);
        assert_eq!(found.not_before, "1999-12-31T00:00:00Z");
        assert_eq!(found.not_after, "2050-01-02T00:00:00Z");
        assert_eq!(found.key, "ECDSA P-256");
        assert_eq!(found.sha256.len(), 64);
    }

    #[test]
    fn keys_have_their_kind_and_size() {
        let key = |algorithm| Certificate::of_der(&certificate(&[], algorithm)).key;
        assert_eq!(key(&PKCS_ECDSA_P384_SHA384), "ECDSA P-384");
        assert_eq!(key(&PKCS_ED25519), "Ed25519");
        let modulus = |bytes: usize, first: u8| {
            let mut number = vec![0, first];
            number.resize(bytes + 1, 1);
            let element = |tag: u8, content: &[u8]| {
                let length = u16::try_from(content.len()).expect("short").to_be_bytes();
                [&[tag, 0x82][..], &length, content].concat()
            };
            let number = element(tag::INTEGER, &number);
            let bits = [&[0][..], &element(tag::SEQUENCE, &number)].concat();
            let oid = element(tag::OID, MODULAR_KEYS[0].0);
            let info = [element(tag::SEQUENCE, &oid), element(tag::BIT_STRING, &bits)].concat();
            super::key(Der(&info))
        };
        assert_eq!(modulus(256, 0x80).as_deref(), Some("RSA 2048"));
        assert_eq!(modulus(512, 0xff).as_deref(), Some("RSA 4096"));
        assert_eq!(modulus(128, 0x7f).as_deref(), Some("RSA 1023"));
    }

    /// Whatever the bytes are, there is a summary.
    #[test]
    fn damaged_certificates_are_summarized_as_far_as_they_can_be_read() {
        let der = certificate(&["a.test", "::1"], &PKCS_ECDSA_P256_SHA256);
        let whole = Certificate::of_der(&der);
        for cut in 0..der.len() {
            let found = Certificate::of_der(&der[..cut]);
            // The outermost length no longer fits.
            assert_eq!(found.subject, "", "cut at {cut}");
            assert_ne!(found.sha256, whole.sha256);
        }
        for at in 0..der.len() {
            for bit in 0..8 {
                let mut damaged = der.clone();
                damaged[at] ^= 1 << bit;
                assert_ne!(Certificate::of_der(&damaged).sha256, whole.sha256);
            }
        }
    }

    #[test]
    fn times_are_those_of_rfc_5280() {
        let check = |of: u8, text: &str, expected: Option<&str>| {
            assert_eq!(time(element(of, text.as_bytes())).as_deref(), expected, "{text}");
        };
        check(tag::UTC_TIME, "491231235959Z", Some("2049-12-31T23:59:59Z"));
        check(tag::UTC_TIME, "500101000000Z", Some("1950-01-01T00:00:00Z"));
        check(tag::GENERALIZED_TIME, "99991231235959Z", Some("9999-12-31T23:59:59Z"));
        check(tag::GENERALIZED_TIME, "491231235959Z", None);
        check(tag::UTC_TIME, "4912312359Z", None);
        check(tag::UTC_TIME, "49123123595\u{f6}", None);
        check(tag::INTEGER, "491231235959Z", None);
    }

    #[test]
    fn strings_are_decoded_by_their_type() {
        let check =
            |of: u8, bytes: &[u8], expected: &str| assert_eq!(text(element(of, bytes)), expected);
        check(tag::TELETEX_STRING, b"\xfcber", "\u{fc}ber");
        check(tag::BMP_STRING, &[0, 0xfc, 0x20, 0xac], "\u{fc}\u{20ac}");
        check(tag::UTF8_STRING, b"\xff", "\u{fffd}");
        check(tag::INTEGER, &[1, 0xab], "#01ab");
    }
}
