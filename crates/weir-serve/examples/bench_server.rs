//! A server for measurements of its own cost: `bench_server [epoll|uring] [option…]`. It prints its
//! address, serves until its standard input ends, then prints the counters.
//!
//! Options: `delay=D`, `size=N`, `stamps`, `pin`. Decision 0003 describes its use.

use std::io::{self, Read};

use weir_serve::{ServeOptions, spawn};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = ServeOptions::default();
    for argument in std::env::args().skip(1) {
        let behaviour = &mut options.behaviour;
        match argument.split_once('=') {
            None if argument == "stamps" => behaviour.stamps = true,
            None if argument == "pin" => options.pin = true,
            None => options.engine = argument.parse()?,
            Some(("delay", delay)) => behaviour.delay = delay.parse()?,
            Some(("size", bytes)) => behaviour.body_bytes = bytes.parse()?,
            Some((name, _)) => return Err(format!("no option {name}").into()),
        }
    }
    let handle = spawn(options)?;
    println!("listening on http://{} ({})", handle.endpoint(), handle.engine());
    io::stdin().read_to_end(&mut Vec::new())?;
    println!("{}", handle.stop()?.to_json());
    Ok(())
}
