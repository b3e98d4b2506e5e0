//! Limits of bodies and statuses, and the byte of bodies without a text, whatever option asks for
//! them.

/// Largest body in bytes: 1 GiB.
pub(crate) const BODY_MAX_BYTES: u64 = 1 << 30;

/// Byte that bodies of a given size consist of. With a single value, every prefix of the filler
/// serves for any part of a body.
pub(crate) const FILLER: u8 = b'x';

/// True if `status` may end an exchange here (RFC 9110 §15).
pub(crate) fn status_is_valid(status: u16) -> bool {
    (200..=599).contains(&status)
}
