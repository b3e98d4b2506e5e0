//! The reference server, in a process of its own so that its CPU time is separate.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use weir_machine::sys;
use weir_serve::{ServeOptions, spawn};

/// Argument that makes the program run the server.
pub(crate) const WORD: &str = "serve";

/// Serves until its standard input ends, and so no longer than its parent process.
pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    let cpus = sys::usable_cpus()?;
    sys::pin_to_cpu(*cpus.first().ok_or("no CPU at all")?)?;
    let handle = spawn(ServeOptions::default())?;
    println!("{}", handle.endpoint());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// The server's process.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    pub(crate) fn start() -> Result<ServerProcess, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("the server's output is piped")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse()?;
        Ok(ServerProcess { child, address })
    }

    /// Returns the length of the response to a request. The reference server always sends the same
    /// one.
    pub(crate) fn response_bytes(&self, request: &[u8]) -> Result<u64, Box<dyn Error>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(request)?;
        // A response of any length arrives long before.
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        let mut response = Vec::new();
        // Ends with a timeout, as the connection stays open.
        let _timeout = stream.read_to_end(&mut response);
        Ok(response.len() as u64)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.child.stdin = None;
        // The exit status is of no interest.
        let _ended = self.child.wait();
    }
}
