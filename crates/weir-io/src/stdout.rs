//! Standard output as it is: where the program was started without one, writing fails, instead of
//! succeeding into nothing. Knows nothing of what is written.

use std::io::{self, Write};

/// Standard output, unbuffered. That of the standard library takes a closed one for a success.
#[derive(Debug)]
pub struct Stdout(());

impl Stdout {
    /// The program's.
    pub fn new() -> Stdout {
        // Named here so that the linker keeps it wherever this is used.
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

/// The C library calls it before Rust's runtime begins, which opens `/dev/null` in place of a
/// descriptor that is closed.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = keep_closed;

/// Puts a descriptor that cannot be written to where standard output is closed: the runtime leaves
/// it alone, no other file gets its number, and write(2) says EBADF as before.
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
