//! Parameters that cannot be used, and who is to mend them.

use cahoots_core::ParamError;
use serde_json::{Value, json};

use super::*;

fn refused(params: Value, setting: &Setting) -> ParamError {
    AsyncLinucbAm::check(serde_json::from_value(params).unwrap(), setting).unwrap_err()
}

#[test]
fn errors_name_the_key() {
    let setting = setting(3, &[2, 3]);
    for (params, key) in [
        (json!({ "ridge": 0.0 }), "ridge"),
        (json!({ "failure_prob": 1.0 }), "failure_prob"),
        (json!({ "reward_noise": -1.0 }), "reward_noise"),
        (json!({ "partial_noise": -1.0 }), "partial_noise"),
        (json!({ "radius": { "fixed": -1.0 } }), "radius"),
        (json!({ "ratio": 0.5 }), "upload_ratio"),
        (json!({ "download_ratio": { "per_client": [2.0] } }), "download_ratio"),
        (json!({ "iterations": 0 }), "iterations"),
        (json!({ "tolerance": -1e-9 }), "tolerance"),
        (json!({ "multi_task": true }), "multi_task"),
    ] {
        assert_eq!(refused(params.clone(), &setting).key, key, "{params}");
    }
    let error = refused(json!({ "multi_task": true }), &setting);
    assert_eq!(error.to_string(), "multi_task: needs as many local as global features (3), not 2");
}

#[test]
fn worlds_without_local_features_are_refused() {
    for setting in [setting(3, &[0]), setting(3, &[2, 0]), Setting { local_dims: vec![], ..setting(3, &[1]) }]
    {
        let error = refused(json!({}), &setting);
        assert_eq!(error.key, "kind");
        assert!(error.problem.contains("async-linucb"), "{error}");
    }
    assert_eq!(refused(json!({}), &setting(0, &[2])).key, "kind");
}

#[test]
fn arms_are_always_selected_by_eq8() {
    let read = |params| serde_json::from_value::<super::super::Params>(params);
    let error = read(json!({ "policy": "lints" })).unwrap_err().to_string();
    assert!(error.starts_with("unknown field `policy`"), "{error}");
    assert!(read(json!({ "ratio": 3, "radius": "count", "fidelity": "authors" })).is_ok());
}

#[test]
fn appendix_e_each_client_may_have_its_own_ratio() {
    let setting = setting(2, &[1, 1]);
    let params = json!({ "warm_up": false, "upload_ratio": { "per_client": [2.0, 20.0] } });
    // A first context of length 1: det grows by 11.
    for (id, uploads) in [(0, 1), (1, 0)] {
        let mut client = client(params.clone(), &setting, id);
        assert_eq!(observe(&mut client, &[1.0, 0.0], &[0.5], 0.1).len(), uploads);
    }
}
