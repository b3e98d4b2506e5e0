//! Shares of the agents in a load.

use std::collections::BTreeMap;

use weir_result::{PART_WEIGHTS_MAX, Part};

/// Weights by which connections, and so requests, are divided among agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AgentWeights {
    /// All have the same.
    #[default]
    Equal,
    /// The number of CPUs that each may use.
    Cores,
    /// These, by the agents' names; 1 for all others.
    Named(BTreeMap<String, u32>),
}

impl AgentWeights {
    /// Divides a run among agents, each with its name and its number of CPUs.
    ///
    /// # Errors
    /// When there is no such division; a message for the user.
    pub(crate) fn parts(&self, agents: &[(&str, u32)]) -> Result<Vec<Part>, String> {
        if let AgentWeights::Named(weights) = self {
            let is_there = |name: &str| agents.iter().any(|(agent, _)| *agent == name);
            if let Some(name) = weights.keys().find(|name| !is_there(name)) {
                return Err(format!("agent {name}, which has a weight, is not among the agents"));
            }
        }
        let weight = |(name, cpus): &(&str, u32)| match self {
            AgentWeights::Equal => 1,
            AgentWeights::Cores => (*cpus).max(1),
            AgentWeights::Named(weights) => weights.get(*name).copied().unwrap_or(1),
        };
        let weights: Vec<u32> = agents.iter().map(weight).collect();
        Part::weighted(&weights)
            .ok_or_else(|| format!("the sum of all weights is more than {PART_WEIGHTS_MAX}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_flag() {
        let agents = [("a", 4), ("b", 8)];
        let shares = |weights: &AgentWeights| {
            let parts = weights.parts(&agents).expect("a division");
            parts.into_iter().map(|part| part.share_of(12)).collect::<Vec<_>>()
        };
        assert_eq!(shares(&AgentWeights::Equal), [6, 6]);
        assert_eq!(shares(&AgentWeights::Cores), [4, 8]);
        assert_eq!(shares(&AgentWeights::Named([("a".to_owned(), 3)].into())), [9, 3]);
        let unknown = AgentWeights::Named([("c".to_owned(), 3)].into()).parts(&agents);
        assert!(unknown.is_err_and(|why| why.contains("agent c")));
    }
}
