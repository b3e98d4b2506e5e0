//! Orders: the coordinator's request to carry out a part of a run. On a bus with identities each is
//! signed for one process of one agent, and is valid for a short time.

use std::collections::HashSet;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use serde::Serialize;
use weir_text::setting::IDENTITY;

use crate::identity::{COORDINATORS, Identity, SIGNING_KEY, read_file};
use crate::message::{Order, OrderSignature, RunId, Sender};

/// Time for which an order is valid, in seconds: it is sent again until it is answered, and the
/// clocks of machines differ.
const VALID_S: u64 = 120;

/// Begin of all that is signed, so that no signature of another kind fits.
const CONTEXT: &str = "weir order 1";

/// The text that is signed.
#[derive(Serialize)]
struct Signed<'a> {
    context: &'static str,
    to: &'a Sender,
    order: Order,
    expires_unix_s: u64,
}

fn signed(to: &Sender, order: &Order, expires_unix_s: u64) -> Result<Vec<u8>> {
    let order = Order { signature: None, ..order.clone() };
    Ok(serde_json::to_vec(&Signed { context: CONTEXT, to, order, expires_unix_s })?)
}

/// Signs the orders of a coordinator.
pub struct OrderSigner {
    key: KeyPair,
}

impl fmt::Debug for OrderSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrderSigner").finish_non_exhaustive()
    }
}

impl OrderSigner {
    /// Reads the key of a coordinator.
    ///
    /// # Errors
    /// When its identity has none, or others can read it.
    pub fn read(identity: &Identity) -> Result<OrderSigner> {
        let text = identity.secret(SIGNING_KEY)?;
        let key = KeyPair::from_pem(&text);
        Ok(OrderSigner { key: key.with_context(|| format!("{SIGNING_KEY} is no key"))? })
    }

    /// Signs an order for a process of an agent, at this time in seconds since 1970.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, to: &Sender, order: Order, now_unix_s: u64) -> Result<Order> {
        let expires_unix_s = now_unix_s + VALID_S;
        let bytes = self.key.sign(&signed(to, &order, expires_unix_s)?)?;
        let key = public_key(&self.key);
        let bytes = BASE64_STANDARD.encode(&bytes);
        Ok(Order { signature: Some(OrderSignature { key, expires_unix_s, bytes }), ..order })
    }
}

/// Returns the public key that agents know a coordinator by.
pub(crate) fn public_key(key: &KeyPair) -> String {
    BASE64_STANDARD.encode(key.der_bytes())
}

/// Takes the orders of an agent: each once, and with an identity only those that a coordinator on
/// its list has signed.
#[derive(Debug)]
pub(crate) struct OrderGate {
    /// Public keys of coordinators; none if orders need no signature.
    coordinators: Option<Vec<String>>,
    taken: HashSet<RunId>,
}

impl OrderGate {
    /// Reads the list of coordinators, if the agent has an identity.
    ///
    /// # Errors
    /// When it has no list.
    pub(crate) fn of(identity: Option<&Identity>) -> Result<OrderGate> {
        let coordinators = identity.map(coordinators_of).transpose()?;
        Ok(OrderGate { coordinators, taken: HashSet::new() })
    }

    /// Takes an order for this process, at this time in seconds since 1970.
    ///
    /// # Errors
    /// When it is refused; a message for the user.
    pub(crate) fn take(&mut self, own: &Sender, order: &Order, now_unix_s: u64) -> Result<()> {
        if let Some(coordinators) = &self.coordinators {
            verify(coordinators, own, order, now_unix_s)?;
        }
        ensure!(
            self.taken.insert(order.run.clone()),
            "it has taken the order of this run before, and takes each once"
        );
        Ok(())
    }
}

fn verify(coordinators: &[String], own: &Sender, order: &Order, now_unix_s: u64) -> Result<()> {
    let Some(OrderSignature { key, expires_unix_s, bytes }) = &order.signature else {
        bail!("the order is not signed: {IDENTITY} of a coordinator signs it");
    };
    ensure!(
        coordinators.contains(key),
        "the order is signed with a key that is not in {COORDINATORS} of the agent's identity"
    );
    let decoded = |text: &String| {
        let bytes = BASE64_STANDARD.decode(text);
        bytes.context("the signature of the order cannot be read")
    };
    let key = decoded(key)?;
    let bytes = decoded(bytes)?;
    let text = signed(own, order, *expires_unix_s)?;
    let is_valid = UnparsedPublicKey::new(&ED25519, key).verify(&text, &bytes).is_ok();
    ensure!(is_valid, "the order was altered, or is for another agent or an earlier process of it");
    ensure!(
        now_unix_s < *expires_unix_s,
        "the order expired {} s ago by the agent's clock; do both machines have the right time?",
        now_unix_s - expires_unix_s
    );
    Ok(())
}

