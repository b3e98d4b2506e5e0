//! Faults of the peer: error codes (RFC 9113 §7), and the error that goes with each in a run's
//! counts. Independent of the frames that have them.

use crate::ProtocolError;

/// Reason for the end of a stream or a connection, as it is sent (RFC 9113 §7). Any number may
/// occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// No error: the end is intended.
    pub const NO_ERROR: ErrorCode = ErrorCode(0x0);
    /// An unspecific violation of the protocol.
    pub const PROTOCOL_ERROR: ErrorCode = ErrorCode(0x1);
    /// The fault is on the sender's side.
    pub const INTERNAL_ERROR: ErrorCode = ErrorCode(0x2);
    /// The limits of flow control were broken.
    pub const FLOW_CONTROL_ERROR: ErrorCode = ErrorCode(0x3);
    /// Settings were not acknowledged in time.
    pub const SETTINGS_TIMEOUT: ErrorCode = ErrorCode(0x4);
    /// A frame arrived on a stream that had ended.
    pub const STREAM_CLOSED: ErrorCode = ErrorCode(0x5);
    /// A frame has an invalid size.
    pub const FRAME_SIZE_ERROR: ErrorCode = ErrorCode(0x6);
    /// The request was not processed.
    pub const REFUSED_STREAM: ErrorCode = ErrorCode(0x7);
    /// The stream is no longer needed.
    pub const CANCEL: ErrorCode = ErrorCode(0x8);
    /// The state of header compression is lost.
    pub const COMPRESSION_ERROR: ErrorCode = ErrorCode(0x9);
    /// The connection of a CONNECT request ended.
    pub const CONNECT_ERROR: ErrorCode = ErrorCode(0xa);
    /// The peer causes too much load.
    pub const ENHANCE_YOUR_CALM: ErrorCode = ErrorCode(0xb);
    /// The security of the transport is insufficient.
    pub const INADEQUATE_SECURITY: ErrorCode = ErrorCode(0xc);
    /// The request needs HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: ErrorCode = ErrorCode(0xd);
}

/// A fault of the peer: the code that it is sent, and the error that the run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: ErrorCode,
    pub(crate) error: ProtocolError,
}

impl Fault {
    /// A violation without a code of its own.
    pub(crate) const PROTOCOL: Fault =
        Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BadFrame };
    /// A frame of a wrong size.
    pub(crate) const FRAME_SIZE: Fault =
        Fault { code: ErrorCode::FRAME_SIZE_ERROR, error: ProtocolError::FrameTooLarge };
    /// A window that overflows, or more data than it allows.
    pub(crate) const FLOW_CONTROL: Fault =
        Fault { code: ErrorCode::FLOW_CONTROL_ERROR, error: ProtocolError::FlowControl };
    /// A header block that cannot be decoded.
    pub(crate) const COMPRESSION: Fault =
        Fault { code: ErrorCode::COMPRESSION_ERROR, error: ProtocolError::BadCompression };
    /// A frame on a stream that has ended.
    pub(crate) const STREAM_CLOSED: Fault =
        Fault { code: ErrorCode::STREAM_CLOSED, error: ProtocolError::StreamClosed };
    /// More frames than any content needs.
    pub(crate) const TOO_MANY_FRAMES: Fault =
        Fault { code: ErrorCode::ENHANCE_YOUR_CALM, error: ProtocolError::TooManyFrames };
    /// A header block or its list of fields beyond the limit.
    pub(crate) const HEAD_TOO_LARGE: Fault =
        Fault { code: ErrorCode::ENHANCE_YOUR_CALM, error: ProtocolError::HeadTooLarge };
    /// Fields that do not make a valid message (RFC 9113 §8.1.1).
    pub(crate) const MALFORMED: Fault =
        Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BadHeader };
    /// A body of another length than its head announces (RFC 9113 §8.1.1).
    pub(crate) const BODY_LENGTH: Fault =
        Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BodyLengthMismatch };
}
