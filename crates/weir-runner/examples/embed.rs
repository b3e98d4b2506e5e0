//! A program that carries out a load and judges its document, without the command line:
//! `cargo run -p weir-runner --example embed`.

use std::io;
use weir_result::Load;

use weir_report::TextOptions;
use weir_runner::{LocalRunner, RunSpec, Silent};
use weir_serve::ServeOptions;
use weir_verdict::Assertion;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A server of its own; any URL does.
    let server = weir_serve::spawn(ServeOptions::default())?;
    let mut spec = RunSpec::new(format!("http://{}/", server.endpoint()));
    spec.load = Load { connections: 4.into(), requests: Some(2_000), ..Load::default() };

    let finished = LocalRunner::default().run(&spec, &mut Silent)?;
    let document = &finished.document;
    weir_report::text::write(document, &TextOptions::default(), &mut io::stdout())?;

    let assertion: Assertion = "errors == 0".parse()?;
    println!("{:?}", assertion.judge(document).outcome);
    Ok(())
}
