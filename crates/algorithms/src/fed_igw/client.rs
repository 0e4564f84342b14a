//! The client of fed-igw.

use std::sync::Arc;

use cahoots_core::policy::{Base, Distribution, Leaning, LinearModel, LinearPolicy, Mixture, Rule};
use cahoots_core::{
    ArmSet, Choice, Context, Cx, Exchanged, Fact, Learner, LinearStats, Machine, Misbehaviour, NodeId, Seat,
    Stream, Unprotected, UserId, View,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use super::rules::{Epochs, Gamma};
use crate::kit::linear::{LinearMsg, Signal};

/// What a decision keeps until its reward comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// Features of the chosen arm.
    pub context: Context,
    /// The epoch whose policy chose it.
    pub epoch: u64,
}

/// Draws by the epoch's model, which its own data do not move, and collects for the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    server: NodeId,
    ridge: f64,
    policy: LinearPolicy,
    epsilon: f64,
    gamma: Gamma,
    epochs: Epochs,
    /// The epoch's model, and uploads that are on their way.
    exchanged: Exchanged,
    /// Observed and not uploaded.
    pending: Option<LinearStats>,
    epoch: u64,
    /// Rewards of this epoch's own decisions.
    rewarded: u64,
    /// It has said that the epoch is over for it, or was asked for what it had.
    done: bool,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        Client {
            server: seat.server,
            ridge: valid.linear.ridge,
            policy: valid.linear.policy,
            epsilon: valid.epsilon,
            gamma: valid.gamma,
            epochs: valid.epochs,
            exchanged: Exchanged::new(valid.linear.nothing.clone()),
            pending: None,
            epoch: 1,
            rewarded: 0,
            done: false,
        }
    }

    /// Draws by another gamma from now on, and is done with an epoch after another number of rewards.
    pub(super) fn change(&mut self, valid: &Valid) {
        (self.policy, self.gamma, self.epochs) = (valid.linear.policy, valid.gamma, valid.epochs);
    }

    /// The model that it draws by.
    pub fn view(&self) -> &Arc<View> {
        self.exchanged.view()
    }

    /// The epoch that it is in.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The epoch's policy for these arms: inverse-gap weighting with gamma_m.
    fn policy(&self, arms: ArmSet<'_>) -> LinearPolicy {
        let gamma = self.gamma.of(self.epoch, self.view().stats().count, arms.open());
        let leaning = Leaning::InverseGap { weight: gamma, exponent: 0.0 };
        let mixture = Mixture { base: Base::Estimates(leaning), epsilon: self.epsilon };
        LinearPolicy { rule: Rule::Drawn(mixture), ..self.policy }
    }

    fn model(&self) -> LinearModel<'_, impl FnOnce() -> LinearStats> {
        let view = self.view();
        LinearModel {
            factor: view.factor(self.ridge),
            count: view.stats().count,
            stats: || view.stats().clone(),
        }
    }

    fn say_if_over(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if !self.done && self.rewarded >= self.epochs.length(self.epoch) {
            self.done = true;
            cx.send(self.server, LinearMsg::signal(Signal::Request, self.epoch));
        }
    }

    fn upload(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let nothing = || self.exchanged.view().stats().emptied();
        let exact = self.pending.take().unwrap_or_else(nothing);
        let kept = (exact.count > 0).then(|| exact.clone());
        let stats = cx.release(&mut Unprotected, exact);
        let number = self.exchanged.upload(kept);
        cx.send(self.server, LinearMsg::Upload { number, stats });
    }

    fn download(&mut self, view: Arc<View>, merged: u64) -> Result<(), Misbehaviour> {
        self.exchanged.check_number(merged)?;
        let present = self.view();
        view.stats().check_shape(present.stats().dim(), !present.stats().contexts.is_empty())?;
        if view.version() < present.version() {
            return Ok(());
        }
        view.check(self.ridge)?;
        self.exchanged.download(view, merged);
        Ok(())
    }

    fn begin(&mut self, epoch: u64, cx: &mut Cx<'_, LinearMsg>) {
        if epoch > self.epoch {
            (self.epoch, self.rewarded) = (epoch, 0);
        }
        if epoch == self.epoch {
            // Where it is told of its own epoch once more, what it said may not have been heard.
            self.done = false;
            self.say_if_over(cx);
        }
    }
}

impl Machine for Client {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            LinearMsg::Download { view, merged } => self.download(view, merged),
            LinearMsg::Signal { signal: Signal::Phase, number } => {
                self.begin(number, cx);
                Ok(())
            }
            LinearMsg::Signal { signal: Signal::Ask, .. } => {
                self.done = true;
                self.upload(cx);
                Ok(())
            }
            LinearMsg::Refused { number, reason } => {
                let observations = self.exchanged.refused(number)?;
                cx.report(Fact::Refused { observations, reason });
                if observations > 0 {
                    // Whoever asked waits for an answer all the same.
                    self.upload(cx);
                }
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }
}

impl Learner for Client {
    type Pending = Taken;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Taken> {
        let picked = self.policy(arms).choose(self.model(), arms, rng);
        picked.keeping(Taken { context: arms.context(picked.arm), epoch: self.epoch })
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.policy(arms).distribution(self.model(), arms, rng)
    }

    fn drain(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if self.unsent() > 0 {
            self.upload(cx);
        }
    }

    fn unsent(&self) -> u64 {
        self.pending.as_ref().map_or(0, |pending| pending.count)
    }

    fn observe(&mut self, taken: Taken, reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        let nothing = || self.exchanged.view().stats().emptied();
        self.pending.get_or_insert_with(nothing).observe(&taken.context, reward);
        if taken.epoch == self.epoch {
            self.rewarded += 1;
            self.say_if_over(cx);
        }
    }
}
