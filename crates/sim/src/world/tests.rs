//! What every world must keep, whatever its law.

use cahoots_core::{ArmBuffer, ArmIndex, NodeId, Seat, Seating, Tiles, UserId};

use super::clustered::{Assignment, ClusteredParams};
use super::pool::PoolKind;
use super::{World, WorldKind as _};
use crate::environment::Environment;
use crate::worlds::Worlds;

/// All arms of a set of tiles.
pub(super) fn rows(tiles: &Tiles) -> Vec<Vec<f64>> {
    let row = |k| {
        let mut row = vec![0.0; tiles.dim()];
        tiles.row_into(k, &mut row);
        row
    };
    (0..tiles.len()).map(row).collect()
}

/// The seat of a user that has a learner of its own.
pub(super) fn seat(world: &dyn World, user: u32) -> Seat {
    Seating::PerUser.seat(world.setting(), NodeId(user))
}

/// One of each, and of each pool.
fn environments() -> Vec<Environment> {
    let pools = [("linear", "uniform"), ("clustered", "all"), ("split", "uniform")];
    let pools = pools.into_iter().flat_map(|(kind, arrivals)| {
        let world = |pool| serde_json::json!({ "kind": kind, "pool": pool, "arrivals": arrivals });
        ["ball", "gaussian", "authors"].map(world)
    });
    let others = [
        serde_json::json!({ "kind": "users" }),
        serde_json::json!({ "kind": "arms", "arrivals": "all" }),
        serde_json::json!({ "kind": "arms", "arrivals": "all", "rewards": "gaussian", "heterogeneous": true }),
        serde_json::json!({ "kind": "split", "shared_features": true }),
    ];
    // Behind the others, whose worlds are on record together.
    let cubes =
        ["linear", "clustered", "split"].map(|kind| serde_json::json!({ "kind": kind, "pool": "cube" }));
    pools.chain(others).chain(cubes).map(|value| serde_json::from_value(value).unwrap()).collect()
}

#[test]
fn an_offer_depends_on_seed_tick_and_user_alone() {
    for environment in environments() {
        let offers = |seed: u64, before: &[(u64, u32)]| {
            let (mut world, _) = Worlds::ours().build(&environment, 100, seed).unwrap();
            let (mut arms, mut other) = (ArmBuffer::default(), ArmBuffer::default());
            for &(tick, user) in before {
                world.offer(tick, UserId(user), &mut other);
                world.pull(tick, UserId(user), &other, ArmIndex(1));
            }
            world.offer(7, UserId(3), &mut arms);
            // Someone else in between does not change what is pulled.
            world.offer(7, UserId(4), &mut other);
            let pull = world.pull(7, UserId(3), &arms, ArmIndex(2));
            (rows(&arms.features), rows(&arms.local), arms.plain, pull)
        };
        let alone = offers(1, &[]);
        assert_eq!(alone, offers(1, &[(6, 3), (7, 2), (7, 3), (8, 3)]), "{environment:?}");
        assert_ne!(alone, offers(2, &[]), "{environment:?}");
    }
}

#[test]
fn noise_does_not_depend_on_the_arm() {
    for environment in environments() {
        let (mut world, _) = Worlds::ours().build(&environment, 100, 1).unwrap();
        if world.setting().dim == 0 || environment.kind() == "users" {
            continue;
        }
        let mut arms = ArmBuffer::default();
        world.offer(7, UserId(3), &mut arms);
        let mut noise = |arm| {
            let pull = world.pull(7, UserId(3), &arms, ArmIndex(arm));
            pull.reward - pull.expected
        };
        assert!((noise(0) - noise(5)).abs() < 1e-14);
    }
}

#[test]
fn the_best_arm_has_no_regret_and_none_is_better() {
    for environment in environments() {
        let (mut world, mut arrivals) = Worlds::ours().build(&environment, 100, 1).unwrap();
        let count = world.setting().arms as u32;
        let (mut arms, mut users) = (ArmBuffer::default(), Vec::new());
        for tick in 1..=20 {
            arrivals.at(tick, &mut users);
            assert_eq!(users.len(), arrivals.per_tick());
            for &user in &users {
                world.offer(tick, user, &mut arms);
                assert!(arms.arm_set(&seat(world.as_ref(), user.0)).is_ok());
                let pulls = (0..count).map(|arm| world.pull(tick, user, &arms, ArmIndex(arm)));
                let pulls: Vec<_> = pulls.collect();
                assert!(pulls.iter().all(|pull| pull.expected <= pull.best && pull.reward.is_finite()));
                assert!(pulls.iter().any(|pull| pull.expected == pull.best));
            }
        }
    }
}

