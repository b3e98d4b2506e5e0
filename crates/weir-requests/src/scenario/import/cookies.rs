//! Cookies that were sent and that no response of the file sets: users do not have them.

use std::collections::HashSet;

use crate::scenario::import::recorded::RecordedStep;

/// Makes a remark on each cookie that no earlier response sets, at its first step.
pub(super) fn remark(steps: &mut [RecordedStep]) {
    let mut known: HashSet<String> = HashSet::new();
    for step in steps {
        let mut unset = Vec::new();
        for name in &step.cookies {
            if known.insert(name.clone()) {
                unset.push(name.as_str());
            }
        }
        if !unset.is_empty() {
            let (cookies, were) = match unset.len() {
                1 => ("cookie", "was"),
                _ => ("cookies", "were"),
            };
            step.remarks.push(format!(
                "the {cookies} {} {were} sent, and no earlier response of the file sets {}; users \
                 do not send {}",
                unset.join(", "),
                if unset.len() == 1 { "it" } else { "them" },
                if unset.len() == 1 { "it" } else { "them" },
            ));
        }
        let set = step.response.iter().flat_map(|response| &response.cookies);
        known.extend(set.map(|(name, _)| name.clone()));
    }
}
