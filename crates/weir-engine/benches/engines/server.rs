//! The reference server in a process of its own, so that its CPU time is nobody else's.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use weir_io::system;
use weir_serve::{ServeOptions, spawn};

/// With this word the program is the server.
pub(crate) const WORD: &str = "serve";

/// Serves until its input ends, so not longer than who started it.
pub(crate) fn serve() -> Result<(), Box<dyn Error>> {
    let cpus = system::usable_cpus()?;
    system::pin_to_cpu(*cpus.first().ok_or("no CPU at all")?)?;
    let handle = spawn(ServeOptions::default())?;
    println!("{}", handle.endpoint());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// That process.
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

    /// Length of the answer to a request. The reference server always says the same.
    pub(crate) fn answer_bytes(&self, request: &[u8]) -> Result<u64, Box<dyn Error>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(request)?;
        // An answer of any length is there long before.
        stream.set_read_timeout(Some(Duration::from_millis(300)))?;
        let mut answer = Vec::new();
        // It ends in a timeout, as the connection stays open.
        let _timeout = stream.read_to_end(&mut answer);
        Ok(answer.len() as u64)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.child.stdin = None;
        // How it ends matters to nobody.
        let _ended = self.child.wait();
    }
}
