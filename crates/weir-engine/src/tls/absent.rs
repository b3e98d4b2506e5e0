//! The types of weir-tls in an engine without the feature `tls`. There is no [`TlsConfig`], so that
//! code which has one compiles and is never reached.

use weir_result::document::Certificate;
use weir_result::{HandshakeKind, TlsParameters};

/// A TLS configuration, of which there is none.
#[derive(Clone, Debug)]
pub enum TlsConfig {}

/// One connection's TLS. It refers to a configuration, so there is none either.
#[derive(Debug)]
pub(crate) struct Session(&'static TlsConfig);

/// A failure of TLS.
#[derive(Debug)]
pub(crate) struct TlsError(&'static TlsConfig);

impl TlsConfig {
    pub(crate) fn returning_client(&self) -> Option<TlsConfig> {
        match *self {}
    }
}

impl Session {
    pub(crate) fn new(config: &TlsConfig) -> Session {
        match *config {}
    }

    pub(crate) fn receive(&mut self, _: &mut [u8], _: &mut Vec<u8>) -> Result<(), TlsError> {
        match *self.0 {}
    }

    pub(crate) fn send(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<(), TlsError> {
        match *self.0 {}
    }

    pub(crate) fn take_output(&mut self, _: &mut Vec<u8>) -> bool {
        match *self.0 {}
    }

    pub(crate) fn close(&mut self, _: &mut Vec<u8>) {
        match *self.0 {}
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        match *self.0 {}
    }

    pub(crate) fn is_closed(&self) -> bool {
        match *self.0 {}
    }
}

impl TlsError {
    pub(crate) fn code(&self) -> &'static str {
        match *self.0 {}
    }
}

pub(crate) fn handshake(session: &Session) -> (HandshakeKind, TlsParameters) {
    match *session.0 {}
}

pub(crate) fn certificates(session: &Session) -> Vec<Certificate> {
    match *session.0 {}
}
