//! What the K-armed world promises beyond what every world must keep.

use super::*;

fn world(params: ArmsParams) -> ArmsWorld {
    params.world(1000, 5).unwrap()
}

fn matrix(rows: &[&[f64]]) -> Means {
    Means::Rows(rows.iter().map(|row| row.to_vec()).collect())
}

#[test]
fn shapes_follow_from_the_means() {
    let homogeneous = world(ArmsParams { means: matrix(&[&[0.1, 0.2, 0.3]]), ..Default::default() });
    assert_eq!((homogeneous.setting.users, homogeneous.setting.arms), (10, 3));
    let means = matrix(&[&[0.1, 0.2], &[0.3, 0.0]]);
    let mut own = world(ArmsParams { means, ..Default::default() });
    assert_eq!((own.setting.users, own.setting.arms, own.setting.dim), (2, 2, 0));
    let pull = own.pull(1, UserId(1), &ArmBuffer::default(), ArmIndex(1));
    assert_eq!((pull.expected, pull.best), (0.0, 0.3));
    let mut arms = ArmBuffer::default();
    own.offer(1, UserId(0), &mut arms);
    assert_eq!(arms.plain, 2);
}

#[test]
fn the_noise_an_algorithm_is_told() {
    let told = |rewards, reward_noise| {
        world(ArmsParams { rewards, reward_noise, ..Default::default() }).setting.reward_noise
    };
    assert_eq!(told(Rewards::Bernoulli, None), 0.5);
    assert_eq!(told(Rewards::Gaussian, None), 1.0);
    assert_eq!(told(Rewards::Gaussian, Some(0.2)), 0.2);
}

#[test]
fn noise_belongs_to_the_pull_and_not_to_the_order() {
    let params = ArmsParams { rewards: Rewards::Gaussian, ..Default::default() };
    let (mut one, mut other) = (world(params.clone()), world(params));
    let none = ArmBuffer::default();
    let pull =
        |world: &mut ArmsWorld, tick, user, arm| world.pull(tick, UserId(user), &none, ArmIndex(arm)).reward;
    let first: Vec<f64> =
        [(0, 1), (0, 1), (1, 1), (0, 2)].iter().map(|&(user, arm)| pull(&mut one, 1, user, arm)).collect();
    let second: Vec<f64> =
        [(0, 2), (1, 1), (0, 1), (0, 1)].iter().map(|&(user, arm)| pull(&mut other, 9, user, arm)).collect();
    assert_eq!(first, [second[2], second[3], second[1], second[0]]);
    assert!(first[0] != first[1]);
}

#[test]
fn pulls_made_while_waiting_change_no_other_reward() {
    let params = ArmsParams { rewards: Rewards::Gaussian, ..Default::default() };
    let (mut patient, mut prompt) = (world(params.clone()), world(params));
    let none = ArmBuffer::default();
    let pull = |world: &mut ArmsWorld| world.pull(1, UserId(0), &none, ArmIndex(1)).reward;
    let first = [pull(&mut patient), pull(&mut prompt)];
    patient.set_waiting(true);
    let waited = pull(&mut patient);
    patient.set_waiting(false);
    let second = [pull(&mut patient), pull(&mut prompt)];
    assert_eq!((first[0], second[0]), (first[1], second[1]));
    assert!(waited != first[0] && waited != second[0]);
}

#[test]
fn blocks_equal_single_pulls_where_there_is_no_noise() {
    let certain = ArmsParams { means: matrix(&[&[0.0, 1.0]]), ..Default::default() };
    let noiseless = ArmsParams {
        rewards: Rewards::Gaussian,
        reward_noise: Some(0.0),
        means: matrix(&[&[0.25, -1.5]]),
        ..Default::default()
    };
    for params in [certain, noiseless] {
        let (mut singles, mut blocks) = (world(params.clone()), world(params));
        for arm in [ArmIndex(0), ArmIndex(1)] {
            for pulls in [1, 16, 17, 1000] {
                let pull = |_| singles.pull(1, UserId(3), &ArmBuffer::default(), arm).reward;
                let sum: f64 = (0..pulls).map(pull).sum();
                assert_eq!(blocks.pull_block(UserId(3), arm, pulls).unwrap().sum, sum);
            }
        }
        assert_eq!(singles.pulls, blocks.pulls);
        // Only the client that acted has counters.
        assert_eq!(blocks.pulls[0].iter().filter(|counts| !counts.is_empty()).count(), 1);
    }
}

#[test]
fn blocks_have_the_law_of_single_pulls() {
    let (blocks, pulls) = (2_000, 50u64);
    for (rewards, variance) in [(Rewards::Bernoulli, 0.3 * 0.7), (Rewards::Gaussian, 0.04)] {
        let params =
            ArmsParams { rewards, reward_noise: Some(0.2), means: matrix(&[&[0.3]]), ..Default::default() };
        let sums = |single: bool| -> Vec<f64> {
            let mut world = world(params.clone());
            let none = ArmBuffer::default();
            let mut block = |user| match single {
                true => (0..pulls).map(|_| world.pull(1, user, &none, ArmIndex(0)).reward).sum(),
                false => world.pull_block(user, ArmIndex(0), pulls).unwrap().sum,
            };
            (0..blocks).map(|_| block(UserId(0))).collect()
        };
        let (n, sum_variance) = (blocks as f64, pulls as f64 * variance);
        for single in [true, false] {
            let sums = sums(single);
            let mean = sums.iter().sum::<f64>() / n;
            let spread = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / n;
            assert!((mean - 0.3 * pulls as f64).abs() < 5.0 * (sum_variance / n).sqrt());
            // Nearly normal: the variance of a sample variance is 2 v^2 / n.
            assert!((spread - sum_variance).abs() < 5.0 * sum_variance * (2.0 / n).sqrt());
        }
    }
}

