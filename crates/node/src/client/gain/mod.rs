//! What federation gained this client, as far as its own data can tell ([`cahoots_core::gain`]), and what follows when it hurts.
//!
//! The shadow is no part of the machine: it is the driver's, and no input of it is logged. It is kept as a whole now and then,
//! in one piece with its counts. What a crash takes from it are decisions that count as not compared and rewards that its
//! interval does without: fewer data make it wider, not wrong.

mod config;
mod words;

use std::collections::BTreeMap;

use cahoots_core::arms::ArmError;
use cahoots_core::drive::Looked;
use cahoots_core::gain::{Assumed, Gain, Shadow};
use cahoots_core::{Alone, ArmBuffer, ArmIndex, Context, DecisionId, NodeId, Picked, Seat, Stream};
use serde::{Deserialize, Serialize};

pub use self::config::GainConfig;
pub(in crate::client) use self::words::figure;
use self::words::in_words;
use super::member::Member;

/// The name under which a store keeps the shadow.
pub(super) const KEY: &str = "gain";

/// What federation gained a client, if that is known, and in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GainStatus {
    /// Decisions that were compared.
    pub decisions: Option<u64>,
    /// Those where own data alone would have taken another arm.
    pub differed: Option<u64>,
    /// Not less was gained.
    pub low: Option<f64>,
    /// The best estimate.
    pub estimate: Option<f64>,
    /// Not more was gained: below 0, federation hurts.
    pub high: Option<f64>,
    /// How sure that is, at all times at once.
    pub confidence: Option<f64>,
    /// Decisions are taken by own data alone, because federation was found to hurt.
    pub left: bool,
    /// All of it in plain words, or why it is not known.
    pub words: String,
}

/// What becomes of a decision beside the machine.
pub(super) enum Beside {
    /// There is no shadow; why.
    Nothing(String),
    /// There is one.
    Shadowed(Box<Shadowed>),
}

/// What is kept in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    shadow: Shadow,
    left: Option<Left>,
}

/// When federation was found to hurt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Left {
    decisions: u64,
    estimate: f64,
    high: f64,
}

/// What is to follow when federation hurts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// It is said.
    Stay,
    /// Own data alone decide.
    Leave,
    /// They were to, but the machine cannot be made to take an arm.
    Stuck,
}

/// A shadow beside the machine.
pub(super) struct Shadowed {
    kept: Kept,
    alone: Alone,
    assumed: Assumed,
    wish: Wish,
    /// Features of decisions that wait for their reward. Not kept: rewards of before a restart are not learned from.
    open: BTreeMap<DecisionId, Context>,
    /// Decisions and rewards since it was last kept.
    unkept: usize,
}

/// What own data alone would do.
pub(super) struct Pick {
    picked: Picked,
    features: Context,
}

impl Beside {
    /// Before the terms are known.
    pub(super) fn unknown() -> Beside {
        Beside::Nothing("Not known yet: this client has not joined its federation.".into())
    }

    /// For a member, new or as it was kept.
    pub(super) fn of(member: &Member, config: &GainConfig, kept: Option<Vec<u8>>) -> Beside {
        let seat = member.machine.seat();
        let nothing = |words: String| Beside::Nothing(format!("Not known: {words}."));
        if !config.shadow {
            return nothing("`[gain] shadow = false` in this client's file".into());
        }
        if member.lockstep.is_some() {
            return nothing("this federation runs in lockstep".into());
        }
        let users = member.users();
        if users != 1 {
            return nothing(format!(
                "this client decides for {users} users, and one's data say little of another"
            ));
        }
        let Some(alone) = member.alone.filter(|_| seat.dim > 0) else {
            return nothing(format!(
                "with {}, there is no linear model of this client's own data to compare with",
                member.terms.algorithm
            ));
        };
        let dim = seat.dim + seat.local_dim;
        let kept = kept.and_then(|bytes| postcard::from_bytes::<Kept>(&bytes).ok());
        let mut kept = kept
            .filter(|kept| kept.shadow.dim() == dim)
            .unwrap_or_else(|| Kept { shadow: Shadow::new(&alone, dim), left: None });
        // Who does not want to leave any more has come back.
        kept.left = kept.left.filter(|_| config.leave_when_hurt);
        let usual = alone.assumed(config.confidence);
        let range = seat.reward_range.map(|(low, high)| 0.5 * (high - low));
        let noise = config.noise.or(range).unwrap_or(usual.noise);
        let assumed = Assumed { noise, norm: config.norm.unwrap_or(usual.norm), ..usual };
        let wish = match (config.leave_when_hurt, seat.masks) {
            (false, _) => Wish::Stay,
            (true, true) => Wish::Leave,
            (true, false) => Wish::Stuck,
        };
        Beside::Shadowed(Box::new(Shadowed { kept, alone, assumed, wish, open: BTreeMap::new(), unkept: 0 }))
    }

