//! `weir completions`: the completions of a shell, on standard output.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap_complete::aot::{Bash, Fish, Generator, Zsh};

use crate::args::pages::{CompletionsArgs, Shell};
use crate::args::tree::completed;
use crate::terminal;

/// Prints the completions.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    let script = script(args.shell);
    terminal::print(|out| out.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    match shell {
        Shell::Bash => generated(Bash),
        Shell::Zsh => generated(Zsh),
        Shell::Fish => fish(),
    }
}

/// The completions of fish. clap_complete's script offers no values of the program's own flags: the
/// function that looks for a command fails at a flag whose value is still to come.
fn fish() -> Vec<u8> {
    let script = String::from_utf8_lossy(&generated(Fish)).into_owned();
    script.replacen(FISH_GIVES_UP, FISH_GOES_ON, 1).into_bytes()
}

const FISH_GIVES_UP: &str = "2>/dev/null\n    or return\n";
const FISH_GOES_ON: &str = "2>/dev/null\n    or return 0\n";

fn generated(shell: impl Generator) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut completed(), "weir", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_flag_of_every_command_is_completed() {
        let mut tree = completed();
        tree.build();
        for shell in Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).expect("text");
            for command in tree.get_subcommands() {
                let name = command.get_name();
                assert!(script.contains(name), "{shell:?} lacks {name}");
                let longs = command.get_arguments().filter_map(|arg| arg.get_long());
                for long in longs {
                    let is_there = match shell {
                        Shell::Fish => script.contains(&format!(" -l {long}")),
                        _ => script.contains(&format!("--{long}")),
                    };
                    assert!(is_there, "{shell:?} lacks {name} --{long}");
                }
            }
        }
    }

    #[test]
    fn choices_are_completed_with_their_values() {
        let bash = String::from_utf8(script(Shell::Bash)).expect("text");
        for values in ["auto uring epoll", "wrk wrk2", "concurrent fifo", "text json junit"] {
            let completed = format!("compgen -W \"{values}");
            assert!(bash.contains(&completed), "{completed}");
        }
    }

    #[test]
    fn fish_completes_values_of_flags_before_a_command() {
        let fish = String::from_utf8(script(Shell::Fish)).expect("text");
        assert!(fish.contains(FISH_GOES_ON) && !fish.contains(FISH_GIVES_UP), "{fish}");
    }
}
