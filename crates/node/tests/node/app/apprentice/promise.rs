//! Better and worse apps, several times, with kills in between.

use super::*;

/// The app takes the best arm, or one that is as good as all: it goes on deciding.
#[test]
fn an_app_that_is_as_good_or_better_goes_on_deciding_over_kills() {
    let mut displaced = 0;
    let runs = 12;
    for seed in 0..runs {
        let means = if seed % 2 == 0 { [0.5, 0.5, 0.5] } else { [0.7, 0.5, 0.3] };
        let folder = tempfile::tempdir().unwrap();
        let mut config = apprentice(folder.path(), seed);
        let mut client = open(&config);
        let mut world = world(seed);
        let mut taken_over = false;
        for turn in 0..600 {
            live(&client, &mut world, means, 0);
            taken_over |= in_charge(&client);
            if turn % 150 == 149 {
                config = killed(&config, &folder.path().join(format!("killed-{turn}")));
                let before = status(&client);
                client = open(&config);
                assert_eq!(status(&client), before, "what was acknowledged counts after a kill");
            }
        }
        displaced += u64::from(taken_over);
    }
    // Five of a hundred may be, and three of twelve once in 10,000 times.
    assert!(displaced < 3, "{displaced} of {runs}");
}

/// The app takes the worst arm: the client finds out, takes over, and earns more, through kills.
#[test]
fn an_app_that_is_worse_is_displaced_over_kills() {
    for seed in 100..106 {
        let means = [0.2, 0.8, 0.3];
        let folder = tempfile::tempdir().unwrap();
        let mut config = apprentice(folder.path(), seed);
        let mut client = open(&config);
        let mut world = world(seed);
        let mut turn = 0;
        while !in_charge(&client) {
            live(&client, &mut world, means, 0);
            turn += 1;
            assert!(turn < 3_000, "{:?}", status(&client));
            if turn % 40 == 0 {
                config = killed(&config, &folder.path().join(format!("killed-{turn}")));
                client = open(&config);
            }
        }
        assert!(status(&client).standing.low > 0.0 && status(&client).words.contains("in charge"));
        // In charge, over a restart too: 7 of 10 decisions are its own.
        client.stop();
        let client = open(&config);
        assert!(in_charge(&client));
        let replies: Vec<Reply> = (0..300).map(|_| live(&client, &mut world, means, 0)).collect();
        let own = replies.iter().filter(|reply| reply.decided != Decider::Baseline).count() as f64;
        // Four deviations of a binomial.
        assert!((own - 210.0).abs() < 4.0 * (300.0f64 * 0.3 * 0.7).sqrt(), "{own}");
        let best = replies.iter().filter(|reply| taken(reply) == 1).count();
        assert!(best > 150, "{best} of 300 were the best arm");
    }
}

/// The world turns: the app is better from now on, and decides again.
#[test]
fn when_the_world_turns_the_app_decides_again() {
    let folder = tempfile::tempdir().unwrap();
    let config = apprentice(folder.path(), 200);
    let client = open(&config);
    let mut world = world(200);
    while !in_charge(&client) {
        live(&client, &mut world, [0.1, 0.9, 0.1], 0);
    }
    for _ in 0..300 {
        live(&client, &mut world, [0.1, 0.9, 0.1], 0);
    }
    let mut turns = 0;
    while in_charge(&client) {
        live(&client, &mut world, [0.9, 0.1, 0.1], 0);
        turns += 1;
        assert!(turns < 1_000, "{:?}", status(&client));
    }
    let takeovers = status(&client).standing.takeovers;
    client.stop();
    assert_eq!(status(&open(&config)).standing.takeovers, takeovers);
}

/// What comes in bad faith: rewards in an order that flatters the learner. The last to come are the ones that count against it.
#[test]
fn rewards_that_come_in_a_flattering_order_do_not_displace_the_app() {
    for seed in 300..306 {
        let folder = tempfile::tempdir().unwrap();
        let client = open(&apprentice(folder.path(), seed));
        let mut world = world(seed);
        let mut late = Vec::new();
        for _ in 0..300 {
            let reply = ask(&client, 0).unwrap();
            let reward = f64::from(world.uniform() < 0.5);
            let flatters = (reply.decided != Decider::Baseline) == (reward == 1.0);
            if flatters {
                client.reward(reply.id, reward).unwrap();
            } else {
                late.push((reply.id, reward));
            }
            assert!(!in_charge(&client), "{:?}", status(&client));
        }
        for (id, reward) in late {
            client.reward(id, reward).unwrap();
        }
        let standing = status(&client).standing;
        assert!(!in_charge(&client) && standing.open == 0 && standing.differed > 30, "{standing:?}");
    }
}

/// While its app decides, the learner learns from what the app does: forced arms are learned from as any other.
#[test]
fn an_apprentice_learns_from_what_its_app_does() {
    let folder = tempfile::tempdir().unwrap();
    let client = open(&apprentice(folder.path(), 400));
    let mut world = world(400);
    // The app takes one arm, and the learner would rather see the others first: what it knows of it, it knows from the app.
    let decided: Vec<Reply> = (0..200).map(|_| live(&client, &mut world, [0.1, 0.9, 0.1], 1)).collect();
    let by_app: Vec<&Reply> = decided.iter().filter(|reply| reply.decided == Decider::Baseline).collect();
    assert!(by_app.len() > 100 && by_app.iter().all(|reply| taken(reply) == 1));
    let width = |reply: &Reply| reply.taken.interval.map(|(low, high)| high - low).unwrap();
    let (first, last) = (by_app[0], by_app[by_app.len() - 1]);
    assert!(width(last) < 0.5 * width(first), "{first:?}, {last:?}");
    let (low, high) = last.taken.interval.unwrap();
    assert!((0.5 * (low + high) - 0.9).abs() < 0.1, "{last:?}");
}
