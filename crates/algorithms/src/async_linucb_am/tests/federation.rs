//! Whole federations: what is learned, what is sent, and what never is.

use cahoots_core::policy::pick;
use cahoots_core::{Factor, Message, wire};
use serde_json::json;

use super::*;

#[test]
fn eq8_adds_two_upper_confidence_bounds_with_lemma_33s_radii() {
    let setting = setting(3, &[2]);
    let mut rng = random(11);
    let mut client = client(json!({ "ratio": f64::MAX }), &setting, 0);
    for _ in 0..30 {
        let (global, local) = (vector(&mut rng, 3), vector(&mut rng, 2));
        let reward = 0.7 * global[0] - 0.5 * local[1] + 0.1 * rng.normal();
        observe(&mut client, &global, &local, reward);
    }
    assert!(!client.is_warming_up());
    let bound = |stats: &LinearStats, x: &[f64]| {
        let factor = Factor::of(stats.gram.packed(), &stats.moment, RIDGE).unwrap();
        let (mean, width2) = factor.mean_and_width2(x);
        let gain = factor.log_det() - stats.dim() as f64 * libm::log(RIDGE);
        // (sigma + 2) sqrt(log det V(lambda) / det lambda I + 2 log 1/delta) + sqrt(lambda)
        let radius = (0.1 + 2.0) * (gain + 2.0 * libm::log(10.0)).sqrt() + RIDGE.sqrt();
        mean + radius * width2.sqrt()
    };
    let (global, own) = (client.known().total(), client.own().total());
    for _ in 0..200 {
        let arms = random_arms(&mut rng, 3, 2);
        let expected = pick(arms.iter().map(|(g, l)| bound(&global, g) + bound(&own, l)));
        assert_eq!(choice(&mut client, &offer(&arms), &setting, 0), expected);
    }
}

/// The authors' radii: sigma sqrt(d ln(1 + n / (d lambda)) + 2 ln(1 / delta)) + sqrt(lambda) for both parts,
/// n the observations behind the global one, downloads included.
#[test]
fn authors_radii_divide_the_global_count_by_d_lambda_in_both_parts() {
    let mut federation = Federation::new(json!({ "ratio": 1.0, "fidelity": "authors" }), setting(4, &[2, 3]));
    let mut rng = random(13);
    for (id, local_dim) in [(0, 2), (0, 2), (1, 3), (0, 2), (1, 3)] {
        let arms = random_arms(&mut rng, 4, local_dim);
        federation.pull(id, &arms, |global, local| global[0] - local[0]);
    }
    let radius = |dim: f64, n: f64| {
        0.1 * (dim * libm::log(1.0 + n / (dim * RIDGE)) + 2.0 * libm::log(10.0)).sqrt() + RIDGE.sqrt()
    };
    // Client 0 updated last at its third pull, the fourth of all.
    for (client, local_dim, n) in [(&federation.clients[0], 2.0, 4.0), (&federation.clients[1], 3.0, 5.0)] {
        assert!(client.own().model_count() < client.known().model_count());
        let (global, local) = client.radii();
        assert!((global - radius(4.0, n)).abs() < 1e-12, "global: {global}, not {}", radius(4.0, n));
        assert!((local - radius(local_dim, n)).abs() < 1e-12, "local: {local}, not {}", radius(local_dim, n));
    }
}

/// All signal is local, and every client has features of its own scale: whatever
/// leaves has the global dimension, and its gram is, bit for bit, the sum over the
/// global contexts since the last upload.
#[test]
fn nothing_but_global_statistics_ever_leaves_a_client() {
    for params in [json!({ "ratio": 1.2 }), json!({ "ratio": 1.2, "fidelity": "authors" })] {
        let local_dims = [1, 4, 2, 7];
        let mut federation = Federation::new(params.clone(), setting(3, &local_dims));
        let mut rng = random(12);
        let mut since = vec![LinearStats::empty(3); local_dims.len()];
        let mut uploads = [0; 4];
        for _ in 0..400 {
            let id = rng.below(4) as usize;
            let scale = 0.01 * (id + 1) as f64;
            let mut arms = random_arms(&mut rng, 3, local_dims[id]);
            arms.iter_mut().for_each(|(_, local)| local.iter_mut().for_each(|x| *x *= scale));
            let before = federation.uploads().len();
            let arm = federation.pull(id as u32, &arms, |_, local| 20.0 * local[0]);
            since[id].observe(&arms[arm].0, 0.0);
            if let Some((from, stats)) = federation.uploads().get(before) {
                assert_eq!(from.index(), id);
                assert_eq!((&stats.gram, stats.count), (&since[id].gram, since[id].count));
                since[id] = LinearStats::empty(3);
                uploads[id] += 1;
            }
        }
        assert!(uploads.iter().all(|&n| n > 5), "{params}: hardly anything was sent: {uploads:?}");
        for (from, to, message) in &federation.sent {
            let stats = match message {
                LinearMsg::Upload { stats, .. } => stats.get(),
                LinearMsg::Download { view, .. } => view.stats(),
                LinearMsg::Signal { .. } if *from == NodeId::SERVER => continue,
                other => panic!("{from} -> {to}: {other:?}"),
            };
            // Six numbers of a triangle, three of a moment, and nothing else on the wire.
            assert_eq!((stats.dim(), message.scalars()), (3, 9), "{from} -> {to}");
            if let Some(wire::payload::Shape::LinearUpload(upload)) = message.to_wire().shape {
                let stats = upload.stats.unwrap();
                assert_eq!((stats.gram.len(), stats.moment.len(), stats.contexts.len()), (6, 3, 0));
            }
        }
    }
}

