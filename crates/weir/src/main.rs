//! Entry point of the program, which is in `lib.rs`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use weir_machine::sys::NotingAllocator;

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;

fn main() -> ExitCode {
    weir::main()
}
