//! The congestion control of new connections, for code beside the load. No backend uses it.

use crate::endpoint::Endpoint;
use crate::socket::{self, SockAddr};

/// Returns the congestion control algorithm of new connections to `endpoint`; `None` if there is
/// none, as for Unix sockets.
pub fn congestion_control(endpoint: &Endpoint) -> Option<String> {
    let Endpoint::Tcp(_) = endpoint else { return None };
    let family = SockAddr::new(endpoint).ok()?.family();
    let name = socket::congestion_control(&socket::open(family, true).ok()?).ok()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_control_is_known_for_tcp_only() {
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
        assert!(congestion_control(&endpoint).is_some_and(|name| !name.contains('\0')));
        assert_eq!(congestion_control(&Endpoint::Unix("@a".into())), None);
    }
}
