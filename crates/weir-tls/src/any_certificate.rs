//! Certificate verifier of `--insecure`: accepts any certificate for any name.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Accepts every certificate. rustls still checks that the server's signature is well formed and of
/// an offered scheme. The signature is not checked against the key, because certificates that
/// cannot be parsed (version 1, unknown critical extensions) are a reason to use `--insecure`.
#[derive(Debug)]
pub(crate) struct AnyCertificate {
    schemes: Vec<SignatureScheme>,
}

impl AnyCertificate {
    /// Offers every signature scheme of the provider.
    pub(crate) fn new(provider: &CryptoProvider) -> AnyCertificate {
        AnyCertificate { schemes: provider.signature_verification_algorithms.supported_schemes() }
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
