//! Codes of Close frames (RFC 6455 §7.4, IANA's registry), and the name that each has in documents.

use crate::multiplexed::EndReason;

/// Reason for the end of a connection, as a Close frame has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseCode(pub u16);

/// Declares the known codes: a sentence, the number, the name in documents of a connection that the
/// peer closed so, and that of a message that it left without an echo.
macro_rules! close_codes {
    ($(#[$about:meta] $NAME:ident = $number:literal, $name:literal, $reset:literal;)*) => {
        impl CloseCode {
            $(#[$about] pub const $NAME: CloseCode = CloseCode($number);)*

            /// Returns the reason that it stands for, by its names.
            pub fn reason(self) -> &'static EndReason {
                match self.0 {
                    $($number => &EndReason { name: $name, reset_code: $reset },)*
                    number @ OTHER_MIN..=4999 => &OTHER[usize::from(number - OTHER_MIN)],
                    _ => &EndReason { name: "Other", reset_code: "closed_other" },
                }
            }
        }
    };
}

close_codes! {
    /// The purpose of the connection is fulfilled.
    NORMAL = 1000, "1000 Normal Closure", "closed_1000";
    /// The server goes down, or a browser leaves the page.
    GOING_AWAY = 1001, "1001 Going Away", "closed_1001";
    /// The peer broke the protocol.
    PROTOCOL_ERROR = 1002, "1002 Protocol Error", "closed_1002";
    /// A message of a kind that is not accepted.
    UNSUPPORTED_DATA = 1003, "1003 Unsupported Data", "closed_1003";
    /// The Close frame has no code. Never sent.
    NO_STATUS = 1005, "1005 No Status Received", "closed_1005";
    /// A text that is not UTF-8.
    INVALID_DATA = 1007, "1007 Invalid Data", "closed_1007";
    /// A message that breaks a rule of the peer.
    POLICY_VIOLATION = 1008, "1008 Policy Violation", "closed_1008";
    /// A message that is too large.
    TOO_LARGE = 1009, "1009 Message Too Big", "closed_1009";
    /// The client needs an extension.
    MANDATORY_EXTENSION = 1010, "1010 Mandatory Extension", "closed_1010";
    /// The server failed.
    INTERNAL_ERROR = 1011, "1011 Internal Error", "closed_1011";
    /// The server restarts.
    SERVICE_RESTART = 1012, "1012 Service Restart", "closed_1012";
    /// The server has too much to do.
    TRY_AGAIN_LATER = 1013, "1013 Try Again Later", "closed_1013";
    /// The server is a gateway whose upstream failed.
    BAD_GATEWAY = 1014, "1014 Bad Gateway", "closed_1014";
}

/// First code that frameworks (3000 to 3999) and applications (4000 to 4999) choose.
const OTHER_MIN: u16 = 3000;

const OTHER_COUNT: usize = 2_000;

/// The names of these codes, such as `closed_4401`.
static RESET_CODES: [[u8; 11]; OTHER_COUNT] = {
    let mut names = [*b"closed_0000"; OTHER_COUNT];
    let mut at = 0;
    while at < OTHER_COUNT {
        let mut rest = OTHER_MIN as usize + at;
        let mut place = names[at].len();
        while rest > 0 {
            place -= 1;
            names[at][place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        at += 1;
    }
    names
};

/// The reasons of these codes, whose names are the numbers alone.
static OTHER: [EndReason; OTHER_COUNT] = {
    const EMPTY: EndReason = EndReason { name: "", reset_code: "" };
    let mut reasons = [EMPTY; OTHER_COUNT];
    let mut at = 0;
    while at < OTHER_COUNT {
        let reset_code = text(&RESET_CODES[at]);
        reasons[at] = EndReason { name: reset_code.split_at("closed_".len()).1, reset_code };
        at += 1;
    }
    reasons
};

const fn text(bytes: &'static [u8]) -> &'static str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("letters and digits are UTF-8"),
    }
}

impl CloseCode {
    /// True if a Close frame may have it.
    pub fn is_sendable(self) -> bool {
        matches!(self.0, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_close_frames() {
        for code in [1000, 1003, 1007, 1014, 3000, 4999] {
            assert!(CloseCode(code).is_sendable(), "{code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, u16::MAX] {
            assert!(!CloseCode(code).is_sendable(), "{code}");
        }
        assert_eq!(CloseCode(1001).reason().reset_code, "closed_1001");
        for number in 3000..5000 {
            let EndReason { name, reset_code } = CloseCode(number).reason();
            assert_eq!(*name, number.to_string());
            assert_eq!(*reset_code, format!("closed_{number}"));
        }
        assert_eq!(CloseCode(2999).reason().name, "Other");
    }
}
