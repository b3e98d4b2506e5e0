//! Faults of the peer: error codes (RFC 9113 §7), and the error that goes with each in a run's
//! counts. Independent of the frames that have them.

use crate::error::ProtocolError;
use crate::multiplexed::EndReason;

/// Reason for the end of a stream or a connection, as it is sent (RFC 9113 §7). Any number may
/// occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub u32);

/// Declares the known codes: a sentence, the name in RFC 9113, the number, and the name in
/// documents of an exchange that the peer ended so.
macro_rules! error_codes {
    ($(#[$about:meta] $NAME:ident = $number:literal, $reset:literal;)*) => {
        impl ErrorCode {
            $(#[$about] pub const $NAME: ErrorCode = ErrorCode($number);)*

            /// Returns the reason that it stands for, by its names; its name in RFC 9113 is
            /// `UNKNOWN` for other numbers.
            pub fn reason(self) -> &'static EndReason {
                match self.0 {
                    $($number => &EndReason {
                        name: stringify!($NAME),
                        reset_code: concat!("stream_reset_", $reset),
                    },)*
                    _ => &EndReason { name: "UNKNOWN", reset_code: "stream_reset_unknown" },
                }
            }
        }
    };
}

error_codes! {
    /// No error: the end is intended.
    NO_ERROR = 0x0, "no_error";
    /// An unspecific violation of the protocol.
    PROTOCOL_ERROR = 0x1, "protocol_error";
    /// The fault is on the sender's side.
    INTERNAL_ERROR = 0x2, "internal_error";
    /// The limits of flow control were broken.
    FLOW_CONTROL_ERROR = 0x3, "flow_control_error";
    /// Settings were not acknowledged in time.
    SETTINGS_TIMEOUT = 0x4, "settings_timeout";
    /// A frame arrived on a stream that had ended.
    STREAM_CLOSED = 0x5, "stream_closed";
    /// A frame has an invalid size.
    FRAME_SIZE_ERROR = 0x6, "frame_size_error";
    /// The request was not processed.
    REFUSED_STREAM = 0x7, "refused_stream";
    /// The stream is no longer needed.
    CANCEL = 0x8, "cancel";
    /// The state of header compression is lost.
    COMPRESSION_ERROR = 0x9, "compression_error";
    /// The connection of a CONNECT request ended.
    CONNECT_ERROR = 0xa, "connect_error";
    /// The peer causes too much load.
    ENHANCE_YOUR_CALM = 0xb, "enhance_your_calm";
    /// The security of the transport is insufficient.
    INADEQUATE_SECURITY = 0xc, "inadequate_security";
    /// The request needs HTTP/1.1.
    HTTP_1_1_REQUIRED = 0xd, "http_1_1_required";
}

/// A fault of the peer: the code that it is sent, and the error that the run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct H2Fault {
    pub(crate) code: ErrorCode,
    pub(crate) error: ProtocolError,
}

impl H2Fault {
    /// A violation without a code of its own.
    pub(crate) const PROTOCOL: H2Fault =
        H2Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BadFrame };
    /// A frame of a wrong size.
    pub(crate) const FRAME_SIZE: H2Fault =
        H2Fault { code: ErrorCode::FRAME_SIZE_ERROR, error: ProtocolError::FrameTooLarge };
    /// A window that overflows, or more data than it allows.
    pub(crate) const FLOW_CONTROL: H2Fault =
        H2Fault { code: ErrorCode::FLOW_CONTROL_ERROR, error: ProtocolError::FlowControl };
    /// A header block that cannot be decoded.
    pub(crate) const COMPRESSION: H2Fault =
        H2Fault { code: ErrorCode::COMPRESSION_ERROR, error: ProtocolError::BadCompression };
    /// A frame on a stream that has ended.
    pub(crate) const STREAM_CLOSED: H2Fault =
        H2Fault { code: ErrorCode::STREAM_CLOSED, error: ProtocolError::StreamClosed };
    /// More frames than any content needs.
    pub(crate) const TOO_MANY_FRAMES: H2Fault =
        H2Fault { code: ErrorCode::ENHANCE_YOUR_CALM, error: ProtocolError::TooManyFrames };
    /// A header block or its list of fields beyond the limit.
    pub(crate) const HEAD_TOO_LARGE: H2Fault =
        H2Fault { code: ErrorCode::ENHANCE_YOUR_CALM, error: ProtocolError::HeadTooLarge };
    /// Fields that do not make a valid message (RFC 9113 §8.1.1).
    pub(crate) const MALFORMED: H2Fault =
        H2Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BadHeader };
    /// A body of another length than its head announces (RFC 9113 §8.1.1).
    pub(crate) const BODY_LENGTH: H2Fault =
        H2Fault { code: ErrorCode::PROTOCOL_ERROR, error: ProtocolError::BodyLengthMismatch };
}