#[test]
fn users_meet_different_arms() {
    for environment in environments() {
        let (mut world, _) = Worlds::ours().build(&environment, 100, 1).unwrap();
        if world.setting().dim == 0 {
            continue;
        }
        let mut first = |tick, user| {
            let mut arms = ArmBuffer::default();
            world.offer(tick, UserId(user), &mut arms);
            rows(&arms.features)
        };
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
        assert_ne!(first(1, 2), first(2, 1));
    }
}

#[test]
fn only_worlds_without_features_pull_in_blocks() {
    for environment in environments() {
        let (mut world, _) = Worlds::ours().build(&environment, 100, 1).unwrap();
        let block = world.pull_block(UserId(0), ArmIndex(0), 3);
        assert_eq!(block.is_some(), environment.kind() == "arms");
        assert_eq!(world.has_blocks(), block.is_some());
    }
}

/// A number that follows from every bit of what these worlds do.
fn hash_of(environments: &[Environment]) -> u64 {
    let mut hash = 0u64;
    let mut add =
        |value: f64| hash = (hash ^ value.to_bits()).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    for environment in environments {
        let (mut world, mut arrivals) = Worlds::ours().build(environment, 100, 1).unwrap();
        let (mut arms, mut users) = (ArmBuffer::default(), Vec::new());
        for tick in 1..=20 {
            arrivals.at(tick, &mut users);
            for &user in &users {
                world.offer(tick, user, &mut arms);
                rows(&arms.features).concat().into_iter().for_each(&mut add);
                rows(&arms.local).concat().into_iter().for_each(&mut add);
                let pull = world.pull(tick, user, &arms, ArmIndex(0));
                [f64::from(user.0), pull.reward, pull.expected, pull.best].into_iter().for_each(&mut add);
            }
        }
    }
    hash
}

#[test]
fn every_host_meets_the_same_worlds() {
    let all = environments();
    let (settled, cubes) = all.split_at(all.len() - 3);
    assert_eq!(hash_of(settled), 13_330_610_145_900_339_604);
    assert_eq!(hash_of(cubes), 11_112_830_969_726_760_695);
}

#[test]
fn clusters_that_drift_turn_together() {
    // One arm that all are offered: what it is worth to a cluster follows from where the cluster is.
    let params = ClusteredParams {
        clients: 2,
        clusters: Some(2),
        assignment: Assignment::Even,
        pool: PoolKind::Gaussian,
        dim: 2,
        arms: 1,
        drift: 0.25,
        ..Default::default()
    };
    let (mut world, _) = params.build(10_000, 3).unwrap();
    let (mut still, _) = ClusteredParams { drift: 0.0, ..params.clone() }.build(10_000, 3).unwrap();
    let angle = |world: &mut dyn World, user: u32, tick| {
        let mut arms = ArmBuffer::default();
        world.offer(tick, UserId(user), &mut arms);
        let row: Vec<f64> = arms.features.row(0).collect();
        let worth = world.pull(tick, UserId(user), &arms, ArmIndex(0)).expected;
        (row, worth)
    };
    for tick in [1u64, 2001, 9001] {
        let turn = 0.25 * (tick - 1) as f64 / 1000.0;
        for user in 0..2 {
            let ((row, worth), (same, before)) =
                (angle(world.as_mut(), user, tick), angle(still.as_mut(), user, tick));
            assert_eq!(row, same);
            // In the plane, worth is the cosine of the angle between; on which side it is, is not seen.
            let then = before.acos();
            let near = [then + turn, then - turn].iter().any(|angle| (worth - angle.cos()).abs() < 1e-9);
            assert!(near, "{tick}: {worth} from {before} by {turn}");
        }
    }
    assert_eq!(ClusteredParams { drift: -0.1, ..params.clone() }.check().unwrap_err().key, "drift");
}
