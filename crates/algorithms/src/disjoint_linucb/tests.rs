//! Against dense normal equations, solved by another library.

use cahoots_core::{
    Algorithm, ArmBuffer, ArmIndex, Choice, Cx, Keys, Learner, NodeId, Picked, Seats, Setting, Tiles, UserId,
};
use faer::Mat;
use faer::linalg::solvers::Solve;

use super::{DisjointLinucb, Params};

const DIM: usize = 4;

fn params() -> Params {
    serde_json::from_str("{}").unwrap()
}

/// One arm as the paper writes it: A and b.
struct Dense {
    a: Mat<f64>,
    b: Mat<f64>,
}

impl Dense {
    fn bound(&self, x: &[f64], alpha: f64) -> f64 {
        let x = Mat::from_fn(DIM, 1, |i, _| x[i]);
        let solver = self.a.partial_piv_lu();
        let (theta, inverse) = (solver.solve(&self.b), solver.solve(&x));
        (x.transpose() * theta)[(0, 0)] + alpha * (x.transpose() * inverse)[(0, 0)].sqrt()
    }

    fn learn(&mut self, x: &[f64], reward: f64) {
        for i in 0..DIM {
            self.b[(i, 0)] += reward * x[i];
            (0..DIM).for_each(|j| self.a[(i, j)] += x[i] * x[j]);
        }
    }
}

/// Arms that see one context each time, some of them masked: the same arm as the dense reference at every step, and the
/// same bound.
#[test]
fn algorithm_1_is_what_dense_normal_equations_give() {
    let setting = Setting::linear(1, DIM, 5);
    let valid = DisjointLinucb::check(params(), &setting).unwrap();
    let seat = Seats::of::<DisjointLinucb>(&valid, &setting).seat(NodeId(0));
    let mut client = DisjointLinucb::client(&valid, &seat);
    let alpha = 1.0 + (0.5 * libm::log(2.0 / 0.1)).sqrt();
    let fresh = || Dense { a: Mat::identity(DIM, DIM), b: Mat::zeros(DIM, 1) };
    let mut reference: Vec<Dense> = (0..6).map(|_| fresh()).collect();
    let keys = Keys::from_seed(9);
    let mut pulled = [0; 6];
    for t in 0..400 {
        let mut rng = keys.choice(NodeId(1), t);
        // A sixth arm joins halfway: one more than the setting says.
        let arms = if t < 200 { 5 } else { 6 };
        let x: Vec<f64> = (0..DIM).map(|_| rng.uniform() - 0.3).collect();
        let masked: Vec<bool> = (0..arms).map(|arm| arm as u64 != t % 5 && rng.below(4) == 0).collect();
        let mut offered = ArmBuffer { masked: masked.clone(), ..ArmBuffer::default() };
        offered.features.fill(DIM, (0..arms).map(|_| &x[..]));
        let set = offered.arm_set(&seat).unwrap();
        let mut alone = Tiles::new(DIM);
        (0..3).for_each(|_| alone.push(&x));
        let all = ArmBuffer { features: offered.features.clone(), ..ArmBuffer::default() };
        let open = client.choose(UserId(0), all.arm_set(&seat).unwrap(), &mut rng).picked;
        assert_eq!(client.choose_each(&alone, arms), [(open.arm, open.score.unwrap()); 3]);
        let Choice { picked: Picked { arm, score, probability, .. }, pending } =
            client.choose(UserId(0), set, &mut rng);
        let bounds: Vec<f64> = reference[..arms].iter().map(|dense| dense.bound(&x, alpha)).collect();
        let best = (0..arms).filter(|&arm| !masked[arm]).map(|arm| bounds[arm]).fold(f64::MIN, f64::max);
        assert!(!masked[arm.index()] && bounds[arm.index()] > best - 1e-9, "{t}: {arm:?} of {bounds:?}");
        assert!((score.unwrap() - bounds[arm.index()]).abs() < 1e-9, "{t}: {score:?} of {bounds:?}");
        assert_eq!(probability, Some(1.0));
        let reward = x[arm.index() % DIM] + 0.1 * rng.normal();
        reference[arm.index()].learn(&x, reward);
        Cx::rehearse(NodeId(0), t, |cx| client.observe(pending, reward, cx));
        pulled[arm.index()] += 1;
    }
    assert!(pulled.iter().all(|&times| times > 10), "{pulled:?}");
    assert_eq!(client.known(ArmIndex(5)).model_count(), pulled[5]);
}

#[test]
fn plain_arms_and_a_radius_below_zero_are_refused() {
    let refusal =
        |params: Params, setting: &Setting| DisjointLinucb::check(params, setting).unwrap_err().to_string();
    assert!(refusal(params(), &Setting::k_armed(1, 3)).contains("needs arms with features"));
    let linear = Setting::linear(1, DIM, 5);
    assert!(refusal(Params { alpha: Some(-0.1), ..params() }, &linear).contains("alpha: must be"));
    assert!(refusal(Params { failure_prob: 1.0, ..params() }, &linear).contains("failure_prob: must lie"));
}
