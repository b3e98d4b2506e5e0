//! SHA-256 as hexadecimal text: of bytes and of a plan.

use aws_lc_rs::digest::{SHA256, digest};
use weir_result::Plan;

/// Returns the SHA-256 of bytes, as hexadecimal text.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest(&SHA256, bytes).as_ref())
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the digest of a plan: the digest of its JSON without blanks, with the names of each
/// object in ascending order. A plan holds no secrets. The length of the request includes theirs,
/// so it counts as 0, and the digest depends on no secret. All parts of a run have the digest of
/// the whole plan.
pub(crate) fn of_plan(plan: &Plan) -> String {
    let mut whole = Plan { part: None, ..plan.clone() };
    whole.request.wire_bytes = 0;
    // A reason, not a part of the load: the same number given with -t is the same plan.
    whole.leaves_cpus = false;
    // A map of serde_json is ordered by its keys.
    let value = serde_json::to_value(whole).expect("a plan is JSON");
    sha256(value.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use weir_result::Part;

    use super::*;

    /// The digest of "abc" in FIPS 180-4's examples.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha256(b"abc"), ABC);
    }

    #[test]
    fn a_plan_s_digest_depends_on_its_values() {
        let plan = Plan::default();
        assert_eq!(of_plan(&plan), of_plan(&plan.clone()));
        let other = plan
            .clone()
            .with_load(|load| load.connections = (plan.load.connections.count() + 1).into());
        assert_ne!(of_plan(&plan), of_plan(&other));
        let mut secret = plan.clone();
        secret.request.wire_bytes += 7;
        assert_eq!(of_plan(&plan), of_plan(&secret));
        let part = Plan { part: Part::new(1, 2), ..plan.clone() };
        assert_eq!(of_plan(&plan), of_plan(&part));
    }
}