/// Reads the public keys of an agent's list: one on each line, before a blank.
fn coordinators_of(identity: &Identity) -> Result<Vec<String>> {
    let path = identity.file(COORDINATORS);
    let text = read_file(&path).context("make the fleet anew with weir fleet init")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rcgen::PKCS_ED25519;
    use weir_result::Part;
    use weir_runner::HttpChoice;

    use super::*;
    use crate::message::RunWork;

    const NOW: u64 = 1_800_000_000;

    fn signer() -> OrderSigner {
        OrderSigner { key: KeyPair::generate_for(&PKCS_ED25519).expect("a key") }
    }

    fn gate(signer: &OrderSigner) -> OrderGate {
        OrderGate { coordinators: Some(vec![public_key(&signer.key)]), taken: HashSet::new() }
    }

    fn order() -> Order {
        let work = RunWork { specification: "abc".to_owned(), rows: None };
        let part = Part::new(1, 2).expect("it exists");
        Order { run: "r".to_owned(), part, http: None, work, signature: None }
    }

    fn sender(agent: &str) -> Sender {
        Sender { agent: agent.to_owned(), incarnation: 7 }
    }

    #[track_caller]
    fn refused(gate: &mut OrderGate, own: &Sender, order: &Order, now: u64, part: &str) {
        let error = gate.take(own, order, now).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn an_order_is_taken_once_by_the_process_that_it_is_for() {
        let signer = signer();
        let own = sender("a");
        let good = signer.sign(&own, order(), NOW).expect("a signature");
        let mut gate = gate(&signer);
        refused(&mut gate, &sender("b"), &good, NOW, "another agent");
        let restarted = Sender { incarnation: 8, ..own.clone() };
        refused(&mut gate, &restarted, &good, NOW, "an earlier process");
        refused(&mut gate, &own, &good, NOW + VALID_S + 3, "expired 3 s ago");
        refused(&mut gate, &own, &order(), NOW, "not signed");
        gate.take(&own, &good, NOW + VALID_S - 1).expect("it is signed");
        refused(&mut gate, &own, &good, NOW, "takes each once");
    }

    #[test]
    fn nothing_of_an_order_can_be_altered() {
        let signer = signer();
        let own = sender("a");
        let good = signer.sign(&own, order(), NOW).expect("a signature");
        let signature = good.signature.clone().expect("it is signed");
        let other_key = public_key(&self::signer().key);
        let work = |specification: &str, rows: Option<&str>| RunWork {
            specification: specification.to_owned(),
            rows: rows.map(PathBuf::from),
        };
        let with = |signature: OrderSignature| Order { signature: Some(signature), ..good.clone() };
        let later = OrderSignature { expires_unix_s: NOW + 9_999, ..signature.clone() };
        for (altered, part) in [
            (Order { run: "s".to_owned(), ..good.clone() }, "altered"),
            (Order { part: Part::new(2, 2).expect("it exists"), ..good.clone() }, "altered"),
            (Order { http: Some(HttpChoice::Http2), ..good.clone() }, "altered"),
            (Order { work: work("abd", None), ..good.clone() }, "altered"),
            (Order { work: work("abc", Some("/etc/cron.d/x")), ..good.clone() }, "altered"),
            (with(later), "altered"),
            (with(OrderSignature { key: other_key, ..signature.clone() }), "not in coordinators"),
            (with(OrderSignature { bytes: "zz".to_owned(), ..signature.clone() }), "be read"),
            (with(OrderSignature { bytes: String::new(), ..signature }), "altered"),
        ] {
            refused(&mut gate(&signer), &own, &altered, NOW, part);
        }
    }

    #[test]
    fn without_identities_an_order_needs_no_signature() {
        let mut gate = OrderGate { coordinators: None, taken: HashSet::new() };
        gate.take(&sender("a"), &order(), NOW).expect("nothing is signed");
        refused(&mut gate, &sender("a"), &order(), NOW, "takes each once");
    }
}
