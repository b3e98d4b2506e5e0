//! The bus: NATS for messages, and JetStream for what must not be lost. This module alone knows of
//! them, and of the runtime that they need. The runtime has one thread of its own, beside those of
//! the load.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, ConnectOptions, Event, Subscriber};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use weir_runner::credentials::{decoded, split_userinfo};
use weir_text::setting::IDENTITY;

use crate::identity::{AUTHORITY, BusAccess, CERTIFICATE, KEY, inbox_of};

/// Time for the first connection to the bus.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Time between two pings of the server, of which the third without an answer ends a connection,
/// and longest time of a further attempt. TCP waits longer and longer before it sends again: after
/// 6 s without a network it might be silent for longer than a lease.
const PING_EVERY: Duration = Duration::from_secs(1);
const RECONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Time between the first attempts, their number, which last longer than a lease, and the greatest
/// time between two of the others, each twice as long as the one before.
const RECONNECT_AGAIN: Duration = Duration::from_millis(200);
const QUICK_ATTEMPTS: usize = 60;
const RECONNECT_SLOWEST: Duration = Duration::from_secs(10);

/// Longest part of a kept value in one message, in bytes: a server takes messages of 1 MiB unless
/// its configuration says otherwise.
const CHUNK: usize = 512 << 10;

/// Time for which a value that must not be lost is sent again and again, and between two attempts.
const STORE_WITHIN: Duration = Duration::from_secs(60);
const STORE_AGAIN: Duration = Duration::from_millis(200);

/// Number of messages that are read at once.
const FETCHED: usize = 1_000;

/// Begin of the name of a run's stream.
const STREAM: &str = "WEIR_";

/// Time in which the server knows a message that was sent twice, and for which it keeps a run.
const DUPLICATES_FOR: Duration = Duration::from_mins(10);
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// A thing that the bus reports.
#[derive(Clone, Debug)]
pub struct BusMessage {
    /// When it came, on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The thing.
    pub event: BusEvent,
}

/// Kinds of [`BusMessage`].
#[derive(Clone, Debug)]
pub enum BusEvent {
    /// A message.
    Received {
        /// Its subject.
        subject: String,
        /// Its content.
        payload: Vec<u8>,
    },
    /// The bus cannot be reached.
    Away,
    /// The bus can be reached again.
    Back,
}

/// A connection to the bus, which connects again by itself.
pub struct Bus {
    handle: Handle,
    client: Client,
    jetstream: jetstream::Context,
    /// Its end ends the runtime.
    _end: oneshot::Sender<()>,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("state", &self.client.connection_state()).finish()
    }
}

