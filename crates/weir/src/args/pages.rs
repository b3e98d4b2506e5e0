//! The flags of the commands that print completions and man pages.

use clap::{Args, ValueEnum};

/// `weir completions`.
#[derive(Debug, Args)]
#[command(
    override_usage = "weir completions <bash|zsh|fish>",
    after_help = "\
Packages of weir install the completions. After cargo install:
  weir completions bash > ~/.local/share/bash-completion/completions/weir
  weir completions zsh > ~/.zfunc/_weir    # with fpath+=~/.zfunc before compinit
  weir completions fish > ~/.config/fish/completions/weir.fish"
)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "bash|zsh|fish")]
    pub(crate) shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// `weir man`.
#[derive(Debug, Args)]
#[command(
    override_usage = "weir man [PAGE]\n       weir man --list",
    after_help = "\
Packages of weir install the pages. After cargo install:
  weir man search | man -l -"
)]
pub(crate) struct ManArgs {
    /// Name of the page, with or without `weir-`: search, history-trend [default: weir]
    #[arg(conflicts_with = "list")]
    pub(crate) page: Option<String>,
    /// Print the names of all pages
    #[arg(long)]
    pub(crate) list: bool,
}
