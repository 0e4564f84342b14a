//! A client that knows the federation's terms: its machine, and what belongs to it.

use cahoots_core::drive::{ClientNode, Saved};
use cahoots_core::{Alone, Keys, LARGEST, NodeId, Seating, Seats, UserId};

use super::lockstep::Steps;
use super::offer::Shape;
use crate::books::Books;
use crate::error::NodeError;
use crate::live::{Known, Live};
use crate::privacy::{Ceiling, Promised};
use crate::terms::Terms;
use crate::transport::EnvelopeHeader;

/// Bytes of confirmed messages that are kept, to be sent again to a coordinator that lost them.
const HISTORY: usize = 1 << 20;
/// The same, where the coordinator's log may lose its last records: until they are in a snapshot that has replicas.
const HELD: usize = 256 << 20;

/// A member of a federation.
pub(super) struct Member {
    pub(super) machine: Box<dyn ClientNode>,
    pub(super) books: Books,
    pub(super) terms: Terms,
    pub(super) seats: Seats,
    pub(super) keys: Keys,
    pub(super) header: EnvelopeHeader,
    pub(super) lockstep: Option<Steps>,
    live: Live,
    /// What the parameters that hold now promise.
    pub(super) promised: Promised,
    /// How it would choose by its own data alone.
    pub(super) alone: Option<Alone>,
}

impl Member {
    /// A machine for these terms, new or as it was saved.
    pub(super) fn new(
        known: &Known,
        terms: Terms,
        federation: &str,
        me: NodeId,
        secret: [u8; 32],
        saved: Option<Saved<'_>>,
        books: Books,
        progress: Option<Vec<u8>>,
    ) -> Result<Member, NodeError> {
        let live = *terms.live(known)?;
        let seats = live.seats(&terms)?;
        let clients = seats.clients();
        if me.index() >= clients {
            return Err(NodeError::Config(format!(
                "there is no {me}: this federation has clients 0 to {}",
                clients - 1
            )));
        }
        let mut machine = live.client(&terms, me, saved)?;
        if terms.lockstep.is_some() {
            machine.queues().keep_all();
        } else {
            machine.queues().remember(HISTORY);
        }
        let promised = live.promised(&terms.with_params(machine.params().1)?)?;
        let alone = live.alone(&terms, me)?;
        Ok(Member {
            live,
            promised,
            alone,
            machine,
            books,
            seats,
            keys: crate::secret::keys(&terms, secret),
            header: EnvelopeHeader { federation: federation.into(), from: me, parameters: terms.hash() },
            lockstep: Steps::of(known, &terms, progress)?,
            terms,
        })
    }

    /// The coordinator has everything up to `received`, and what it had of the rest it has lost: that waits again. Gives how
    /// many messages are gone at both ends.
    pub(super) fn resume(&mut self, received: u64, replicated: bool) -> u64 {
        let sent = self.machine.ends(NodeId::SERVER).sent;
        let queues = self.machine.queues();
        if self.lockstep.is_some() {
            queues.confirmed(NodeId::SERVER, received);
            return 0;
        }
        // Nothing is forgotten before it is known what the coordinator lacks, however it keeps its log from now on.
        queues.hold(NodeId::SERVER, HELD);
        queues.confirmed(NodeId::SERVER, received);
        let gone = queues.reclaim(NodeId::SERVER, received, sent);
        if !replicated {
            queues.let_go(NodeId::SERVER);
        }
        gone
    }

    /// What these parameters would promise.
    pub(super) fn would_promise(&self, params: &str) -> Result<Promised, NodeError> {
        self.live.promised(&self.terms.with_params(params)?)
    }

    /// Refuses what promises less than a ceiling asks for.
    pub(super) fn within(&self, ceiling: Option<&Ceiling>, promised: &Promised) -> Result<(), String> {
        let Some(ceiling) = ceiling else { return Ok(()) };
        if self.lockstep.is_some() {
            return Err(format!(
                "[privacy] max_epsilon = {}, and in lockstep, which is for tests, noise follows from the seed, which everyone knows \
                 (epsilon = inf)",
                ceiling.max_epsilon
            ));
        }
        ceiling.allows(promised)
    }

    /// What arms must look like.
    pub(super) fn shape(&self) -> Shape<'_> {
        let seat = self.machine.seat();
        Shape {
            dim: seat.dim,
            own: seat.local_dim,
            usual: self.terms.setting.arms,
            by_position: self.live.by_position(),
            seat,
        }
    }

    /// Refuses what cannot be the reward of a decision that expires.
    pub(super) fn takes_default(&self, reward: Option<f64>) -> Result<(), String> {
        let Some(reward) = reward else { return Ok(()) };
        let (low, high) = self.machine.seat().reward_range.unwrap_or((-LARGEST, LARGEST));
        if (low..=high).contains(&reward) {
            return Ok(());
        }
        Err(format!(
            "default_reward = {reward} is no reward under this federation's terms: choose one between {low} and {high}, or leave it out"
        ))
    }

    /// How many it decides for.
    pub(super) fn users(&self) -> usize {
        let me = self.machine.seat().me;
        (0..self.terms.setting.users as u32).filter(|user| self.seats.seat_of(UserId(*user)) == me).count()
    }

    /// Whom a decision is for.
    pub(super) fn user(&self, user: Option<u32>) -> Result<UserId, NodeError> {
        let me = self.machine.seat().me;
        let user = match (user, self.seats.seating()) {
            (Some(user), _) => UserId(user),
            (None, Seating::PerUser) => UserId(me.0),
            (None, _) => {
                return Err(NodeError::Request(
                    "this client decides for many users: say which (\"user\": number)".into(),
                ));
            }
        };
        let users = self.terms.setting.users;
        if user.index() >= users || self.seats.seat_of(user) != me {
            return Err(NodeError::Request(format!("user {} is not one of {me}'s", user.0)));
        }
        Ok(user)
    }
}
