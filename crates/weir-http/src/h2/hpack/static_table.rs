//! The static table (RFC 7541 appendix A), and the search in it. Independent of the dynamic table.

use super::TableMatch;

/// Number of entries; their indexes begin at 1.
pub(super) const ENTRIES: usize = 61;

/// Names and values in order of their index.
#[rustfmt::skip]
const TABLE: [(&str, &str); ENTRIES] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
    (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
    (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
    ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
    ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
    ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
    ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
    ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
    ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""),
    ("vary", ""), ("via", ""), ("www-authenticate", ""),
];

/// Size of [`FIRST_BY_HASH`]: a power of two that leaves most names without a neighbour.
const BUCKETS: usize = 256;

/// The first index of each name, at its hash or after it; zero where there is none.
const FIRST_BY_HASH: [u8; BUCKETS] = first_by_hash();

/// Returns the name and the value at an index from 1 to [`ENTRIES`].
#[inline]
pub(super) fn field(index: u32) -> Option<(&'static [u8], &'static [u8])> {
    let at = (index as usize).checked_sub(1)?;
    TABLE.get(at).map(|(name, value)| (name.as_bytes(), value.as_bytes()))
}

/// Searches for a field.
pub(super) fn find(name: &[u8], value: &[u8]) -> TableMatch {
    let mut bucket = hash(name);
    let first = loop {
        let first = usize::from(FIRST_BY_HASH[bucket]);
        if first == 0 {
            return TableMatch::None;
        }
        if TABLE[first - 1].0.as_bytes() == name {
            break first;
        }
        bucket = (bucket + 1) % BUCKETS;
    };
    let mut named = TABLE[first - 1..].iter().take_while(|(known, _)| known.as_bytes() == name);
    let nth = named.position(|(_, known)| known.as_bytes() == value);
    nth.map_or(TableMatch::Name(first), |nth| TableMatch::Field(first + nth))
}

const fn hash(name: &[u8]) -> usize {
    match name {
        [] => 0,
        [first, .., last] => (name.len() * 11 + *first as usize * 5 + *last as usize * 3) % BUCKETS,
        [only] => *only as usize,
    }
}

const fn first_by_hash() -> [u8; BUCKETS] {
    let mut buckets = [0; BUCKETS];
    let mut at = 0;
    while at < ENTRIES {
        let name = TABLE[at].0.as_bytes();
        let mut bucket = hash(name);
        // A name's later entries follow its first one directly.
        if at == 0 || !is_equal(name, TABLE[at - 1].0.as_bytes()) {
            while buckets[bucket] != 0 {
                bucket = (bucket + 1) % BUCKETS;
            }
            buckets[bucket] = at as u8 + 1;
        }
        at += 1;
    }
    buckets
}

const fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found() {
        for (index, (name, value)) in (1..).zip(TABLE) {
            assert_eq!(field(index as u32), Some((name.as_bytes(), value.as_bytes())));
            assert_eq!(find(name.as_bytes(), value.as_bytes()), TableMatch::Field(index));
            let first = TABLE.iter().position(|(known, _)| *known == name).unwrap() + 1;
            assert_eq!(find(name.as_bytes(), b"other"), TableMatch::Name(first));
        }
    }

    #[test]
    fn others_are_not() {
        assert_eq!((field(0), field(62)), (None, None));
        for name in ["", "x", ":", "statu", "acceptt", "x-custom", "hosT"] {
            assert_eq!(find(name.as_bytes(), b""), TableMatch::None, "{name}");
        }
    }
}