    pub(super) fn shadowed(&mut self) -> Option<&mut Shadowed> {
        match self {
            Beside::Nothing(_) => None,
            Beside::Shadowed(shadowed) => Some(shadowed),
        }
    }

    /// Whether decisions are taken by own data alone.
    pub(super) fn has_left(&self) -> bool {
        matches!(self, Beside::Shadowed(shadowed) if shadowed.kept.left.is_some())
    }

    /// To be kept in the store, where there is anything.
    pub(super) fn save(&mut self) -> Option<Vec<u8>> {
        let shadowed = self.shadowed()?;
        shadowed.unkept = 0;
        Some(postcard::to_stdvec(&shadowed.kept).expect("a shadow can always be written"))
    }

    /// The interval, where it is known and holds.
    pub(super) fn gain(&self) -> Option<Gain> {
        match self {
            Beside::Nothing(_) => None,
            Beside::Shadowed(shadowed) => shadowed.gain().ok(),
        }
    }

    /// All that is known, in numbers and words.
    pub(super) fn status(&self) -> GainStatus {
        let gain = match self {
            Beside::Nothing(words) => Err(words.clone()),
            Beside::Shadowed(shadowed) => shadowed.gain(),
        };
        let left = match self {
            Beside::Shadowed(shadowed) => shadowed.kept.left,
            Beside::Nothing(_) => None,
        };
        let mut status = match gain {
            Err(words) => GainStatus { words, ..GainStatus::default() },
            Ok(gain) => GainStatus {
                decisions: Some(gain.decisions),
                differed: Some(gain.differed),
                low: Some(gain.low),
                estimate: Some(gain.estimate),
                high: Some(gain.high),
                confidence: Some(gain.confidence),
                left: false,
                words: in_words(&gain),
            },
        };
        if let Some(Left { decisions, .. }) = left {
            status.left = true;
            status.words += &format!(
                " After {decisions} decisions it was found to hurt: since then this client decides by its own data alone \
                 (`[gain] leave_when_hurt`), and what it learns still goes to the others."
            );
        }
        status
    }

    /// What someone should look after.
    pub(super) fn problem(&self) -> Option<String> {
        let gain = self.gain().filter(|gain| gain.high < 0.0 && !self.has_left())?;
        let alone = match self {
            Beside::Shadowed(shadowed) if shadowed.wish == Wish::Stuck => {
                "`[gain] leave_when_hurt` cannot be done here, because this algorithm needs every arm at every decision"
            }
            _ => "`[gain] leave_when_hurt = true` in its file makes it decide by its own data at once",
        };
        Some(format!(
            "federation hurts this client: by now its choices have cost between {} and {} of reward, compared with what its own \
             data alone would have chosen. Its users are not like the others': {alone}; an algorithm that finds clusters (hetofed, \
             fclub) would put it among its like; and `cahoots members FILE remove NUMBER --forget` at the coordinator takes its data \
             out again",
            figure(-gain.high),
            figure(-gain.low)
        ))
    }
}

