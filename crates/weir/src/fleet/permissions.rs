//! The permissions of an agent, as its flags give them.

use weir_runner::{Permissions, PermittedNames, PermittedTargets};

use crate::args::permissions::{AllowChoice, PermissionArgs, PermitChoice};

impl PermissionArgs {
    /// Returns the permissions.
    pub(crate) fn permissions(&self) -> Permissions {
        let has = |choice| self.permits(&choice);
        let names = |all: PermitChoice, named: fn(&PermitChoice) -> Option<&String>| match self
            .permits(&all)
        {
            true => PermittedNames::Any,
            false => {
                let listed = self.permit.iter().filter_map(named);
                PermittedNames::Listed(listed.cloned().collect())
            }
        };
        Permissions {
            targets: self.targets(),
            rate_max: self.max_rate,
            connections_max: self.max_connections,
            duration_max_ns: self.max_duration,
            variables: names(PermitChoice::Variables, |choice| match choice {
                PermitChoice::Variable(name) => Some(name),
                _ => None,
            }),
            files: names(PermitChoice::Files, |choice| match choice {
                PermitChoice::File(path) => Some(path),
                _ => None,
            }),
            commands: has(PermitChoice::Commands),
            watching: has(PermitChoice::Watch),
        }
    }

    /// True if runs may write rows of their requests to files.
    pub(crate) fn may_write_rows(&self) -> bool {
        self.permits(&PermitChoice::Rows)
    }

    fn permits(&self, wanted: &PermitChoice) -> bool {
        self.permit.iter().any(|choice| [wanted, &PermitChoice::All].contains(&choice))
    }

    fn targets(&self) -> PermittedTargets {
        if self.allow.is_empty() {
            return PermittedTargets::Loopback;
        }
        let listed = self.allow.iter().map(|choice| match choice {
            AllowChoice::Any => None,
            AllowChoice::Listed(target) => Some(target.clone()),
        });
        listed.collect::<Option<_>>().map_or(PermittedTargets::Any, PermittedTargets::Listed)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use weir_result::Rate;

    use super::*;

    #[derive(Debug, Parser)]
    struct Agent {
        #[command(flatten)]
        permissions: PermissionArgs,
    }

    fn permissions(words: &str) -> Permissions {
        let words = ["weir"].into_iter().chain(words.split_whitespace());
        Agent::try_parse_from(words).expect("flags").permissions.permissions()
    }

    #[test]
    fn nothing_is_permitted_unless_it_is_given() {
        assert_eq!(permissions(""), Permissions::default());
        assert_eq!(permissions("--allow any --permit all"), Permissions::all());
        let some = permissions("--allow 10.0.0.0/8:443 --allow [::1] --permit env:A,file:/x,watch");
        assert_eq!(some.targets.to_string(), "10.0.0.0/8:443, ::1/128");
        assert_eq!(some.variables, PermittedNames::Listed(vec!["A".to_owned()]));
        assert_eq!(some.files, PermittedNames::Listed(vec!["/x".to_owned()]));
        assert!(some.watching && !some.commands);
        let limits = permissions("--max-rate 6k --max-connections 5 --max-duration 1m");
        assert_eq!(limits.rate_max.map(Rate::rps), Some(6_000.0));
        let limits = (limits.connections_max, limits.duration_max_ns);
        assert_eq!(limits, (Some(5), Some(60_000_000_000)));
    }
}
