//! A command line followed as far as its words go: to a plan, or to what is wrong. No file is read,
//! no name looked up, nothing sent, nothing printed.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use weir_io::Endpoint;
use weir_run::Plan;

use crate::args::{Cli, IoChoice, RunArgs};
use crate::compat;
use crate::plan::plan_at;
use crate::target::Url;

/// The plan that a command line comes to, the name of the program being its first word; `None`
/// where it runs no load. What stands in files is left out of it: the script, the body and whom to
/// trust.
///
/// # Errors
/// What is wrong with the words.
pub fn dry_run(argv: &[OsString]) -> Result<Option<Plan>> {
    if let Some(line) = compat::command_line_of(argv)? {
        return compat::wish_of(&line)?.map(|(args, url)| plan(args, &url)).transpose();
    }
    let cli = Cli::of_words(argv)?;
    if cli.command.is_some() {
        return Ok(None);
    }
    let url = Url::parse(cli.run.url())?;
    plan(cli.run, &url).map(Some)
}

fn plan(mut args: RunArgs, url: &Url) -> Result<Plan> {
    args.script = None;
    args.cacert = None;
    args.body = args.body.filter(|body| !body.starts_with('@'));
    // Which engine works here is no question of words.
    args.io = IoChoice::Epoll;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, url.port()));
    let planned = plan_at(&args, url, |_| Ok(Endpoint::Tcp(address)))?;
    Ok(planned.job.plan)
}
