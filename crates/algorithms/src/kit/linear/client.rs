//! What clients with one linear model do alike: choose by it, upload what it has gained.

use cahoots_core::policy::{LinearModel, LinearPolicy};
use cahoots_core::{ArmSet, Buffered, Choice, Cx, NodeId, Stream, Unprotected};

use super::{Chosen, LinearMsg};

/// The policy's choice by what is known.
pub fn choose(known: &Buffered, policy: &LinearPolicy, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Chosen> {
    let model = LinearModel { factor: known.model(), count: known.model_count(), stats: || known.total() };
    let picked = policy.choose(model, arms, rng);
    picked.keeping(Chosen { context: arms.context(picked.arm) })
}

/// Sends what has been observed since the last upload, unprotected.
pub fn upload(known: &mut Buffered, server: NodeId, cx: &mut Cx<'_, LinearMsg>) {
    let (number, exact) = known.take_upload();
    let stats = cx.release(&mut Unprotected, exact);
    cx.send(server, LinearMsg::Upload { number, stats });
}
