//! Flags of an agent that limit the runs of coordinators.

use std::str::FromStr;

use clap::Args;
use weir_result::Rate;
use weir_runner::AllowedTarget;
use weir_text::units::parse_duration_ns;

use super::values::positive;

/// The permissions of an agent. No coordinator can change them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Permissions")]
pub(crate) struct PermissionArgs {
    /// Addresses to which loads may connect, as in 10.0.0.0/8:443, 10.1.2.3:80,8000-8010,
    /// [fd00::/8]:443 or any; names are resolved first; may be repeated [default: loopback alone]
    #[arg(long, value_name = "CIDR[:PORTS]")]
    pub(crate) allow: Vec<AllowChoice>,
    /// Highest rate of this agent's part of a load; loads need -R then
    #[arg(long, value_name = "R")]
    pub(crate) max_rate: Option<Rate>,
    /// Most connections of this agent's part of a load
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) max_connections: Option<u32>,
    /// Longest load, with its warm-up and drain; loads need -d then
    #[arg(long, value_name = "T", value_parser = parse_duration_ns)]
    pub(crate) max_duration: Option<u64>,
    /// Things that runs may do on this machine, separated by commas: commands (--watch-command and
    /// --capture with --on agents), watch (--watch-…, --access-log), rows (write --raw files), env
    /// and file (read all variables or files), env:NAME, file:PATH, or all [default: none of them]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) permit: Vec<PermitChoice>,
}

/// A value of `--allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllowChoice {
    /// Everything.
    Any,
    /// Addresses.
    Listed(AllowedTarget),
}

impl FromStr for AllowChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<AllowChoice, String> {
        match text {
            "any" => Ok(AllowChoice::Any),
            _ => text.parse().map(AllowChoice::Listed),
        }
    }
}

/// A value of `--permit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PermitChoice {
    All,
    Commands,
    Watch,
    Rows,
    Variables,
    Files,
    Variable(String),
    File(String),
}

impl FromStr for PermitChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<PermitChoice, Self::Err> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let choice = match text {
            "all" => Some(PermitChoice::All),
            "commands" => Some(PermitChoice::Commands),
            "watch" => Some(PermitChoice::Watch),
            "rows" => Some(PermitChoice::Rows),
            "env" => Some(PermitChoice::Variables),
            "file" => Some(PermitChoice::Files),
            _ => match text.split_once(':') {
                Some(("env", name)) => named(name).map(PermitChoice::Variable),
                Some(("file", path)) => named(path).map(PermitChoice::File),
                _ => None,
            },
        };
        choice.ok_or("give commands, watch, rows, env, file, env:NAME, file:PATH or all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_permission_is_refused() {
        assert_eq!("env:A".parse(), Ok(PermitChoice::Variable("A".to_owned())));
        for wrong in ["", "scripts", "env:", "file:", "Env"] {
            assert!(wrong.parse::<PermitChoice>().is_err(), "{wrong}");
        }
    }
}