impl Shadowed {
    /// What own data alone would take of these arms.
    pub(super) fn pick(&self, arms: &ArmBuffer, seat: &Seat, rng: &mut Stream) -> Result<Pick, ArmError> {
        let picked = self.kept.shadow.choose(&self.alone, arms.arm_set(seat)?, rng);
        Ok(Pick { features: arms.row(picked.arm), picked })
    }

    /// The same, with how likely each arm is.
    pub(super) fn look(
        &self,
        arms: &ArmBuffer,
        seat: &Seat,
        rng: impl Fn() -> Stream,
    ) -> Result<Looked, ArmError> {
        let (arms, shadow) = (arms.arm_set(seat)?, &self.kept.shadow);
        let picked = shadow.choose(&self.alone, arms, &mut rng());
        Ok(Looked { picked, odds: shadow.odds(&self.alone, arms, &mut rng()) })
    }

    /// The arm that is to be taken, where federation is not used any more.
    pub(super) fn insists(&self, pick: &Pick) -> Option<ArmIndex> {
        self.kept.left.map(|_| pick.picked.arm)
    }

    /// A decision was taken; gives what is to be said of it.
    pub(super) fn decided(&mut self, id: DecisionId, picked: Picked, arms: &ArmBuffer, pick: Pick) -> Picked {
        self.unkept += 1;
        if self.kept.left.is_some() {
            self.open.insert(id, pick.features);
            return pick.picked;
        }
        let taken = arms.row(picked.arm);
        self.kept.shadow.compare(&taken, &pick.features);
        self.open.insert(id, taken);
        picked
    }

    /// What is expected of these features.
    pub(super) fn expects(&self, features: &[f64]) -> f64 {
        self.kept.shadow.expects(features)
    }

    /// Someone else decided: there is nothing to compare, and something to learn.
    pub(super) fn overruled(&mut self, id: DecisionId, taken: Context) {
        self.open.insert(id, taken);
    }

    /// A reward came; `true` when that was enough to know that federation hurts, and this client leaves.
    pub(super) fn rewarded(&mut self, id: DecisionId, value: f64) -> bool {
        let Some(features) = self.open.remove(&id) else { return false };
        self.unkept += 1;
        self.kept.shadow.learn(&features, value);
        if self.wish != Wish::Leave || self.kept.left.is_some() {
            return false;
        }
        let Some(gain) = self.gain().ok().filter(|gain| gain.high < 0.0) else { return false };
        let Gain { decisions, estimate, high, .. } = gain;
        self.kept.left = Some(Left { decisions, estimate, high });
        true
    }

    /// A reward will not come.
    pub(super) fn abandoned(&mut self, id: DecisionId) {
        self.open.remove(&id);
    }

    /// Is it time to keep it? What is written of it stays a fraction of what the log takes.
    pub(super) fn is_due(&self) -> bool {
        self.unkept >= 4 * self.kept.shadow.dim() + 32
    }

    /// What was gained, or why that is not known.
    fn gain(&self) -> Result<Gain, String> {
        let Assumed { noise, .. } = self.assumed;
        if let Some(scatter) = self.kept.shadow.scatter_refutes(&self.assumed) {
            return Err(format!(
                "Not known: rewards lie {} away from a linear model of this client's own data, and noise of {} was assumed, so that an \
                 interval would be too narrow. Say how noisy they are as `[gain] noise` (0.5 for rewards that are 0 or 1), or give \
                 the federation a `reward_range`.",
                figure(scatter),
                figure(noise)
            ));
        }
        let gain = self.kept.shadow.gain(&self.assumed);
        gain.ok_or_else(|| "Not known: numbers have grown beyond what can be computed with.".into())
    }
}

/// The stream that a decision draws from: what the shadow draws is the same.
pub(super) fn stream(member: &Member, me: NodeId, id: DecisionId) -> Stream {
    member.keys.choice(me, id.number)
}
