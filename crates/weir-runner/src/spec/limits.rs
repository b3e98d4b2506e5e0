//! The limits of single numbers of a specification, whether they come from a flag or from a file.

/// The least and the greatest value of a number, and the words for others: "must be at least 1".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberLimit {
    least: u64,
    most: u64,
    if_less: &'static str,
    if_more: &'static str,
}

/// A number of things: at least one.
pub const COUNT: NumberLimit = NumberLimit::new(1, u64::MAX, "must be at least 1", "is too large");

/// A length of time in nanoseconds, longer than 0.
pub const SPAN: NumberLimit = NumberLimit::new(1, u64::MAX, "must be longer than 0", "is too long");

/// Worker threads. More is a duration: `-t 1m`, as of other tools.
pub const THREADS: NumberLimit =
    NumberLimit::new(1, 65_536, "must be at least 1", "must be at most 65,536");

/// Requests in flight on one connection.
pub const DEPTH: NumberLimit =
    NumberLimit::new(1, 128, "must be at least 1", "must lie between 1 and 128");

/// Bytes of a flow-control window (RFC 9113 §6.9.1).
pub const WINDOW: NumberLimit =
    NumberLimit::within(1, (1 << 31) - 1, "must lie between 1 and 2147483647");

/// Bytes of a table of header compression.
pub const TABLE: NumberLimit = NumberLimit::within(0, 1 << 20, "must be at most 1Mi");

/// Bytes of a decoded body.
pub const DECODED_BODY: NumberLimit =
    NumberLimit::within(1, 1 << 30, "must lie between 1 byte and 1 GiB");

impl NumberLimit {
    const fn new(
        least: u64,
        most: u64,
        if_less: &'static str,
        if_more: &'static str,
    ) -> NumberLimit {
        NumberLimit { least, most, if_less, if_more }
    }

    const fn within(least: u64, most: u64, otherwise: &'static str) -> NumberLimit {
        NumberLimit::new(least, most, otherwise, otherwise)
    }

    /// Checks a value.
    ///
    /// # Errors
    /// When it is too small or too large; the words follow the name of the setting.
    pub fn check(&self, value: u64) -> Result<(), &'static str> {
        match value {
            _ if value < self.least => Err(self.if_less),
            _ if value > self.most => Err(self.if_more),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_a_limit_are_refused_in_words() {
        let check = |limit: NumberLimit, value, words| assert_eq!(limit.check(value).err(), words);
        check(COUNT, 0, Some("must be at least 1"));
        check(COUNT, 1, None);
        check(DEPTH, 128, None);
        check(DEPTH, 129, Some("must lie between 1 and 128"));
        check(WINDOW, 0, Some("must lie between 1 and 2147483647"));
        check(TABLE, 0, None);
    }
}
