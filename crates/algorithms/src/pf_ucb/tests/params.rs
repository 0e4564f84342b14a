//! The remarks of the paper as options, and what is refused.

use serde_json::json;

use super::*;

fn complaint(params: Value, setting: &Setting) -> String {
    PfUcb::check(serde_json::from_value(params).unwrap(), setting).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn complaints_name_the_key_and_what_would_be_right() {
    let setting = setting(2, 3, 1000);
    for (params, text) in [
        (json!({ "personalization": 1.5 }), "personalization: must lie between 0 and 1, not 1.5"),
        (json!({ "personalization": -0.1 }), "personalization: must lie between 0 and 1, not -0.1"),
        (json!({ "communication_loss": -1 }), "communication_loss: must be 0 or more, not -1"),
        (json!({ "confidence_constant": 0 }), "confidence_constant: must be a number above 0, not 0"),
        (json!({ "reward_noise": 0 }), "reward_noise: must be a number above 0, not 0"),
        (
            json!({ "communication_loss": 0, "loss_factor": "1/C" }),
            "loss_factor: needs a communication_loss above 0",
        ),
        (json!({ "schedule": { "table": [3, 0] } }), "schedule: every length must be above 0"),
    ] {
        assert_eq!(complaint(params, &setting), text);
    }
    let features = Setting { dim: 3, ..setting.clone() };
    assert_eq!(complaint(json!({}), &features), "kind: needs plain arms (environment kind = \"arms\")");
    let moment = Setting { horizon: 1, ..setting };
    assert!(complaint(json!({}), &moment).starts_with("horizon: must be at least 2"));
}

#[test]
fn eq_8_confidence_bound() {
    let setting = setting(4, 9, 1_000_000);
    let log = libm::log(1e6);
    let bound = |params| valid(params, &setting).rules.bound(100.0);
    let about = |one: f64, other: f64| assert!((one - other).abs() < 1e-15, "{one} {other}");
    about(bound(json!({})), (4.0 * log / 400.0).sqrt());
    about(bound(json!({ "fidelity": "authors" })), (log / 400.0).sqrt());
    about(bound(json!({ "fidelity": "authors", "confidence_constant": 2.5 })), (2.5 * log / 400.0).sqrt());
    about(bound(json!({ "reward_noise": 0.5 })), (log / 400.0).sqrt());
    // Remark after Theorem 2.
    about(bound(json!({ "radius": "log-mt" })), (4.0 * libm::log(4e6) / 400.0).sqrt());
}

#[test]
fn rewards_are_taken_for_1_sub_gaussian_unless_they_are_wilder() {
    let bound =
        |reward_noise| valid(json!({}), &Setting { reward_noise, ..setting(2, 3, 1000) }).rules.bound(1.0);
    assert_eq!(bound(0.5), bound(1.0));
    assert_eq!(bound(0.0), bound(1.0));
    assert!((bound(3.0) - 3.0 * bound(1.0)).abs() < 1e-12);
}

#[test]
fn remark_of_section_4_2_lengths_divided_by_the_clients() {
    let setting = setting(4, 9, 1000);
    let rules = valid(json!({ "schedule": 100, "divide_by_clients": true }), &setting).rules;
    // ceil(alpha f) local and ceil((1 - alpha) f / M) global pulls; the bound sees what was explored.
    assert_eq!(rules.exploration(rules.lengths.at(1), 1.0), (13, 50));
    assert_eq!(rules.lengths.at(1), 25.0);
}

#[test]
fn remark_of_appendix_c_f_with_a_factor_of_the_loss() {
    let setting = setting(4, 9, 1000);
    let length = |factor| {
        let params = json!({ "schedule": 100, "communication_loss": 5, "loss_factor": factor });
        valid(params, &setting).rules.lengths.at(3)
    };
    assert_eq!([length("none"), length("1/C"), length("C")], [100.0, 20.0, 500.0]);
}

#[test]
fn eq_6_the_cost_is_the_communication_loss() {
    let setting = setting(4, 9, 1000);
    let traffic = cahoots_core::Traffic { rounds: 16, uploads: 64, ..Default::default() };
    let valid = valid(json!({ "communication_loss": 2.5 }), &setting);
    assert_eq!(PfUcb::cost(&valid, &traffic), 2.5 * 4.0 * 16.0);
    assert_eq!(PfUcb::personalization(&valid), Some(0.5));
}
