//! Members that lie: well-formed messages with numbers that no honest data can have led to. They are refused, whoever
//! sent them is told, and nothing changes; all else is merged.

use std::sync::Arc;

use crate::common::{Federation, PATIENCE, Raw, terms, until};
use cahoots_algorithms::{
    async_linucb, async_linucb_am, dp_mab, fclub, fed_elim, fed2_ucb, hetofed, pf_ucb, registry, sync_linucb,
};
use cahoots_core::drive::saved_server;
use cahoots_core::wire::payload::Shape;
use cahoots_core::{Algorithm, NodeId, Setting, snapshot, wire};
use cahoots_node::Known;
use cahoots_node::client::{Arms, Client};
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::Kind;
use prost::Message as _;

const LIAR: u32 = 2;

fn known() -> Arc<Known> {
    Arc::new(Known::new(registry::ours()))
}

/// What is sent: its name, and the payload.
type Lie = (&'static str, wire::Payload);

fn honest() -> wire::LinearStats {
    // [0.6 0.8] rewarded with 1, [1 0] with -1, [0 0.5] with 0.5.
    wire::LinearStats {
        dim: 2,
        count: 3,
        gram: vec![1.36, 0.48, 0.89],
        moment: vec![-0.4, 1.05],
        contexts: vec![],
    }
}

fn upload(stats: wire::LinearStats) -> wire::Payload {
    let upload = wire::LinearUpload { number: 1, stats: Some(stats), ..Default::default() };
    wire::Payload { shape: Some(Shape::LinearUpload(upload)) }
}

fn lie(name: &'static str, change: impl FnOnce(&mut wire::LinearStats)) -> Lie {
    let mut stats = honest();
    change(&mut stats);
    (name, upload(stats))
}

/// What nobody can have seen, whatever the scale of features and rewards.
fn lies_about_sums() -> Vec<Lie> {
    vec![
        lie("a Gram of 1e308", |s| s.gram = vec![1e308, 0.0, 1e308]),
        lie("a Gram of the largest number", |s| s.gram[0] = f64::MAX),
        lie("a Gram beyond the diagonal's", |s| s.gram[1] = 1e200),
        lie("a negative square", |s| s.gram[2] = -1.0),
        lie("a count of 2^64 - 1", |s| s.count = u64::MAX),
        lie("a count of 2^41", |s| s.count = 1 << 41),
        lie("data without a count", |s| s.count = 0),
        lie("a moment without a Gram", |s| s.gram = vec![0.0; 3]),
        lie("a moment in a direction without a Gram", |s| s.gram = vec![1.0, 0.0, 0.0]),
        lie("a moment of 1e300", |s| s.moment[0] = 1e300),
        lie("NaN in the moment", |s| s.moment[1] = f64::NAN),
        lie("infinity in the Gram", |s| s.gram[0] = f64::INFINITY),
        lie("another dimension", |s| {
            *s = wire::LinearStats { dim: 1, count: 1, gram: vec![1.0], moment: vec![1.0], contexts: vec![] };
        }),
        lie("contexts that nobody asked for", |s| s.contexts = vec![1.0, 1.0]),
    ]
}

/// What nobody can have seen where no context is longer than 1 and no reward is larger.
fn lies_about_bounded_sums() -> Vec<Lie> {
    let mut lies = lies_about_sums();
    lies.extend([
        lie("a Gram of 2^99", |s| s.gram = vec![2f64.powi(99), 0.0, 2f64.powi(99)]),
        lie("a trace above the count", |s| s.gram = vec![1.6, 0.0, 1.6]),
        lie("a moment above Cauchy and Schwarz by 2", |s| {
            (s.gram, s.moment) = (vec![1.0, 0.0, 1.0], vec![2.0 * 3f64.sqrt(), 0.0]);
        }),
        lie("a moment across its contexts", |s| {
            (s.gram, s.moment) = (vec![1.0, 1.0, 1.0], vec![0.5, -0.5]);
        }),
    ]);
    lies
}

/// What no noise of the published scale makes of what anyone can have seen.
fn lies_about_noised_sums() -> Vec<Lie> {
    vec![
        lie("a Gram of 1e308", |s| s.gram = vec![1e308, 0.0, 1e308]),
        lie("a Gram of 2^99", |s| s.gram = vec![2f64.powi(99), 0.0, 2f64.powi(99)]),
        lie("a Gram below all noise", |s| s.gram = vec![-1e6, 0.0, -1e6]),
        lie("a Gram beyond the diagonal's", |s| s.gram[1] = 1e6),
        lie("a count of 2^64 - 1", |s| s.count = u64::MAX),
        lie("a moment above all noise", |s| s.moment[0] = 1e6),
        lie("NaN", |s| s.moment[1] = f64::NAN),
    ]
}

fn means(phase: u64, values: &[f64]) -> wire::Payload {
    let arms = (0..values.len() as u32).collect();
    let values = wire::ArmValues { number: 1, phase, arms, values: values.to_vec() };
    wire::Payload { shape: Some(Shape::ArmValues(values)) }
}

fn lies_about_means() -> Vec<Lie> {
    vec![
        ("a mean of 1e300", means(1, &[1e300, 0.5, 0.5])),
        ("a mean below the interval", means(1, &[-3.0, 0.5, 0.5])),
        ("a mean above the interval", means(1, &[0.5, 0.5, 4.0])),
        ("NaN", means(1, &[f64::NAN, 0.5, 0.5])),
        ("minus infinity", means(1, &[0.5, f64::NEG_INFINITY, 0.5])),
        ("too few arms", means(1, &[0.5, 0.5])),
    ]
}

/// The server's machine, byte for byte.
fn machine<A: Algorithm>(federation: &Federation) -> Vec<u8> {
    snapshot::save(&saved_server::<A::Server>(&federation.saved()).unwrap())
}

/// Tells every lie to a new federation; then the truth, where that can be told at once.
fn unmoved<A: Algorithm>(params: &str, setting: Setting, lies: &[Lie], truth: Option<wire::Payload>) {
    let known = known();
    let patient = ServeLimits { implausible: 0, ..ServeLimits::default() };
    let federation = Federation::start_within(&known, terms(&known, A::NAME, params, setting), patient);
    let mut liar = federation.runtime.block_on(Raw::connect(&federation.url, LIAR));
    let before = machine::<A>(&federation);
    for (i, (name, payload)) in lies.iter().enumerate() {
        let bytes = payload.encode_to_vec();
        federation.runtime.block_on(liar.send(liar.own(NodeId::SERVER, i as u64 + 1, bytes)));
        until("it came", || federation.status().received + federation.status().not_merged == i as u64 + 1);
        assert_eq!(federation.status().not_merged, i as u64 + 1, "{}: {name} was taken", A::NAME);
        assert!(machine::<A>(&federation) == before, "{}: {name} changed the machine", A::NAME);
        if matches!(payload.shape, Some(Shape::LinearUpload(_))) {
            let answer = federation.runtime.block_on(refusal(&mut liar));
            assert!(!answer.reason.is_empty() && answer.number == 1, "{}: {name}: {answer:?}", A::NAME);
        }
    }
    if let Some(truth) = truth {
        let sequence = lies.len() as u64 + 1;
        federation.runtime.block_on(liar.send(liar.own(NodeId::SERVER, sequence, truth.encode_to_vec())));
        until("it came", || federation.status().received + federation.status().not_merged == sequence);
        assert_eq!(federation.status().not_merged, lies.len() as u64, "{}: the truth was refused", A::NAME);
        assert!(machine::<A>(&federation) != before, "{}: the truth changed nothing", A::NAME);
    }
    federation.stop();
}

/// The next refusal of an upload.
async fn refusal(liar: &mut Raw) -> wire::Refused {
    loop {
        let Some(Kind::Envelope(envelope)) = liar.next().await else { continue };
        let payload = wire::Payload::decode(&envelope.payload[..]).unwrap();
        if let Some(Shape::Refused(refused)) = payload.shape {
            return refused;
        }
    }
}

fn linear() -> Setting {
    Setting::linear(3, 2, 2)
}

fn bounded() -> Setting {
    linear().within(1.0, (-1.0, 1.0))
}

#[test]
fn lies_about_sums_are_refused_by_async_linucb() {
    let truth = || Some(upload(honest()));
    unmoved::<async_linucb::AsyncLinucb>("", linear(), &lies_about_sums(), truth());
    unmoved::<async_linucb::AsyncLinucb>("", bounded(), &lies_about_bounded_sums(), truth());
    let am = || Setting::linear(3, 2, 2).with_local_dims([1, 1, 1]);
    unmoved::<async_linucb_am::AsyncLinucbAm>("", am(), &lies_about_sums(), truth());
}

#[test]
fn lies_about_sums_are_refused_by_sync_linucb_and_hetofed() {
    let truth = || Some(upload(honest()));
    unmoved::<sync_linucb::SyncLinucb>("", linear(), &lies_about_sums(), truth());
    unmoved::<sync_linucb::SyncLinucb>("", bounded(), &lies_about_bounded_sums(), truth());
    unmoved::<hetofed::Hetofed>("", linear(), &lies_about_sums(), truth());
    unmoved::<hetofed::HetofedPq>("", bounded(), &lies_about_bounded_sums(), truth());
    unmoved::<hetofed::HetofedDr>("", linear(), &lies_about_sums(), truth());
    unmoved::<hetofed::HetofedE>("", bounded(), &lies_about_bounded_sums(), truth());
}

#[test]
fn lies_about_sums_are_refused_by_fclub() {
    // So short that no phase begins, which would change the machine too.
    let truth = || Some(upload(honest()));
    unmoved::<fclub::Fclub>("", linear().with_horizon(2), &lies_about_sums(), truth());
    unmoved::<fclub::FclubDc>("", bounded().with_horizon(2), &lies_about_bounded_sums(), truth());
    unmoved::<fclub::Homo>("", linear().with_horizon(2), &lies_about_sums(), truth());
    unmoved::<fclub::HomoDc>("", bounded().with_horizon(2), &lies_about_bounded_sums(), truth());
}

#[test]
fn lies_beyond_the_published_noise_are_refused() {
    let params = "dp_epsilon = 1.0\ndp_delta = 1e-5";
    unmoved::<fclub::CdpFclubDc>(
        params,
        linear().with_horizon(2),
        &lies_about_noised_sums(),
        Some(upload(honest())),
    );
    let private = "rounds = 3\ngap = 0.8\nprivacy = \"local\"\ndp_epsilon = 100.0";
    let arms = || Setting::k_armed(3, 3);
    unmoved::<dp_mab::CdpMab>(private, arms(), &lies_about_means(), Some(means(1, &[0.9, 0.4, -0.01])));
}

#[test]
fn lies_about_means_are_refused() {
    let arms = || Setting::k_armed(3, 3).with_reward_range((0.0, 1.0));
    let truth = || Some(means(1, &[1.0, 0.5, 0.0]));
    unmoved::<pf_ucb::PfUcb>("", arms(), &lies_about_means(), truth());
    unmoved::<pf_ucb::PfUcbEnhanced>("", arms(), &lies_about_means(), truth());
    unmoved::<fed_elim::FedElim>("", arms(), &lies_about_means(), truth());
    unmoved::<fed2_ucb::Fed2Ucb>("client_spread = 0.1", arms(), &lies_about_means(), truth());
    unmoved::<dp_mab::CdpMab>("privacy = \"none\"", Setting::k_armed(3, 3), &lies_about_means(), truth());
    // Where nothing is stated, what clients refuse of their apps is refused of them.
    let lies = [lies_about_means().swap_remove(0)];
    unmoved::<pf_ucb::PfUcb>("", Setting::k_armed(3, 3), &lies, Some(means(1, &[-3.0, 4.0, 1e20])));
}

fn learn(client: &Client, i: u32) {
    // One arm: what is learned does not depend on when a view comes.
    let turn = f64::from(i);
    let decision = client.decide(None, Arms::Features(&[vec![turn.cos(), turn.sin()]])).unwrap();
    client.reward(decision.id, f64::from(i % 2)).unwrap();
}

/// The others, before, while and after someone lies, end where they would have ended without it.
#[test]
fn whoever_is_honest_ends_as_if_nobody_had_lied() {
    let run = |lies: &[Lie]| {
        let known = known();
        let terms = terms(&known, "async-linucb", "ratio = 1.5", bounded());
        let federation = Federation::start(&known, terms);
        let liar = federation.runtime.block_on(Raw::connect(&federation.url, LIAR));
        let clients = [federation.client(0), federation.client(1)];
        for i in 0..40 {
            for client in &clients {
                learn(client, i);
                client.drain(PATIENCE).unwrap();
            }
            if let Some((_, payload)) = lies.get(i as usize) {
                let sequence = u64::from(i) + 1;
                let own = liar.own(NodeId::SERVER, sequence, payload.encode_to_vec());
                federation.runtime.block_on(liar.send(own));
                until("refused", || federation.status().refused == sequence);
            }
        }
        let merged = federation.merged();
        clients.into_iter().for_each(Client::stop);
        (merged, federation.stop())
    };
    let (quiet, _folder) = run(&[]);
    // Fewer than it takes to be quarantined, which sends others nothing either.
    let (lied_to, _folder) = run(&lies_about_bounded_sums()[..7]);
    assert_eq!(quiet.count, 80);
    assert_eq!(quiet, lied_to, "bit for bit");
}

/// A client refuses of its app what its coordinator would refuse of it.
#[test]
fn stated_bounds_are_kept_where_data_come_from() {
    let known = known();
    let federation = Federation::start(&known, terms(&known, "async-linucb", "ratio = 1.0", bounded()));
    let client = federation.client(0);
    let refused = client.decide(None, Arms::Features(&[vec![1.0, 0.1], vec![0.0, 1.0]])).unwrap_err();
    assert!(refused.to_string().contains("terms allow 1 (`context_norm`)"), "{refused}");
    let decision = client.decide(None, Arms::Features(&[vec![0.6, 0.8], vec![0.0, 1.0]])).unwrap();
    let refused = client.reward(decision.id, 1.5).unwrap_err();
    assert!(refused.to_string().contains("between -1 and 1"), "{refused}");
    client.reward(decision.id, 1.0).unwrap();
    client.drain(PATIENCE).unwrap();
    until("merged", || federation.merged().count == 1);
    assert_eq!(client.status().refusals.uploads, 0);
    client.stop();
    federation.stop();
}
