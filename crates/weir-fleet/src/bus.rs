//! The bus: NATS for messages, and JetStream for what must not be lost. This module alone knows of
//! them, and of the runtime that they need. The runtime has one thread of its own, beside those of
//! the load.

mod inbox;
mod offer;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, DiscardPolicy, LastRawMessageErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, ConnectOptions, Event, HeaderMap, Subscriber};
use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use weir_runner::credentials::{decoded, split_userinfo};
use weir_text::setting::IDENTITY;

use crate::envelope::left_by;
use crate::identity::{AUTHORITY, BusAccess, CERTIFICATE, KEY, inbox_of};
use inbox::Inbox;

pub use inbox::{BusEvent, BusMessage};
pub use offer::Offer;

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

/// Longest value that an agent may leave.
const VALUE_MAX: usize = 64 << 20;

/// Room of an agent on the bus in a run, in bytes: the first of these that the server grants.
const ROOMS: [i64; 3] = [96 << 20, 24 << 20, 8 << 20];

/// Room of the coordinator's own records of a run, in bytes.
const RECORDS_ROOM: i64 = 4 << 20;

/// Name of no agent: its place takes the room of all of them, to see that it is there.
const ROOM_OF_ALL: &str = "$all";

/// Time for a message to the server and back.
const ECHO_WITHIN: Duration = Duration::from_secs(2);

/// Begin of the name of a run's stream, and of those of its agents.
const STREAM: &str = "WEIR_";
const AGENT_STREAM: &str = "WEIRPART_";

