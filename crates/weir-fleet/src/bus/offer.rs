//! The specification of a run on its way to the agents: each requests the pieces, and gets them in
//! its own inbox alone. It is not kept on the bus.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Bus, CHUNK, KeptChunk, STORE_AGAIN, STORE_WITHIN, VALUE_MAX, chunks_of, digest};
use crate::envelope::{FROM_ASKING, asking_of, sender_in};
use crate::identity::inbox_of;

/// Times that an agent gets each piece at most: some may be lost.
const REPEATED: usize = 16;

/// Specifications of another digest after which no further one is requested.
const OTHERS_MAX: usize = 3;

/// Time for one piece.
const PIECE_WITHIN: Duration = Duration::from_secs(5);

/// A specification that agents can request, until the end of this value.
#[derive(Debug)]
pub struct Offer {
    task: JoinHandle<()>,
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bus {
    /// Offers the specification of a run to these agents.
    ///
    /// # Errors
    /// When the connection has ended.
    pub fn offer(&self, run: &str, agents: &[&str], specification: &[u8]) -> Result<Offer> {
        let run = run.to_owned();
        let pieces = chunks_of(specification);
        let most = REPEATED * pieces.len();
        let mut left: HashMap<String, usize> =
            agents.iter().map(|agent| ((*agent).to_owned(), most)).collect();
        let client = self.client.clone();
        let task = self.handle.block_on(async {
            let mut requests = client.subscribe(FROM_ASKING).await?;
            client.flush().await?;
            let answering = self.handle.spawn(async move {
                while let Some(request) = requests.next().await {
                    let agent = sender_in(&request.subject).unwrap_or_default();
                    // Any other subject would be written in the coordinator's name.
                    let inbox = format!("{}.", inbox_of(agent));
                    let reply = request.reply.filter(|reply| reply.starts_with(&inbox));
                    let piece = piece_of(&run, &pieces, &request.payload);
                    let (Some(reply), Some(piece)) = (reply, piece) else { continue };
                    let Some(left) = left.get_mut(agent).filter(|left| **left > 0) else {
                        continue;
                    };
                    *left -= 1;
                    // One after the other: many at once would fill the memory.
                    let _lost = client.publish(reply, piece.clone().into()).await;
                    let _lost = client.flush().await;
                }
            });
            Ok::<_, anyhow::Error>(answering)
        });
        Ok(Offer { task: task.context("the specification cannot be offered")? })
    }

    /// Returns the specification of a run, which has this SHA-256, from its coordinator. Pieces
    /// that others have sent are passed over.
    ///
    /// # Errors
    /// When it does not come within a minute.
    pub fn specification(&self, agent: &str, run: &str, sha256: &str) -> Result<Vec<u8>> {
        let until = Instant::now() + STORE_WITHIN;
        let mut others = 0;
        while Instant::now() < until {
            match self.handle.block_on(self.requested(agent, run)) {
                Some(value) if digest(&value) == sha256 => return Ok(value),
                Some(_) => others += 1,
                None => {}
            }
            ensure!(
                others < OTHERS_MAX,
                "the specification on the bus is not the one of the order: it was altered"
            );
            self.handle.block_on(async { tokio::time::sleep(STORE_AGAIN).await });
        }
        bail!("the coordinator has not sent the specification of the order")
    }

    async fn requested(&self, agent: &str, run: &str) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let mut number = 0;
        let mut count = 1;
        while number < count {
            let request = format!("{run} {number}").into_bytes();
            let sending = self.client.request(asking_of(agent), request.into());
            let reply = timeout(PIECE_WITHIN, sending).await.ok()?.ok()?;
            let piece = KeptChunk::of(&reply.payload)?;
            count = piece.count.min(VALUE_MAX / CHUNK);
            value.extend_from_slice(piece.content);
            number += 1;
        }
        Some(value)
    }
}

/// Returns the piece that a request names, if it is one of this run.
fn piece_of<'p>(run: &str, pieces: &'p [Vec<u8>], request: &[u8]) -> Option<&'p Vec<u8>> {
    let (of, number) = str::from_utf8(request).ok()?.split_once(' ')?;
    pieces.get(number.parse::<usize>().ok()?).filter(|_| of == run)
}
