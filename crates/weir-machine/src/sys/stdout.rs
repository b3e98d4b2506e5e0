//! Standard output with correct errors: if the program was started with it closed, writing fails
//! instead of discarding the bytes. Independent of the text written.

use std::io::{self, Write};

use super::errno::check;

/// Standard output, unbuffered. The standard library's reports success if the descriptor is closed.
#[derive(Debug)]
pub struct Stdout(());

impl Stdout {
    /// Returns the process's standard output.
    pub fn new() -> Stdout {
        // Referenced here so that the linker keeps it in every program that uses this type.
        std::hint::black_box(&BEFORE_MAIN);
        Stdout(())
    }
}

impl Default for Stdout {
    fn default() -> Stdout {
        Stdout::new()
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the kernel reads no more than the slice.
        let written =
            unsafe { libc::write(libc::STDOUT_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        usize::try_from(written).map_err(|_| io::Error::last_os_error())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Flushes C's standard output (stdio(3)), so that text printed next follows the text of C code.
///
/// # Errors
/// Errors of write(2).
pub fn flush_c_stdout() -> io::Result<()> {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: the C library made the stream before main, and fflush(3) takes its lock.
    check(unsafe { libc::fflush(stdout) }).map(drop)
}

/// Pointer that the C library calls before Rust's runtime starts. The runtime opens `/dev/null` in
/// place of a closed descriptor.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = keep_closed;

/// Replaces a closed standard output by a descriptor that cannot be written to. The runtime then
/// does not replace it, no other file gets its number, and write(2) still returns EBADF.
extern "C" fn keep_closed() {
    // SAFETY: these take and return numbers, and a static C string.
    unsafe {
        if libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) >= 0 {
            return;
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if null >= 0 && null != libc::STDOUT_FILENO {
            libc::dup2(null, libc::STDOUT_FILENO);
            libc::close(null);
        }
    }
}
