//! WebSocket (RFC 6455), both sides of it: the opening handshake, frames, messages, and the client
//! behind [`Multiplexed`](crate::Multiplexed). Of extensions permessage-deflate (RFC 7692) alone.
//! Random numbers are the caller's.

mod client;
mod message_key;
mod options;
mod server;

pub mod handshake;
mod reader;

mod close_code;
mod deflate;
pub mod frame;
mod mask;
mod sha1;

pub use client::WsClient;
pub use close_code::CloseCode;
pub use deflate::DeflateTerms;
pub use frame::{Opcode, WsFault};
pub use handshake::{UpgradeKey, accept_of};
pub use message_key::MessageKey;
pub use options::WsOptions;
pub use reader::{WsEvent, WsReader};
pub use server::WsServer;