#[test]
fn objectives_change_regret_and_not_rewards() {
    let means = matrix(&[&[1.0, 0.0], &[0.0, 0.5]]);
    let pull = |objective, arm| {
        let mut world =
            world(ArmsParams { means: means.clone(), objective: Some(objective), ..Default::default() });
        world.pull(1, UserId(0), &ArmBuffer::default(), ArmIndex(arm))
    };
    let local = pull(Objective::Local, 0);
    assert_eq!((local.reward, local.expected, local.best), (1.0, 1.0, 1.0));
    let global = pull(Objective::Global, 0);
    assert_eq!((global.reward, global.expected, global.best), (1.0, 0.5, 0.5));
    let mixed = pull(Objective::Mixed(0.5), 1);
    assert_eq!((mixed.reward, mixed.expected, mixed.best), (0.0, 0.125, 0.75));
}

#[test]
fn an_algorithm_has_its_own_objective_unless_the_experiment_states_one() {
    let means = matrix(&[&[1.0, 0.0], &[0.0, 0.5]]);
    let best = |objective| {
        let mut world = world(ArmsParams { means: means.clone(), objective, ..Default::default() });
        world.pursue(0.0);
        world.pull_block(UserId(0), ArmIndex(0), 3).unwrap().best
    };
    assert_eq!(best(None), 0.5);
    assert_eq!(best(Some(Objective::Local)), 1.0);
}

#[test]
fn means_that_no_seed_changes_are_known_beforehand() {
    let given = |means, heterogeneous| {
        ArmsParams { means, heterogeneous, clients: Some(2), ..Default::default() }.fixed_means()
    };
    assert_eq!(given(matrix(&[&[0.5, 0.25]]), false), Some(vec![vec![0.5, 0.25]; 2]));
    assert_eq!(given(matrix(&[&[0.5], &[1.0]]), false), Some(vec![vec![0.5], vec![1.0]]));
    assert_eq!(given(matrix(&[&[0.5, 0.25]]), true), None);
    assert_eq!(given(Means::Law(MeansLaw::Uniform), false), None);
}

#[test]
fn means_can_come_from_a_file() {
    let file = std::env::temp_dir().join(format!("cahoots-means-{}.csv", std::process::id()));
    std::fs::write(&file, "0.1,0.9\n0.8,0.2\n").unwrap();
    let path = file.to_str().unwrap().to_string();
    let read = ArmsParams { means: Means::File { file: path }, ..Default::default() }.world(10, 1).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!((read.setting.users, read.setting.arms), (2, 2));
    assert_eq!(read.means.row(UserId(1)), [0.8, 0.2]);
}

fn population(objective: Option<Objective>, rewards: Rewards, spread: f64) -> ArmsParams {
    ArmsParams {
        means: matrix(&[&[0.9, 0.5, 0.1]]),
        clients: Some(4_000),
        rewards,
        spread: Some(spread),
        objective,
        ..Default::default()
    }
}

#[test]
fn clients_are_drawn_from_a_population_whose_means_are_exact() {
    for rewards in [Rewards::Bernoulli, Rewards::Gaussian] {
        let world = world(population(None, rewards, 0.2));
        for (arm, mean) in [0.9, 0.5, 0.1].into_iter().enumerate() {
            let own: Vec<f64> = (0..4_000).map(|user| world.means.row(UserId(user))[arm]).collect();
            let inside = own.iter().all(|own| (0.0..=1.0).contains(own));
            assert!(inside || rewards == Rewards::Gaussian, "a chance must be one");
            // Clipped to both sides alike: at most the whole spread, and centred.
            let average = own.iter().sum::<f64>() / 4_000.0;
            assert!((average - mean).abs() < 5.0 * 0.2 / 4_000f64.sqrt(), "{average}, not {mean}");
            assert!(own.iter().any(|own| *own != mean));
        }
    }
}

#[test]
fn regret_can_be_measured_against_means_that_no_client_has() {
    let mut world = world(population(Some(Objective::Population), Rewards::Gaussian, 0.5));
    // What an algorithm pursues changes nothing where the experiment states its objective.
    world.pursue(1.0);
    assert_eq!(world.setting.smallest_gap, Some(0.9 - 0.5));
    let mut differs = 0;
    for user in (0..50).map(UserId) {
        for (arm, mean) in [(0, 0.9), (1, 0.5), (2, 0.1)] {
            let pull = world.pull(1, user, &ArmBuffer::default(), ArmIndex(arm));
            assert_eq!((pull.expected, pull.best), (mean, 0.9));
            differs += u32::from(pull.sides.unwrap().local.best != 0.9);
        }
    }
    assert_eq!(differs, 150, "no client's own best is the population's");
    let sample = world.means.mixed(0.0);
    assert!(sample.row(UserId(0)).iter().all(|mean| ![0.9, 0.5, 0.1].contains(mean)));
}
