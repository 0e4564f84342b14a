//! A learner over plain arms that never communicates.

use cahoots_core::policy::{ArmPolicy, Distribution};
use cahoots_core::{
    ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, ParamError, Setting,
    Silence, Stream, UserId,
};
use serde::{Deserialize, Serialize};

/// Counts and sums, and a policy over them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct AloneArms<P: ArmPolicy> {
    stats: ArmStats,
    policy: P,
}

impl<P: ArmPolicy> AloneArms<P> {
    /// Knows nothing yet of so many arms.
    pub fn new(arms: usize, policy: P) -> Self {
        AloneArms { stats: ArmStats::empty(arms), policy }
    }

    /// What it knows.
    pub fn stats(&self) -> &ArmStats {
        &self.stats
    }
}

impl<P: ArmPolicy> Machine for AloneArms<P> {
    type Msg = Silence;

    fn on_message(
        &mut self,
        _from: NodeId,
        message: Silence,
        _cx: &mut Cx<'_, Silence>,
    ) -> Result<(), Misbehaviour> {
        match message {}
    }
}

impl<P: ArmPolicy> Learner for AloneArms<P> {
    type Pending = ArmIndex;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ArmIndex> {
        let picked = self.policy.choose(&self.stats, arms, rng);
        picked.keeping(picked.arm)
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.policy.odds(&self.stats, arms, rng)
    }

    fn observe(&mut self, arm: ArmIndex, reward: f64, cx: &mut Cx<'_, Silence>) {
        let learned = cx.draw(|rng| self.policy.learned(reward, rng));
        self.stats.observe(arm, learned);
    }
}

/// The number of arms, where they are plain; otherwise what to use instead.
pub fn plain_arms(setting: &Setting) -> Result<usize, ParamError> {
    if setting.dim == 0 {
        return Ok(setting.arms);
    }
    Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\"); try linucb-alone"))
}

#[cfg(test)]
mod tests {
    use cahoots_core::policy::{BetaSampling, KlUcb, Moss};
    use cahoots_core::{Algorithm, Seats};

    use super::*;
    use crate::exp3_alone::Exp3Alone;
    use crate::kl_ucb_alone::KlUcbAlone;
    use crate::moss_alone::MossAlone;
    use crate::ts_beta_alone::TsBetaAlone;

    fn after(rewards: &[f64], policy: impl ArmPolicy) -> ArmStats {
        let mut client = AloneArms::new(2, policy);
        Cx::rehearse(NodeId(0), 1, |cx| {
            rewards.iter().for_each(|reward| client.observe(ArmIndex(1), *reward, cx));
        });
        client.stats
    }

    #[test]
    fn what_a_policy_cannot_take_is_clipped_and_a_part_of_a_success_is_a_coin() {
        let beyond = [3.0, -2.0, 0.5, 7.0];
        assert_eq!(after(&beyond, KlUcb { constant: 0.0 }).sum(ArmIndex(1)), 2.5);
        assert_eq!(after(&beyond, Moss { horizon: 9 }).sum(ArmIndex(1)), 8.5);
        let coins = after(&[0.3; 2000], BetaSampling { samples: None });
        let heads = coins.sum(ArmIndex(1));
        assert!(heads.fract() == 0.0 && (heads - 600.0).abs() < 5.0 * 420.0f64.sqrt(), "{heads}");
    }

    #[test]
    fn parameters_that_cannot_hold_are_refused_and_what_is_clipped_is_said() {
        fn check<A: Algorithm>(params: &str, setting: &Setting) -> Result<Option<(f64, f64)>, String> {
            let params = serde_json::from_str(params).unwrap();
            let valid = A::check(params, setting).map_err(|e| e.to_string())?;
            assert!(Seats::of::<A>(&valid, setting).seat(NodeId(0)).masks);
            Ok(A::clips(&valid))
        }
        let arms = Setting::k_armed(2, 4);
        let unit = Ok(Some((0.0, 1.0)));
        assert_eq!(check::<KlUcbAlone>("{}", &arms), unit);
        assert_eq!(check::<TsBetaAlone>(r#"{"samples": 8192}"#, &arms), unit);
        assert_eq!(check::<Exp3Alone>(r#"{"mixing": 1.0}"#, &arms), unit);
        assert_eq!(check::<MossAlone>("{}", &arms), Ok(None));
        for (refused, says) in [
            (check::<KlUcbAlone>(r#"{"confidence_constant": -1.0}"#, &arms), "confidence_constant: must be"),
            (check::<TsBetaAlone>(r#"{"samples": 8193}"#, &arms), "samples: must be 1 to 8192 with 4 arms"),
            (check::<TsBetaAlone>(r#"{"samples": 0}"#, &arms), "samples: must be 1 to"),
            (check::<Exp3Alone>(r#"{"mixing": 0.0}"#, &arms), "mixing: must be above 0"),
            (check::<Exp3Alone>(r#"{"pulls": 0}"#, &arms), "pulls: must be at least 1"),
            (check::<MossAlone>(r#"{"pulls": 0}"#, &arms), "pulls: must be at least 1"),
            (check::<MossAlone>("{}", &Setting::linear(2, 3, 4)), "needs plain arms"),
        ] {
            let said = refused.expect_err("refused");
            assert!(said.contains(says), "{said}");
        }
    }

    /// The most draws that are taken stay within a decision's part of the stream.
    #[test]
    fn a_decision_stays_within_its_part_of_the_stream() {
        let arms = ArmSet::plain(4).unwrap();
        let mut rng = cahoots_core::Keys::from_seed(3).choice(NodeId(0), 0);
        BetaSampling { samples: Some(8192) }.choose(&ArmStats::empty(4), arms, &mut rng);
        assert!(rng.position() < 1 << 20 && rng.position() > 1 << 18, "{} words", rng.position());
    }
}
