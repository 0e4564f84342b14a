//! What `cdp-fclub-dc` promises.

use super::*;
use cahoots_privacy::Statement;

/// The differences between what is on the wire and what was observed.
fn noise_on_the_wire(privacy: &str) -> (Vec<f64>, Vec<f64>, Miniature) {
    let params = json!({ "privacy": privacy, "dp_epsilon": 2.0, "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 400 });
    let mut federation = Miniature::new::<CdpFclubDc>(params);
    let (mut gram, mut moment) = (Vec::new(), Vec::new());
    let mut exact = LinearStats::empty(DIM);
    let mut sum = LinearStats::empty(DIM);
    for i in 0..400 {
        let x = [0.6, if i % 2 == 0 { 0.8 } else { -0.8 }];
        exact.observe(&x, 0.5);
        for upload in uploads(&federation.observe(0, x, 0.5)) {
            sum.merge(&upload);
            if upload.count > 0 {
                gram.push(sum.gram.get(1, 0) - exact.gram.get(1, 0));
                moment.push(sum.moment[0] - exact.moment[0]);
            }
        }
    }
    (gram, moment, federation)
}

#[test]
fn alg5_noise_is_in_what_is_uploaded() {
    let (gram, moment, federation) = noise_on_the_wire("analytic");
    assert!(gram.len() > 50, "{} uploads", gram.len());
    assert!(gram.iter().chain(&moment).all(|noise| noise.abs() > 1e-6), "an exact value left");
    // The sum of all uploads has the noise of at most as many nodes as there are levels.
    let fact = federation.releases.iter().find(|fact| fact.noise == Noise::Gaussian).unwrap();
    let levels = 2.0 + libm::log2(gram.len() as f64);
    for values in [&gram, &moment] {
        let square = values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
        let ratio = square / (fact.scale * fact.scale);
        assert!(ratio > 0.3 && ratio < levels, "{ratio} times the noise of a node");
    }
}

#[test]
fn without_noise_what_is_uploaded_is_what_was_observed() {
    let (gram, moment, federation) = noise_on_the_wire("none");
    assert_eq!(gram.len(), 400);
    assert!(gram.iter().chain(&moment).all(|noise| noise.abs() < 1e-9));
    assert!(federation.releases.iter().all(|fact| fact.noise == Noise::None));
}

#[test]
fn contexts_and_rewards_are_clipped_to_what_the_guarantee_assumes() {
    let mut federation =
        Miniature::new::<CdpFclubDc>(json!({ "dp_epsilon": 1e6, "dp_delta": 1e-5, "ratio": 1.0 }));
    let mut sum = LinearStats::empty(DIM);
    for _ in 0..20 {
        uploads(&federation.observe(0, [30.0, 40.0], 7.0)).iter().for_each(|upload| sum.merge(upload));
    }
    let count = sum.count as f64;
    assert!(count > 0.0);
    assert!((sum.moment[0] / count - 0.6).abs() < 0.01, "{:?}", sum.moment);
}

/// What the server sees of when things happen: for each observation, what was sent after it.
fn times(params: Value, key: u64, first: [f64; DIM]) -> Vec<usize> {
    let mut federation = Miniature::new::<CdpFclubDc>(params);
    federation.keys = Keys::from_seed(key);
    let sent = |federation: &mut Miniature, x, reward| federation.observe(0, x, reward).len();
    let mut times = vec![sent(&mut federation, first, 1.0)];
    times.extend((0..200).map(|_| sent(&mut federation, [0.6, 0.8], 0.5)));
    times
}

/// An upload is seen when it happens: neither data nor noise may move it.
#[test]
fn when_uploads_happen_says_nothing_about_data_or_noise() {
    // Downloads go by released statistics; without them, all that is sent are uploads and their receipts.
    let params = || json!({ "dp_delta": 1e-5, "upload_ratio": 1.5, "download_ratio": 1e300 });
    let expected = times(params(), 0, [1.0, 0.0]);
    assert!((5..150).contains(&expected.iter().filter(|sent| **sent > 0).count()), "{expected:?}");
    for key in 0..4 {
        for first in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]] {
            assert_eq!(times(params(), key, first), expected, "key {key}, {first:?}");
        }
    }
}

