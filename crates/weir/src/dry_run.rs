//! Dry run of a command line: from its words to a plan or an error. It reads no file, resolves no
//! name, sends nothing and prints nothing.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use weir_io::Endpoint;
use weir_result::Plan;

use crate::args::{Cli, IoChoice, RunArgs};
use crate::compat;
use crate::plan::plan_at;
use crate::target::Url;

/// Returns the plan of a command line, whose first word is the program's name; `None` if it runs no
/// load. The plan lacks everything that is read from files: the script, the body and the CA
/// certificates.
///
/// # Errors
/// When the command line is wrong.
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
    // `auto` would probe the kernel for io_uring, which is outside a dry run.
    args.io = IoChoice::Epoll;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, url.port()));
    let planned = plan_at(&args, url, |_| Ok(Endpoint::Tcp(address)))?;
    Ok(planned.job.plan)
}
