//! Stated probabilities against frequencies, and rankings whose probabilities add up.

use cahoots_core::homogeneity::chi_square::survival;

use super::*;

/// An apprentice of this policy that has learned a little; from then on its model stays as it is.
fn taught(folder: &Path, policy: &str) -> Client {
    let usual = apprentice(folder, 11);
    let setting = usual.terms.as_ref().unwrap().setting.clone();
    let params = format!("upload_ratio = inf\n{policy}").parse().unwrap();
    let terms = Terms::new(&known(), "async-linucb", &params, setting, 11).unwrap();
    let client = open(&ClientConfig { terms: Some(terms), ..usual });
    let mut world = world(11);
    for turn in 0..30 {
        live(&client, &mut world, [0.3, 0.5, 0.6], turn % 3);
    }
    client
}

/// What is stated is how often it comes, for policies that draw and for those that do not; arms that cannot come do not.
#[test]
fn stated_probabilities_are_frequencies() {
    for (policy, baseline) in
        [("policy = \"softmax\"\ntemperature = 0.3", 0), ("policy = \"igw\"\nepsilon = 0.1", 1), ("", 0)]
    {
        let folder = tempfile::tempdir().unwrap();
        let client = taught(folder.path(), policy);
        let decisions = 3_000;
        let (mut times, mut stated) = ([0u32; 3], [None; 3]);
        let mut own = 0u32;
        for _ in 0..decisions {
            let reply = ask(&client, baseline).unwrap();
            let (arm, probability) = (taken(&reply), reply.taken.probability.expect("it is known"));
            times[arm] += 1;
            own += u32::from(reply.decided != Decider::Baseline);
            // What is known does not change, and so neither do the odds.
            let before: f64 = *stated[arm].get_or_insert(probability);
            assert_eq!(before.to_bits(), probability.to_bits(), "{policy}");
            if reply.decided == Decider::Baseline {
                assert_eq!(arm, baseline as usize);
            }
        }
        let share = f64::from(own) / f64::from(decisions);
        assert!(
            (share - 0.3).abs() < 4.0 * (0.3f64 * 0.7 / f64::from(decisions)).sqrt(),
            "{policy}: {share}"
        );
        let all: f64 = stated.iter().flatten().sum();
        assert!((all - 1.0).abs() < 1e-12, "{policy}: {stated:?} add up to {all}");
        let expected = stated.map(|p| p.unwrap_or(0.0) * f64::from(decisions));
        let possible = expected.iter().filter(|expected| **expected > 0.0).count();
        let statistic: f64 = times
            .iter()
            .zip(expected)
            .filter(|(_, expected)| *expected > 0.0)
            .map(|(times, expected)| {
                (f64::from(*times) - expected) * (f64::from(*times) - expected) / expected
            })
            .sum();
        let p = survival(statistic, (possible - 1) as f64, 0.0);
        assert!(p > 1e-4, "{policy}: {times:?} against {expected:?}, p = {p}");
    }
}

/// A ranking begins with what was taken, says of every arm how likely it was, and all of that adds up to 1.
#[test]
fn rankings_add_up_with_the_coin_in_them() {
    for policy in ["policy = \"softmax\"\ntemperature = 0.3", "", "policy = \"lints\""] {
        let folder = tempfile::tempdir().unwrap();
        let client = taught(folder.path(), policy);
        let rows = ARMS.map(|row| row.to_vec());
        let mut deciders = std::collections::BTreeSet::new();
        for turn in 0..40 {
            let baseline = ArmRef::Position(turn % 3);
            let ask = Ask { top: 3, baseline: Some(&baseline), ..Ask::of(Arms::Features(&rows)) };
            let reply = client.ask(&ask).unwrap();
            let ranking = reply.ranking.as_ref().unwrap();
            assert_eq!(ranking[0].arm, reply.taken.arm);
            assert_eq!(ranking[0].probability, reply.taken.probability);
            assert_eq!(ranking[0].score, reply.taken.score);
            deciders.insert(reply.decided == Decider::Baseline);
            if policy.contains("lints") {
                // Who cannot tell how likely its picks are cannot tell with a coin either.
                assert_eq!(reply.taken.probability, None);
                continue;
            }
            let all: f64 = ranking.iter().map(|ranked| ranked.probability.unwrap()).sum();
            assert!((all - 1.0).abs() < 1e-12, "{ranking:?}");
            let of_baseline = ranking.iter().find(|ranked| ranked.arm == baseline).unwrap();
            assert!(of_baseline.probability.unwrap() >= 0.7, "{ranking:?}");
        }
        assert_eq!(deciders.len(), 2, "{policy}: both decide at times");
    }
}
