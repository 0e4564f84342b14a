//! What is the same in other words.

use cahoots_core::{Algorithm, ArmBuffer, Choice, Cx, Keys, Learner, NodeId, Picked, Seats, Setting, UserId};
use serde_json::{Value, json};

use super::{EpsilonGreedy, Greedy, Igw, Softmax};
use crate::linucb_alone::LinucbAlone;

const DIM: usize = 3;

/// Picks over many steps, each reward a function of what was picked.
fn picks<A: Algorithm>(params: Value, dim: usize, mask: bool) -> Vec<Picked> {
    let setting = if dim > 0 { Setting::linear(1, dim, 4) } else { Setting::k_armed(1, 4) };
    let valid = A::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
    let seat = Seats::of::<A>(&valid, &setting).seat(NodeId(0));
    let mut client = A::client(&valid, &seat);
    let keys = Keys::from_seed(4);
    let one = |t: u64| {
        let mut world = keys.choice(NodeId(1), t);
        let rows: Vec<f64> = (0..4 * dim).map(|_| world.uniform()).collect();
        let masked = if mask { (0..4).map(|arm| arm == t % 4).collect() } else { Vec::new() };
        let mut arms = ArmBuffer { plain: 4, masked, ..ArmBuffer::default() };
        if dim > 0 {
            arms.features.fill(dim, rows.chunks(dim));
        }
        let set = arms.arm_set(&seat).unwrap();
        let Choice { picked, pending } = client.choose(UserId(0), set, &mut keys.choice(NodeId(0), t));
        let reward = 0.2 * picked.arm.index() as f64 + world.uniform();
        Cx::rehearse(NodeId(0), t, |cx| client.observe(pending, reward, cx));
        picked
    };
    (0..300).map(one).collect()
}

/// Without a radius LinUCB is greedy: another path through the same code comes to the same arms.
#[test]
fn greedy_is_linucb_without_a_radius() {
    for mask in [false, true] {
        let greedy = picks::<Greedy>(json!({}), DIM, mask);
        let linucb = picks::<LinucbAlone>(json!({ "radius": { "fixed": 0.0 } }), DIM, mask);
        assert!(greedy.iter().zip(&linucb).all(|(a, b)| (a.arm, a.probability) == (b.arm, b.probability)));
        assert!(greedy.iter().all(|picked| picked.probability == Some(1.0)));
    }
}

/// At their ends, they are each other.
#[test]
fn extremes_meet() {
    let arms = |picks: Vec<Picked>| picks.into_iter().map(|picked| picked.arm).collect::<Vec<_>>();
    for dim in [0, DIM] {
        let greedy = arms(picks::<Greedy>(json!({}), dim, true));
        assert_eq!(arms(picks::<EpsilonGreedy>(json!({ "epsilon": 0.0 }), dim, true)), greedy);
        assert_eq!(arms(picks::<Softmax>(json!({ "temperature": 1e-12 }), dim, true)), greedy);
        let sharp = json!({ "gap_weight": 1e18, "gap_exponent": 0.0 });
        assert_eq!(arms(picks::<Igw>(sharp, dim, true)), greedy);
        // As many as can be chosen, once each was pulled.
        let flat = picks::<Igw>(json!({ "gap_weight": 0.0 }), dim, true);
        assert!(flat[20..].iter().all(|picked| (picked.probability.unwrap() - 1.0 / 3.0).abs() < 1e-12));
    }
}

/// Inverse propensities are right on average: 1 / p of what was picked comes to the number of arms.
#[test]
fn inverse_probabilities_average_to_the_number_of_arms() {
    for dim in [0, DIM] {
        for picks in [
            picks::<EpsilonGreedy>(json!({ "epsilon": 0.4 }), dim, false),
            picks::<Softmax>(json!({ "temperature": 0.5, "epsilon": 0.1 }), dim, false),
            picks::<Igw>(json!({ "gap_weight": 3.0 }), dim, false),
        ] {
            // Arms without features are first tried, each for certain.
            let late = picks[8..].iter().map(|picked| 1.0 / picked.probability.unwrap() - 4.0);
            let (sum, squares) = late.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
            assert!(squares > 0.0 && sum * sum < 16.0 * squares, "{sum} with spread {}", f64::sqrt(squares));
        }
    }
}

#[test]
fn keys_out_of_range_are_refused() {
    fn refusal<A: Algorithm>(params: Value) -> [String; 2] {
        [Setting::linear(1, DIM, 4), Setting::k_armed(1, 4)].map(|setting| {
            let params = serde_json::from_value(params.clone()).unwrap();
            A::check(params, &setting).map(drop).expect_err("refused").to_string()
        })
    }
    for (refusals, key) in [
        (refusal::<Greedy>(json!({ "ridge": 0.0 })), "ridge"),
        (refusal::<EpsilonGreedy>(json!({ "epsilon": 1.5 })), "epsilon"),
        (refusal::<Softmax>(json!({ "temperature": 0.0 })), "temperature"),
        (refusal::<Igw>(json!({ "gap_weight": -1.0 })), "gap_weight"),
        (refusal::<Igw>(json!({ "gap_exponent": 2.0 })), "gap_exponent"),
    ] {
        assert!(refusals.iter().all(|said| said.starts_with(key)), "{refusals:?}");
    }
}
