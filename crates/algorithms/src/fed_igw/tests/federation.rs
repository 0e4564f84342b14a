//! Whole federations in step.

use std::collections::VecDeque;

use super::*;

/// What an arm pays on average.
fn worth(x: [f64; DIM]) -> f64 {
    0.8 * x[0] + 0.4 * x[1]
}

/// A decision and what came of it.
struct Seen {
    epoch: u64,
    x: [f64; DIM],
    reward: f64,
    propensity: f64,
}

/// Everything that is sent arrives at once and in order.
struct Federation {
    server: Server,
    clients: Vec<Client>,
    uploads: usize,
    downloads: usize,
}

impl Federation {
    fn new(params: serde_json::Value, clients: u32) -> Federation {
        let valid = valid(params);
        let clients: Vec<Client> = (0..clients).map(|id| client(&valid, id)).collect();
        Federation { server: server(&valid, clients.len() as u32), clients, uploads: 0, downloads: 0 }
    }

    /// One decision of each client; what each observed.
    fn tick(&mut self, now: u64) -> Vec<Seen> {
        let (arms, keys) = (arms(), Keys::from_seed(5));
        let mut seen = Vec::new();
        for id in 0..self.clients.len() {
            let node = NodeId(id as u32);
            let client = &mut self.clients[id];
            let mut rng = keys.choice(node, now);
            let choice = client.choose(UserId(node.0), ArmSet::featured(&arms).unwrap(), &mut rng);
            let mut x = [0.0; DIM];
            arms.row_into(choice.arm().index(), &mut x);
            let reward = worth(x) + 0.1 * Keys::from_seed(6).choice(node, now).normal();
            let propensity = choice.picked.probability.unwrap();
            seen.push(Seen { epoch: client.epoch(), x, reward, propensity });
            let sent = step(client, now, |c, cx| c.observe(choice.pending, reward, cx));
            self.deliver(node, sent, now);
        }
        seen
    }

    fn deliver(&mut self, from: NodeId, sent: Vec<(NodeId, LinearMsg)>, now: u64) {
        let mut queue: VecDeque<_> = sent.into_iter().map(|(to, message)| (from, to, message)).collect();
        while let Some((from, to, message)) = queue.pop_front() {
            self.uploads += usize::from(matches!(message, LinearMsg::Upload { .. }));
            self.downloads += usize::from(matches!(message, LinearMsg::Download { .. }));
            let sent = if to == NodeId::SERVER {
                step(&mut self.server, now, |s, cx| s.on_message(from, message, cx).unwrap())
            } else {
                step(&mut self.clients[to.index()], now, |c, cx| c.on_message(from, message, cx).unwrap())
            };
            queue.extend(sent.into_iter().map(|(next, message)| (to, next, message)));
        }
    }
}

#[test]
fn the_model_of_an_epoch_is_one_central_regression_on_what_all_clients_observed_in_the_epoch_before() {
    for (data, clients) in [("epoch", 3), ("all", 3), ("epoch", 1)] {
        let mut federation = Federation::new(json!({ "data": data, "ridge": 0.3 }), clients);
        let mut seen = Vec::new();
        for now in 1..=30 {
            seen.extend(federation.tick(now));
        }
        // 2 + 4 + 8 + 16 decisions: the fifth epoch has begun with the last of them.
        let of_before = |epoch: u64| if data == "all" { epoch <= 4 } else { epoch == 4 };
        let mut central = LinearStats::empty(DIM);
        for seen in seen.iter().filter(|seen| of_before(seen.epoch)) {
            central.observe(&seen.x, seen.reward);
        }
        let expected = View::new(1, central);
        let (expected, count) = (expected.factor(0.3).theta(), expected.stats().count);
        for client in &federation.clients {
            assert_eq!(client.epoch(), 5);
            assert_eq!(client.view().stats().count, count);
            assert_eq!(count, u64::from(clients) * if data == "all" { 30 } else { 16 });
            let found = client.view().factor(0.3).theta();
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9, "{data}: {found} against {expected}");
            }
        }
    }
}

#[test]
fn synchronous_clients_upload_and_download_once_an_epoch_and_epochs_are_as_many_as_the_logarithm() {
    let mut federation = Federation::new(json!({}), 3);
    for now in 1..=2046 {
        federation.tick(now);
        // 2 + 4 + ... + 2^m = 2^(m+1) - 2
        let epochs = (now + 2).ilog2() as usize - 1;
        assert_eq!((federation.uploads, federation.downloads), (3 * epochs, 3 * epochs), "{now}");
    }
    assert_eq!(federation.server.epoch(), 11);
    assert_eq!(federation.server.observations(), Some(3 * 2046));
}

/// What inverse propensities rest on, over a run whose policy changes eleven times: less the truth, each decision's weighted
/// reward has the mean 0 given all before it, so that the sum over the root of the sum of squares is about standard normal.
#[test]
fn inversely_weighted_rewards_of_a_run_are_what_uniform_choices_would_have_earned() {
    let mut federation = Federation::new(json!({}), 3);
    let arms = arms();
    let mut rows = [[0.0; DIM]; ARMS];
    rows.iter_mut().enumerate().for_each(|(arm, row)| arms.row_into(arm, row));
    let uniform = rows.iter().map(|row| worth(*row)).sum::<f64>() / ARMS as f64;
    let (mut sum, mut squares, mut plain, mut least) = (0.0, 0.0, 0.0, 1.0f64);
    for now in 1..=4094 {
        for seen in federation.tick(now) {
            let excess = seen.reward / (ARMS as f64 * seen.propensity) - uniform;
            sum += excess;
            squares += excess * excess;
            plain += seen.reward - uniform;
            least = least.min(seen.propensity);
        }
    }
    let decisions = 3.0 * 4094.0;
    assert!(least < 0.02 && federation.server.epoch() == 12, "{least}: there is something to weigh");
    // 0.999 of a normal law.
    assert!(sum.abs() < 3.29 * squares.sqrt(), "{} of {}", sum / decisions, squares.sqrt() / decisions);
    // Unweighted they are another policy's: the test can fail.
    assert!(plain > 3.29 * squares.sqrt(), "{}", plain / decisions);
}
