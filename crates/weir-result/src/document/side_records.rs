//! Records beside those of the load's workers. It knows nothing of documents.

use super::health;
use super::probe::Probed;
use crate::counters::NetworkSection;
use crate::evidence::ClientHealth;
use crate::measurements::Measurements;

/// Records beside those of the load's workers, of one or several parts of a run.
#[derive(Clone, Debug, Default)]
pub struct SideRecords {
    /// Requests put on the wire by the preflight, redirects and retries included.
    pub preflight_sent: u64,
    /// Requests put on the wire by the setup of scenarios, before the load and during it.
    pub setup_sent: u64,
    /// The one-connection probe before the load.
    pub probe: Probed,
    /// This run's TCP sockets, if there were any.
    pub network: Option<NetworkSection>,
    /// The script's file as the user named it, if there was one; in the document only beside the
    /// script's usage.
    pub script_file: Option<String>,
    /// Health of this machine in the window, if it was watched.
    pub health: Option<ClientHealth>,
    /// Measurements of the probe thread, if there was one: its own plan is not the load's.
    pub witness: Option<Measurements>,
}

impl SideRecords {
    /// Adds those of another part.
    pub(super) fn merge(&mut self, other: &SideRecords) {
        self.preflight_sent += other.preflight_sent;
        self.setup_sent += other.setup_sent;
        let files = self.script_file.iter().chain(&other.script_file);
        self.script_file = files.min().cloned();
        self.health = health::worst(self.health, other.health);
        self.probe.add(&other.probe);
        match (&mut self.network, &other.network) {
            (Some(mine), Some(theirs)) => mine.add(theirs),
            (mine, theirs) => *mine = mine.or(*theirs),
        }
        if let Some(theirs) = &other.witness {
            self.witness.get_or_insert_default().merge(theirs);
        }
    }
}