/// At gamma = 1 every observation is an upload: its gram is x x' bit for bit.
#[test]
fn an_upload_of_one_observation_is_its_global_outer_product() {
    let mut federation = Federation::new(json!({ "ratio": 1.0, "fidelity": "authors" }), setting(2, &[3, 1]));
    let mut rng = random(13);
    for round in 0..100u32 {
        let id = round % 2;
        let local_dim = [3, 1][id as usize];
        let arms = random_arms(&mut rng, 2, local_dim);
        let before = federation.uploads().len();
        let arm = federation.pull(id, &arms, |_, local| local[0]);
        let uploads = federation.uploads();
        assert_eq!(uploads.len(), before + 1);
        let (from, stats) = uploads[before];
        let mut outer = LinearStats::empty(2);
        outer.observe(&arms[arm].0, 0.0);
        assert_eq!((from, &stats.gram, stats.count), (NodeId(id), &outer.gram, 1));
        // The moment is along the same context: y_g of it.
        let x = &arms[arm].0;
        assert!((stats.moment[0] * x[1] - stats.moment[1] * x[0]).abs() < 1e-12);
    }
}

#[test]
fn gamma_one_keeps_everyone_up_to_date_and_infinity_sends_nothing() {
    let run = |ratio: f64| {
        let mut federation = Federation::new(json!({ "ratio": ratio }), setting(2, &[1, 2, 1]));
        let mut rng = random(14);
        for round in 0..90 {
            let id = round % 3;
            let arms = random_arms(&mut rng, 2, [1, 2, 1][id as usize]);
            federation.pull(id, &arms, |g, l| 0.5 * g[0] + 0.3 * l[0]);
        }
        federation
    };
    let always = run(1.0);
    let count = always.server.view().stats().count;
    assert_eq!(count, 90, "all that was ever observed is merged");
    for client in &always.clients {
        assert!(!client.is_warming_up());
        assert_eq!((client.known().total().count, client.known().pending_count()), (90, 0));
        assert_eq!(client.own().total().count, 30);
    }
    // JSON has no infinity; this one is as good.
    let never = run(f64::MAX);
    assert!(never.sent.is_empty());
    for client in &never.clients {
        assert_eq!(client.known().total().count, 30);
    }
}

#[test]
fn clients_of_different_local_dimension_learn_one_global_component() {
    let theta_g = [0.6, -0.5, 0.3];
    let local_dims = [1, 3, 2, 5];
    let params = json!({ "ratio": 1.5, "partial_noise": 0.0 });
    let mut federation = Federation::new(params, setting(3, &local_dims));
    let mut rng = random(15);
    let thetas: Vec<Vec<f64>> = local_dims.iter().map(|&dim| vector(&mut rng, dim)).collect();
    for round in 0..800 {
        let id = round % 4;
        let arms = random_arms(&mut rng, 3, local_dims[id as usize]);
        let theta_l = &thetas[id as usize];
        federation.pull(id, &arms, |g, l| inner(g, &theta_g) + inner(l, theta_l));
    }
    let estimate =
        |stats: &LinearStats| Factor::of(stats.gram.packed(), &stats.moment, 1e-6).unwrap().theta();
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
    for (client, theta_l) in federation.clients.iter().zip(&thetas) {
        assert!(off(&estimate(&client.known().total()), &theta_g) < 0.05);
        assert!(off(&estimate(&client.own().total()), theta_l) < 0.1);
    }
}

#[test]
fn authors_fidelity_decides_once_more_with_the_old_model_but_alternates_on_the_new() {
    let setting = setting(2, &[1]);
    let mut stats = LinearStats::empty(2);
    (0..50).for_each(|_| stats.observe(&[0.5, 0.5], 0.4));
    stats.observe(&[0.5, -0.5], 0.1);
    let view = cahoots_core::View::new(1, stats);
    for (fidelity, fresh) in [("paper", true), ("authors", false)] {
        let mut client = client(json!({ "fidelity": fidelity, "warm_up": false }), &setting, 0);
        let message = LinearMsg::Download { view: view.clone(), merged: 0 };
        step(&mut client, 1, |c, cx| c.on_message(NodeId::SERVER, message, cx).unwrap());
        let arms = offer(&random_arms(&mut random(16), 2, 1));
        choice(&mut client, &arms, &setting, 0);
        assert_eq!(client.known().model_count() == 51, fresh, "{fidelity}");
        assert_eq!(client.known().total().count, 51, "{fidelity}");
        observe(&mut client, &[0.1, 0.9], &[0.3], 0.2);
        assert_eq!(client.known().model_count(), 52);
    }
}
