//! Cryptography of simulated runs: all random numbers and keys follow from a seed, so that equal
//! seeds give equal bytes. It protects nothing, and exists only with the feature `seeded`, which
//! the program does not have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_lc_rs::agreement::{PrivateKey, PublicKey, UnparsedPublicKey, X25519, agree};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup, aws_lc_rs as provider,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// Time of every handshake, in seconds since 1970: the age of a session is part of its resumption.
const TIME_S: u64 = 1_700_000_000;

/// Random numbers that follow from a seed (SplitMix64).
#[derive(Debug)]
pub struct SeededRandom(AtomicU64);

/// Key exchange over X25519 whose secrets come from seeded random numbers.
#[derive(Debug)]
struct SeededExchange(&'static SeededRandom);

/// A key exchange that has begun.
struct BegunExchange {
    own: PrivateKey,
    own_public: PublicKey,
}

/// A clock that stands still.
#[derive(Debug)]
struct StillClock;

impl SeededRandom {
    /// Returns the default provider of rustls with the random numbers of `seed`, and with X25519 as
    /// the only key exchange. A signature with Ed25519 needs no random numbers; others take them
    /// from the machine, so the server's key must be of Ed25519 for equal bytes.
    ///
    /// Each call leaks some bytes, as rustls takes references without end.
    pub fn provider(seed: u64) -> CryptoProvider {
        SeededRandom::replace(seed, provider::default_provider())
    }

    /// Replaces the random numbers and the key exchanges of a provider.
    pub(crate) fn replace(seed: u64, provider: CryptoProvider) -> CryptoProvider {
        let random: &SeededRandom = Box::leak(Box::new(SeededRandom(AtomicU64::new(seed))));
        let exchange: &SeededExchange = Box::leak(Box::new(SeededExchange(random)));
        CryptoProvider { secure_random: random, kx_groups: vec![exchange], ..provider }
    }

    /// Returns a clock that stands still, for the dates of certificates and the ages of sessions.
    pub fn clock() -> Arc<dyn TimeProvider> {
        Arc::new(StillClock)
    }
}

impl SecureRandom for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        for part in bytes.chunks_mut(8) {
            let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^= mixed >> 31;
            part.copy_from_slice(&mixed.to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

impl SupportedKxGroup for SeededExchange {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut secret = [0; 32];
        self.0.fill(&mut secret)?;
        let own = PrivateKey::from_private_key(&X25519, &secret);
        let own = own.map_err(|error| Error::General(error.to_string()))?;
        let own_public = own.compute_public_key();
        let own_public = own_public.map_err(|error| Error::General(error.to_string()))?;
        Ok(Box::new(BegunExchange { own, own_public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for BegunExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&X25519, peer);
        let refused = Error::from(PeerMisbehaved::InvalidKeyShare);
        agree(&self.own, peer, refused, |shared| Ok(SharedSecret::from(shared)))
    }

    fn pub_key(&self) -> &[u8] {
        self.own_public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl TimeProvider for StillClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(TIME_S)))
    }
}
