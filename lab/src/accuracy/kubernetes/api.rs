//! Requests to the API server, through `kubectl proxy`, which adds TLS and a credential. It knows
//! no kind of object.

use std::fmt;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// Longest time for a response.
const PATIENCE: Duration = Duration::from_secs(10);

/// Method of a request; a body that changes an object is a merge patch (RFC 7386).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApiMethod {
    Get,
    Post,
    Patch,
    Delete,
}

impl fmt::Display for ApiMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApiMethod::Get => "GET",
            ApiMethod::Post => "POST",
            ApiMethod::Patch => "PATCH",
            ApiMethod::Delete => "DELETE",
        })
    }
}

/// The API server, as the kubelet of a node may use it.
pub(super) struct Api {
    /// Address of the proxy.
    proxy: SocketAddr,
    /// The API server authorizes requests as this node's: its Node authorizer allows the Secrets of
    /// the pods that are bound to the node, and no other.
    node: String,
}

impl Api {
    pub(super) fn new(proxy: SocketAddr, node: &str) -> Api {
        Api { proxy, node: node.to_owned() }
    }

    pub(super) fn get(&self, path: &str) -> Result<Value> {
        self.request(ApiMethod::Get, path, &Value::Null)
    }

    /// Removes an object at once, unless it is gone.
    pub(super) fn delete(&self, path: &str, id: &str) -> Result<()> {
        let body = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": id } });
        let (status, body) = self.exchange(ApiMethod::Delete, path, &body)?;
        ensure!(matches!(status, 200..300 | 404 | 409), "DELETE {path}: {status} {body}");
        Ok(())
    }

    /// Sends a request, and returns the body of the response. Fails if the status is not 2xx.
    pub(super) fn request(&self, method: ApiMethod, path: &str, body: &Value) -> Result<Value> {
        let (status, body) = self.exchange(method, path, body)?;
        ensure!(
            (200..300).contains(&status),
            "{method} {path} as {}: {status} {}",
            self.node,
            body["message"].as_str().unwrap_or_default()
        );
        Ok(body)
    }

    fn exchange(&self, method: ApiMethod, path: &str, body: &Value) -> Result<(u16, Value)> {
        let form = match method {
            ApiMethod::Patch => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        // The end of a response of HTTP/1.0 is that of the connection.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nImpersonate-User: system:node:{}\r\n\
             Impersonate-Group: system:nodes\r\nContent-Type: {form}\r\nContent-Length: {}\r\n\r\n",
            self.proxy,
            self.node,
            body.len()
        );
        let mut stream = TcpStream::connect(self.proxy).context("kubectl proxy has ended")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut response = String::new();
        stream.read_to_string(&mut response).context("the API server does not respond")?;
        read(&response).with_context(|| format!("failed to read the response to {method} {path}"))
    }
}

/// Reads the status and the JSON of a response.
fn read(response: &str) -> Result<(u16, Value)> {
    let Some((head, body)) = response.split_once("\r\n\r\n") else { bail!("it has no end") };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("it has no status")?;
    Ok((status, serde_json::from_str(body).unwrap_or(Value::Null)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read() {
        let (status, body) =
            read("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"kind\":\"Pod\"}").expect("one");
        assert_eq!((status, body["kind"].as_str()), (200, Some("Pod")));
        let (status, body) = read("HTTP/1.0 502 Bad Gateway\r\n\r\nno").expect("one without JSON");
        assert_eq!((status, body), (502, Value::Null));
        assert!(read("HTTP/1.0 200 OK\r\n").is_err());
    }
}