/// Local servers that fall apart release their history again: as often as was planned for, and no further.
#[test]
fn history_that_is_released_again_is_within_what_was_asked_for() {
    for (renewals, clusters) in [(0, 1), (1, 2), (5, 2)] {
        let params = json!({ "deletion": 0.5, "merge": 0.5, "dp_epsilon": 50.0, "dp_delta": 1e-5,
                             "planned_uploads": 1000, "renewals": renewals });
        let mut federation = Miniature::new::<CdpFclubDc>(params.clone());
        for _ in 0..3 {
            federation.live(150);
            federation.phase();
        }
        assert_eq!(federation.locals[0].clusters().count(), clusters, "{renewals} renewals");
        let valid = CdpFclubDc::check(serde_json::from_value(params).unwrap(), &setting()).unwrap();
        let claim = CdpFclubDc::privacy(&valid).unwrap();
        let spent = Statement::new(&claim, &federation.accountant).unwrap().epsilon;
        assert!(spent <= 50.0, "{renewals} renewals: {spent}");
        assert!(renewals > 1 || spent > 49.9, "all that was planned for is used: {spent}");
    }
}

#[test]
fn a_server_that_asks_for_more_phases_than_there_are_is_refused() {
    let setting = setting().with_horizon(20);
    let params = json!({ "dp_delta": 1e-5 });
    let valid = CdpFclubDc::check(serde_json::from_value(params).unwrap(), &setting).unwrap();
    let seat = Seating::PerHost.seat(&setting, NodeId(0));
    let mut local = CdpFclubDc::client(&valid, &seat);
    let (keys, mut positions) = (Keys::from_seed(1), Positions::default());
    let mut hear = |message| {
        let mut effects = Effects::default();
        local.on_message(
            NodeId::SERVER,
            message,
            &mut Cx::new(NodeId(0), 1, &keys, &mut positions, &mut effects),
        )
    };
    // Ticks 2, 6 and 14, and one to spare.
    let asked = (1..20).take_while(|&phase| {
        let asked = hear(FclubMsg::Begin { phase }).is_ok();
        asked && hear(FclubMsg::Merged { phase, clusters: 1, members: vec![1], renewed: false }).is_ok()
    });
    assert_eq!(asked.count(), 4);
}

#[test]
fn a_cluster_uploads_no_more_often_than_noise_was_made_for() {
    let params = json!({ "dp_delta": 1e-5, "ratio": 1.0, "planned_uploads": 7 });
    let mut federation = Miniature::new::<CdpFclubDc>(params);
    let sent: usize = (0..50).map(|_| uploads(&federation.observe(0, [0.6, 0.8], 0.5)).len()).sum();
    assert_eq!(sent, 7);
    federation.at_local(0, |local, cx| local.drain(cx));
    assert!(uploads(&federation.deliver()).is_empty());
}

#[test]
fn the_claim_says_what_is_not_protected() {
    let claim = |params| {
        let valid = CdpFclubDc::check(serde_json::from_value(params).unwrap(), &setting()).unwrap();
        CdpFclubDc::privacy(&valid)
    };
    let Some(Claim { epsilon, delta, not_protected, .. }) = claim(json!({ "dp_delta": 1e-6 })) else {
        panic!("no claim")
    };
    assert_eq!((epsilon, delta), (1.0, 1e-6));
    for gap in ["alike", "history", "counts", "local server", "person"] {
        assert!(not_protected.iter().any(|text| text.contains(gap)), "{gap}");
    }
    let authors = claim(json!({ "dp_delta": 1e-5, "fidelity": "authors" }));
    assert_eq!(authors, None, "decides with exact data that is not released");
    let valid = FclubDc::check(serde_json::from_value(json!({})).unwrap(), &setting()).unwrap();
    assert_eq!(FclubDc::privacy(&valid), None);
}
