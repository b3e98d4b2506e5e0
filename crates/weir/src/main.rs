//! Entry point of the program, which is in `lib.rs`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: weir_sys::NotingAllocator = weir_sys::NotingAllocator;

fn main() -> ExitCode {
    weir::main()
}
