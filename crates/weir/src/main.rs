//! Entry point of the program, which is in `lib.rs`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    weir::main()
}