/// Time in which the server knows a message that was sent twice, and for which it keeps a run.
const DUPLICATES_FOR: Duration = Duration::from_mins(10);
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

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
        let (sender, messages) = channel();
        let events = Inbox::of(sender);
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
        if self.is_there() {
            let sending = self.client.publish(subject, payload.into());
            // A full queue is as good as a bus that is away.
            let _lost = self.handle.block_on(async { timeout(STORE_AGAIN, sending).await });
        }
    }

    /// Sends a message that names the subject of its answer.
    pub fn send_for_answer(&self, subject: String, answer: String, payload: Vec<u8>) {
        let sending = self.client.publish_with_reply(subject, answer, payload.into());
        let _lost = self.handle.block_on(async { timeout(STORE_AGAIN, sending).await });
    }

    /// Makes the places of a run: one for the coordinator's records, and one for each agent, which
    /// that agent alone writes. Each has a limit of its own, so none takes the room of another.
    ///
    /// The server confirms nothing that an agent writes: a confirmation goes to a subject that the
    /// agent chooses, and would be written there in the server's name.
    ///
    /// # Errors
    /// When the server has no JetStream or no room for all, or does not answer.
    pub fn open_run(&self, run: &str, agents: &[&str]) -> Result<()> {
        let records = Config { max_bytes: RECORDS_ROOM, ..place_of(run, None) };
        self.handle.block_on(async {
            let made = self.jetstream.get_or_create_stream(records).await;
            made.context("the bus keeps nothing: JetStream is off, or has no room")?;
            let room = self.granted_room(run, agents.len()).await?;
            let made = join_all(agents.iter().map(|agent| {
                let place = Config { max_bytes: room, ..place_of(run, Some(agent)) };
                self.jetstream.get_or_create_stream(place)
            }));
            let refused = made.await.into_iter().find_map(Result::err);
            match refused {
                None => Ok(()),
                Some(refused) => Err(refused).context("the bus has no place for each agent"),
            }
        })
    }

    /// Returns the room of each of these agents, all of which the server has at once. It compares
    /// places that are made at the same time with its limit one by one, so one of their sum is made
    /// before, and removed.
    async fn granted_room(&self, run: &str, agents: usize) -> Result<i64> {
        for room in ROOMS {
            if self.has_room(run, room.saturating_mul(agents as i64)).await? {
                return Ok(room);
            }
        }
        let least = ROOMS[ROOMS.len() - 1].saturating_mul(agents as i64) >> 20;
        bail!(
            "the bus has no room for the results of {agents} agents ({least} MiB): free its disk, \
             or raise max_file_store of nats-server"
        )
    }

    async fn has_room(&self, run: &str, max_bytes: i64) -> Result<bool> {
        let whole = Config { max_bytes, ..place_of(run, Some(ROOM_OF_ALL)) };
        let name = whole.name.clone();
        match self.jetstream.get_or_create_stream(whole).await {
            Ok(_) => {
                self.jetstream.delete_stream(name).await.context("room on the bus")?;
                Ok(true)
            }
            Err(refused) if lacks_room(&refused) => Ok(false),
            Err(refused) => Err(refused).context("room on the bus"),
        }
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

    /// Removes the places of a run and what they keep.
    pub fn remove_run(&self, run: &str) {
        if !self.is_there() {
            return;
        }
        let parts = format!("{AGENT_STREAM}{run}_");
        let of_run = |name: &str| name == stream_of(run, None) || name.starts_with(&parts);
        self.handle.block_on(self.remove_places(of_run));
    }

    async fn remove_places(&self, is_one: impl Fn(&str) -> bool) {
        let mut names = self.jetstream.stream_names();
        let mut removed = Vec::new();
        while let Some(Ok(name)) = names.next().await {
            removed.extend(is_one(&name).then_some(name));
        }
        // The age limit removes a place that stays.
        let _stays = join_all(removed.iter().map(|name| self.jetstream.delete_stream(name))).await;
    }

    /// Leaves a value of an agent in its place. It is sent again until a message that follows it
    /// has come back on the same connection: the server has it then, and stores it if there is
    /// room.
    ///
    /// # Errors
    /// When the bus cannot be reached for a minute.
    pub fn deliver(&self, run: &str, name: &str, value: &[u8]) -> Result<()> {
        // A name that no other process can know: the server takes a second one for a repetition.
        let id = self.client.new_inbox();
        let chunks = chunks_of(value);
        let attempts = async {
            while !self.has_sent(run, name, &id, &chunks).await {
                sleep(STORE_AGAIN).await;
            }
        };
        let sent = self.handle.block_on(async { timeout(STORE_WITHIN, attempts).await });
        sent.map_err(|_| anyhow!("the bus was not reached within a minute"))
    }

    async fn has_sent(&self, run: &str, name: &str, id: &str, chunks: &[Vec<u8>]) -> bool {
        if !self.is_there() {
            return false;
        }
        let connects = || self.client.statistics().connects.load(Ordering::Relaxed);
        let before = connects();
        let echo = async {
            for (number, chunk) in chunks.iter().enumerate() {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Msg-Id", format!("{id}.{number}"));
                let subject = format!("weir.run.{run}.{name}.{number}");
                self.client.publish_with_headers(subject, headers, chunk.clone().into()).await?;
            }
            let subject = self.client.new_inbox();
            let mut echo = self.client.subscribe(subject.clone()).await?;
            self.client.publish(subject, Vec::new().into()).await?;
            Ok::<_, anyhow::Error>(timeout(ECHO_WITHIN, echo.next()).await?.is_some())
        };
        matches!(echo.await, Ok(true)) && connects() == before
    }

    /// Keeps a value of a run. Sent again it is kept once.
    ///
    /// # Errors
    /// When the bus does not confirm it within a minute.
    pub fn keep(&self, run: &str, name: &str, value: &[u8]) -> Result<()> {
        for (number, chunk) in chunks_of(value).iter().enumerate() {
            let id = format!("{run}/{name}/{number}/{}", digest(value));
            self.keep_chunk(format!("weir.run.{run}.{name}.{number}"), &id, chunk)?;
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

    /// True if the bus is reached.
    pub(crate) fn is_there(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Returns a value that an agent has left, for which the server may need until a time.
    ///
    /// # Errors
    /// When it is not there; a message that names the cause.
    pub(crate) fn delivered(&self, run: &str, name: &str, until: Instant) -> Result<Vec<u8>> {
        loop {
            ensure!(self.is_there(), "the bus is not reached");
            match self.kept(run, name) {
                Ok(Some(value)) => return Ok(value),
                other if Instant::now() >= until => {
                    return other.and_then(|_| bail!("{}", self.lack_of(run, name)));
                }
                _ => self.handle.block_on(async { sleep(STORE_AGAIN).await }),
            }
        }
    }

    /// Returns why a value may be missing.
    fn lack_of(&self, run: &str, name: &str) -> String {
        let state = self.handle.block_on(async {
            let stream = self.jetstream.get_stream(stream_of(run, agent_in(name))).await.ok()?;
            let info = stream.cached_info();
            Some((info.state.bytes, u64::try_from(info.config.max_bytes).ok()?))
        });
        match state {
            None => "the bus keeps nothing: JetStream is off, or its disk is full".to_owned(),
            Some((bytes, room)) if bytes + CHUNK as u64 >= room => {
                format!("it has filled its room on the bus ({} MiB)", room >> 20)
            }
            Some(_) => "it is not on the bus".to_owned(),
        }
    }

    /// Returns a value that was kept; `None` if there is none.
    ///
    /// # Errors
    /// When the bus does not answer, or the value is damaged.
    pub fn kept(&self, run: &str, name: &str) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        let mut number = 0;
        let mut count = 1;
        let mut known = String::new();
        while number < count {
            let subject = format!("weir.run.{run}.{name}.{number}");
            let Some(payload) = self.kept_chunk(run, name, &subject)? else {
                ensure!(number == 0, "{name}: part {number} of {count} is missing");
                return Ok(None);
            };
            let chunk = KeptChunk::of(&payload).with_context(|| format!("{name} has no head"))?;
            count = chunk.count;
            chunk.digest.clone_into(&mut known);
            value.extend_from_slice(chunk.content);
            number += 1;
            ensure!(
                count <= VALUE_MAX / CHUNK && value.len() <= VALUE_MAX,
                "{name} is longer than {} MiB",
                VALUE_MAX >> 20
            );
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
            let place = stream_of(run, agent_in(name));
            let stream = self.jetstream.get_stream_no_info(place).await?;
            let consumer = stream.create_consumer(config).await?;
            let mut payloads = Vec::new();
            let mut bytes = 0;
            loop {
                let known = payloads.len();
                let mut some = consumer.fetch().max_messages(FETCHED).messages().await?;
                while let Some(message) = some.next().await {
                    let payload = message.map_err(|error| anyhow!("{error}"))?.payload.to_vec();
                    bytes += payload.len();
                    payloads.push(payload);
                }
                if payloads.len() == known || bytes > VALUE_MAX {
                    return Ok::<_, anyhow::Error>(payloads);
                }
            }
        });
        let payloads = payloads.with_context(|| format!("{name}, as the bus keeps it"))?;
        Ok(payloads.iter().filter_map(|payload| KeptChunk::of(payload)?.whole()).collect())
    }

    fn kept_chunk(&self, run: &str, name: &str, subject: &str) -> Result<Option<Vec<u8>>> {
        self.handle.block_on(async {
            let place = stream_of(run, agent_in(name));
            let stream = self.jetstream.get_stream_no_info(place).await?;
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
async fn pass_on(mut subscription: Subscriber, events: Inbox) {
    while let Some(message) = subscription.next().await {
        let subject = message.subject.to_string();
        let payload = message.payload.to_vec();
        if !events.receive(BusEvent::Received { subject, payload }) {
            return;
        }
    }
}

/// Returns the options of a connection that is never given up.
fn options(name: &str, access: &BusAccess, events: Inbox) -> ConnectOptions {
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
            .require_tls(true),
        None => options,
    };
    options
        .name(name)
        .custom_inbox_prefix(inbox_of(access.identity.as_ref().map_or(name, |it| &it.name)))
        .ping_interval(PING_EVERY)
        .connection_timeout(RECONNECT_WITHIN)
        .event_callback(move |event| {
            let event = match event {
                Event::Connected => Some(BusEvent::Back),
                Event::Disconnected | Event::Closed => Some(BusEvent::Away),
                _ => None,
            };
            // Once the run is over there is no receiver.
            let _unheard = event.map(|event| events.receive(event));
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

/// Returns the name of the place of a run's records, or of what one of its agents has left.
fn stream_of(run: &str, agent: Option<&str>) -> String {
    match agent {
        None => format!("{STREAM}{run}"),
        Some(agent) => format!("{AGENT_STREAM}{run}_{agent}"),
    }
}

/// Returns the agent that leaves a value of this name; none for a record of the coordinator.
fn agent_in(name: &str) -> Option<&str> {
    name.split('.').nth(1)
}

/// Describes the place of a run's records, or of one of its agents.
fn place_of(run: &str, agent: Option<&str>) -> Config {
    let subjects = match agent {
        None => vec![format!("weir.run.{run}.*.*")],
        Some(agent) => vec![left_by(agent, run)],
    };
    Config {
        name: stream_of(run, agent),
        subjects,
        no_ack: agent.is_some(),
        discard: DiscardPolicy::New,
        max_message_size: (CHUNK + 1_024) as i32,
        max_age: KEPT_FOR,
        duplicate_window: DUPLICATES_FOR,
        ..Config::default()
    }
}

fn lacks_room(error: &CreateStreamError) -> bool {
    let lacks = [ErrorCode::INSUFFICIENT_RESOURCES, ErrorCode::STORAGE_RESOURCES_EXCEEDED];
    matches!(error.kind(), CreateStreamErrorKind::JetStream(error)
        if lacks.contains(&error.error_code()))
}

/// Cuts a value into messages, each with the number of all and the digest of the value.
fn chunks_of(value: &[u8]) -> Vec<Vec<u8>> {
    let chunks: Vec<&[u8]> = match value.is_empty() {
        true => vec![value],
        false => value.chunks(CHUNK).collect(),
    };
    let head = format!("{} {}\n", chunks.len(), digest(value));
    chunks.iter().map(|chunk| [head.as_bytes(), chunk].concat()).collect()
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