impl Bus {
    /// Connects to a server, and receives the messages of subjects, which may have wildcards.
    ///
    /// # Errors
    /// When there is no such server, or it refuses the connection.
    pub fn connect(
        access: &BusAccess,
        name: &str,
        subjects: &[&str],
    ) -> Result<(Bus, Receiver<BusMessage>)> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the runtime of the bus cannot be started")?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel();
        thread::Builder::new()
            .name("weir-bus".to_owned())
            .spawn(move || runtime.block_on(ended))
            .context("the thread of the bus cannot be started")?;
        let (events, messages) = channel();
        let options = options(name, access, events.clone());
        let address = &access.address;
        let connected = handle.block_on(async {
            let server = split_userinfo(address).0;
            let connecting = timeout(CONNECT_WITHIN, options.connect(server)).await;
            let connected = connecting.map_err(|_| anyhow!("no answer within 5 s"))?;
            // Its text has that of its causes.
            let client = connected.map_err(|error| refusal(&error.to_string(), access))?;
            for subject in subjects {
                let subscription = client.subscribe((*subject).to_owned()).await?;
                handle.spawn(pass_on(subscription, events.clone()));
            }
            // The server has the subscriptions before anything that this connection sends.
            client.flush().await?;
            Ok::<_, anyhow::Error>((jetstream::new(client.clone()), client))
        });
        let connected =
            connected.with_context(|| format!("the bus at {}", split_userinfo(address).0));
        let (jetstream, client) = connected?;
        Ok((Bus { handle, client, jetstream, _end: end }, messages))
    }

    /// Sends a message that may be lost. While the bus is away it is.
    pub fn send(&self, subject: String, payload: Vec<u8>) {
        if self.client.connection_state() == State::Connected {
            let sending = self.client.publish(subject, payload.into());
            // A full queue is as good as a bus that is away.
            let _lost = self.handle.block_on(async { timeout(STORE_AGAIN, sending).await });
        }
    }

    /// Makes the place of a run, in which values are kept.
    ///
    /// # Errors
    /// When the server has no JetStream, or does not answer.
    pub fn open_run(&self, run: &str) -> Result<()> {
        let config = Config {
            name: stream_of(run),
            subjects: vec![format!("weir.run.{run}.>")],
            max_age: KEPT_FOR,
            duplicate_window: DUPLICATES_FOR,
            ..Config::default()
        };
        self.handle
            .block_on(async { self.jetstream.get_or_create_stream(config).await })
            .map(drop)
            .context("the bus keeps nothing: JetStream is off, or has no room")
    }

    /// Returns the names of the runs that have a place.
    ///
    /// # Errors
    /// When the server has no JetStream, or does not answer.
    pub fn runs(&self) -> Result<Vec<String>> {
        let names = self.handle.block_on(async {
            let mut names = self.jetstream.stream_names();
            let mut runs = Vec::new();
            while let Some(name) = names.next().await {
                runs.extend(name?.strip_prefix(STREAM).map(str::to_owned));
            }
            Ok::<_, anyhow::Error>(runs)
        });
        names.context("the runs that the bus keeps")
    }

    /// Removes the place of a run and what it keeps.
    pub fn remove_run(&self, run: &str) {
        // The age limit removes a place that stays.
        let _stays =
            self.handle.block_on(async { self.jetstream.delete_stream(stream_of(run)).await });
    }

    /// Keeps a value of a run. Sent again it is kept once.
    ///
    /// # Errors
    /// When the bus does not confirm it within a minute.
    pub fn keep(&self, run: &str, name: &str, value: &[u8]) -> Result<()> {
        let chunks: Vec<&[u8]> = match value.is_empty() {
            true => vec![value],
            false => value.chunks(CHUNK).collect(),
        };
        let digest = digest(value);
        for (number, chunk) in chunks.iter().enumerate() {
            let head = format!("{} {digest}\n", chunks.len());
            let payload = [head.as_bytes(), chunk].concat();
            let id = format!("{run}/{name}/{number}/{digest}");
            self.keep_chunk(format!("weir.run.{run}.{name}.{number}"), &id, &payload)?;
        }
        Ok(())
    }

    fn keep_chunk(&self, subject: String, id: &str, payload: &[u8]) -> Result<()> {
        let attempts = async {
            loop {
                let message =
                    PublishMessage::build().payload(payload.to_vec().into()).message_id(id);
                if let Ok(confirming) = self.jetstream.send_publish(subject.clone(), message).await
                    && confirming.await.is_ok()
                {
                    return;
                }
                sleep(STORE_AGAIN).await;
            }
        };
        let kept = self.handle.block_on(async { timeout(STORE_WITHIN, attempts).await });
        kept.map_err(|_| anyhow!("the bus did not confirm it within a minute"))
    }

    /// Returns a value that was kept; `None` if there is none.
    ///
    /// # Errors
    /// When the bus does not answer, or the value is damaged.
    pub fn kept(&self, run: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let (mut value, mut number, mut count) = (Vec::new(), 0, 1);
        let mut known = String::new();
        while number < count {
            let subject = format!("weir.run.{run}.{name}.{number}");
            let Some(payload) = self.kept_chunk(run, &subject)? else {
                ensure!(number == 0, "{name}: part {number} of {count} is missing");
                return Ok(None);
            };
            let chunk = KeptChunk::of(&payload).with_context(|| format!("{name} has no head"))?;
            count = chunk.count;
            chunk.digest.clone_into(&mut known);
            value.extend_from_slice(chunk.content);
            number += 1;
        }
        match digest(&value) == known {
            true => Ok(Some(value)),
            false => bail!("{name}: what the bus kept is damaged"),
        }
    }

    /// Returns the values of a run that were kept under names below this one, each in one chunk, in
    /// the order in which they were kept. Damaged ones are left out.
    ///
    /// # Errors
    /// When the bus does not answer.
    pub fn kept_below(&self, run: &str, name: &str) -> Result<Vec<Vec<u8>>> {
        let config = pull::Config {
            filter_subject: format!("weir.run.{run}.{name}.*.0"),
            ack_policy: AckPolicy::None,
            ..pull::Config::default()
        };
        let payloads = self.handle.block_on(async {
            let stream = self.jetstream.get_stream_no_info(stream_of(run)).await?;
            let consumer = stream.create_consumer(config).await?;
            let mut payloads = Vec::new();
            loop {
                let known = payloads.len();
                let mut some = consumer.fetch().max_messages(FETCHED).messages().await?;
                while let Some(message) = some.next().await {
                    payloads.push(message.map_err(|error| anyhow!("{error}"))?.payload.to_vec());
                }
                if payloads.len() == known {
                    return Ok::<_, anyhow::Error>(payloads);
                }
            }
        });
        let payloads = payloads.with_context(|| format!("{name}, as the bus keeps it"))?;
        Ok(payloads.iter().filter_map(|payload| KeptChunk::of(payload)?.whole()).collect())
    }

    fn kept_chunk(&self, run: &str, subject: &str) -> Result<Option<Vec<u8>>> {
        self.handle.block_on(async {
            let stream = self.jetstream.get_stream_no_info(stream_of(run)).await?;
            match stream.get_last_raw_message_by_subject(subject).await {
                Ok(message) => Ok(Some(message.payload.to_vec())),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(error)
                        if error.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                    {
                        Ok(None)
                    }
                    _ => Err(error.into()),
                },
            }
        })
    }
}

