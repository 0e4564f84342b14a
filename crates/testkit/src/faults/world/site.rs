//! What a simulated federation consists of: nodes, each with its computer, its troubles, and what it has said.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use cahoots_core::NodeId;
use cahoots_core::link::Ends;
use cahoots_node::inside::SteppedClient;

use super::super::app::App;
use super::super::computer::{Commits, Computer, Micros};
use super::super::disk::Image;

/// A client's way to its coordinator.
#[derive(Debug, Default)]
pub(in super::super) enum Link {
    #[default]
    Idle,
    /// It has said hello over this connection; the way out is kept until it is welcome.
    Dialing(usize, tokio::sync::mpsc::Sender<cahoots_node::transport::proto::Frame>),
    Up(usize),
}

/// How a node went down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Down {
    #[default]
    Kill,
    Power,
}

/// What clients and coordinator have in common.
#[derive(Debug)]
pub(in super::super) struct Site {
    pub(in super::super) computer: Arc<Computer>,
    pub(in super::super) store: PathBuf,
    /// How often it was started.
    pub(in super::super) starts: u64,
    /// How it goes down when its disk goes off, and for how long.
    pub(in super::super) crash: (Down, Micros),
    /// How long it stays away after an orderly stop.
    pub(in super::super) stop: Micros,
    /// It goes down after so many more frames have left.
    pub(in super::super) frames_left: Option<u64>,
    /// Its next start goes down before so many syncs, and how.
    pub(in super::super) next_crash: Option<(u64, Down)>,
    /// How it went down.
    pub(in super::super) down: Down,
    /// Its store went back in time: by a disk that lied, or by an old copy. When, the last time.
    pub(in super::super) branched: Option<Micros>,
    /// A bit of its log has rotted.
    pub(in super::super) rotten: bool,
    /// It has since the last start, and whoever opens the store must see it.
    pub(in super::super) must_refuse: bool,
    /// Its store may be another one than the tape says: one that was put aside for a copy, or that copy.
    pub(in super::super) uncertain: bool,
}

pub(in super::super) struct Client {
    pub(in super::super) site: Site,
    pub(in super::super) node: Option<SteppedClient>,
    pub(in super::super) link: Link,
    pub(in super::super) pause: Micros,
    pub(in super::super) flushing: bool,
    pub(in super::super) app: App,
    pub(in super::super) image: Option<(Image, Commits)>,
    /// What was durable when it was last looked at: it must not go back.
    pub(in super::super) told: Ends,
    /// How far it has told each of the others that it has come: it must be on disk.
    pub(in super::super) said: BTreeMap<NodeId, Ends>,
    /// How far the coordinator has told it that it has come.
    pub(in super::super) heard: Ends,
    /// It crashes right after it is let in.
    pub(in super::super) crash_when_welcome: bool,
    /// How often its store was replaced, or went back in time.
    pub(in super::super) replaced: u64,
    /// It has been given trouble after it started anew.
    pub(in super::super) followed: bool,
    pub(in super::super) partitioned: Micros,
    pub(in super::super) drained: bool,
    /// The trouble that was seen at the last look.
    pub(in super::super) trouble: Option<String>,
}
