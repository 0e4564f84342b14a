//! What a user may write, and what is said about the rest.

use cahoots_core::{Algorithm, ParamError};
use serde_json::{Value, json};

use super::super::{CdpMab, DdpMab, HdpMab};
use super::setting;

fn error<A: Algorithm>(params: Value) -> String {
    let params = serde_json::from_value(params).unwrap();
    let checked = A::check(params, &setting(6, 3, 1000));
    checked.err().as_ref().map(ParamError::to_string).unwrap_or_default()
}

#[test]
fn complaints_name_the_key_and_the_remedy() {
    assert_eq!(error::<CdpMab>(json!({})), "");
    assert_eq!(
        error::<CdpMab>(json!({ "rounds": 3 })),
        "gap: is needed with `rounds`: the smallest gap, which only an oracle knows"
    );
    assert_eq!(error::<DdpMab>(json!({ "gap": 0.1 })), "gap: is for a limit on the rounds: set `rounds` too");
    assert!(error::<CdpMab>(json!({ "participation": 0.0 })).starts_with("participation: "));
    assert!(error::<CdpMab>(json!({ "dp_epsilon": -1.0 })).starts_with("dp_epsilon: "));
    assert_eq!(
        error::<DdpMab>(json!({ "topology": { "edges": [[0, 1], [2, 3], [4, 5]] } })),
        "topology: the graph falls apart into 3 components: {0, 1} {2, 3} {4, 5}"
    );
    assert_eq!(error::<HdpMab>(json!({ "topology": { "edges": [[0, 1], [2, 3], [4, 5]] } })), "");
    assert_eq!(
        error::<HdpMab>(json!({ "components": [4, 4] })),
        "components: add up to 8 clients, but there are 6"
    );
    assert_eq!(
        error::<DdpMab>(json!({ "topology": { "edges": [[0, 6]] } })),
        "topology: edge 0-6 does not join two of the 6 clients"
    );
}

/// Who names nothing gets what `dp_epsilon` says, not N times that.
#[test]
fn what_is_not_named_is_local() {
    fn claim<A: Algorithm>() -> cahoots_core::Claim {
        let valid = A::check(serde_json::from_value(json!({})).unwrap(), &setting(6, 3, 1000)).unwrap();
        A::privacy(&valid).unwrap()
    }
    for claim in [claim::<CdpMab>(), claim::<DdpMab>(), claim::<HdpMab>()] {
        assert_eq!((claim.calibration.as_ref(), claim.epsilon), ("local", 1.0));
    }
    let published = serde_json::from_value(json!({ "privacy": "published", "dp_epsilon": 0.5 })).unwrap();
    let claim = CdpMab::privacy(&CdpMab::check(published, &setting(6, 3, 1000)).unwrap()).unwrap();
    assert!(claim.not_protected.iter().any(|gap| gap.contains("keeps 6 times that")), "{claim:?}");
}