/// A part of a kept value: a line with the number of parts and the digest of the value, and what is
/// in this one.
struct KeptChunk<'p> {
    count: usize,
    digest: &'p str,
    content: &'p [u8],
}

impl<'p> KeptChunk<'p> {
    fn of(payload: &'p [u8]) -> Option<KeptChunk<'p>> {
        let end = payload.iter().position(|byte| *byte == b'\n')?;
        let (count, digest) = str::from_utf8(&payload[..end]).ok()?.split_once(' ')?;
        Some(KeptChunk { count: count.parse().ok()?, digest, content: &payload[end + 1..] })
    }

    /// Returns the value, if this is all of it.
    fn whole(self) -> Option<Vec<u8>> {
        (digest(self.content) == self.digest).then(|| self.content.to_vec())
    }
}

/// Returns the error of a connection that the server, or this side, has refused.
fn refusal(text: &str, access: &BusAccess) -> anyhow::Error {
    match &access.identity {
        None if text.contains("certificate") => {
            anyhow!("{text}; a bus of a fleet wants {IDENTITY}")
        }
        _ => anyhow!("{text}"),
    }
}

/// Passes messages on, until there is no receiver.
async fn pass_on(mut subscription: Subscriber, events: Sender<BusMessage>) {
    while let Some(message) = subscription.next().await {
        let (subject, payload) = (message.subject.to_string(), message.payload.to_vec());
        if report(&events, BusEvent::Received { subject, payload }).is_err() {
            return;
        }
    }
}

/// Returns the options of a connection that is never given up.
fn options(name: &str, access: &BusAccess, events: Sender<BusMessage>) -> ConnectOptions {
    let userinfo = split_userinfo(&access.address).1.map(decoded);
    let options = match userinfo.as_ref().and_then(|userinfo| userinfo.split_once(':')) {
        Some((user, password)) => {
            ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned())
        }
        None => ConnectOptions::new(),
    };
    let options = match &access.identity {
        Some(identity) => options
            .add_root_certificates(identity.file(AUTHORITY))
            .add_client_certificate(identity.file(CERTIFICATE), identity.file(KEY))
            .custom_inbox_prefix(inbox_of(&identity.name))
            .require_tls(true),
        None => options,
    };
    options
        .name(name)
        .ping_interval(PING_EVERY)
        .connection_timeout(RECONNECT_WITHIN)
        .event_callback(move |event| {
            let event = match event {
                Event::Connected => Some(BusEvent::Back),
                Event::Disconnected | Event::Closed => Some(BusEvent::Away),
                _ => None,
            };
            // Once the run is over there is no receiver.
            let _unheard = event.map(|event| report(&events, event));
            async {}
        })
        .reconnect_delay_callback(reconnect_delay)
}

/// Returns the time before a further attempt to connect. A bus that is away for less than a lease
/// is found at once; one that has removed this identity is not asked five times a second for ever.
fn reconnect_delay(attempts: usize) -> Duration {
    let further = attempts.saturating_sub(QUICK_ATTEMPTS).min(10) as u32;
    (RECONNECT_AGAIN * 2_u32.pow(further)).min(RECONNECT_SLOWEST)
}

fn report(events: &Sender<BusMessage>, event: BusEvent) -> Result<()> {
    Ok(events.send(BusMessage { at_ns: weir_sys::monotonic_ns(), event })?)
}

fn stream_of(run: &str) -> String {
    format!("{STREAM}{run}")
}

/// Digest of a value: what was stored is what was sent.
fn digest(value: &[u8]) -> String {
    weir_runner::sha256(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_quick_for_a_lease_and_rare_after_it() {
        let seconds = |attempts| reconnect_delay(attempts).as_secs_f64();
        assert_eq!(
            [0, 1, 60, 61, 63, 66, 1_000_000].map(seconds),
            [0.2, 0.2, 0.2, 0.4, 1.6, 10.0, 10.0]
        );
        let quick: Duration = (1..=QUICK_ATTEMPTS).map(reconnect_delay).sum();
        assert!(quick.as_nanos() > u128::from(crate::LEASE_NS), "{quick:?}");
    }
}
