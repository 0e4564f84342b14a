//! A coordinator's store, looked at without a coordinator.

use cahoots_core::NodeId;
use cahoots_core::drive::{Saved, ServerNode};
use serde_json::{Value, json};

use super::admission::{self, Admission};
use super::change;
use super::conduct::{self, Conduct};
use super::members::{DEPARTED, Members, PREFIX};
use super::membership::member_status;
use super::unmerged::{self, Unmerged};
use crate::books::Books;
use crate::error::NodeError;
use crate::live::Known;
use crate::secret;
use crate::store::{Look, StoreError};
use crate::terms::Terms;

/// What a restart would find.
pub(crate) fn inspect(known: &Known, look: &Look, terms: &Terms) -> Result<Value, NodeError> {
    let damaged = |what: String| StoreError::Damaged { path: look.path.clone(), what };
    let (mut machine, books) = replayed(known, look, terms, &damaged)?;
    let members = Members::restore(look.list(PREFIX), look.list(DEPARTED));
    let conduct = Conduct::restore(look.list(conduct::PREFIX), 0);
    let unmerged = Unmerged::restore(look.list(unmerged::PREFIX));
    let admission = Admission::restore(Default::default(), look.list(admission::PREFIX));
    let owners: Vec<(NodeId, bool)> =
        members.owners().map(|(client, owner)| (client, owner.removed)).collect();
    let mut unconfirmed = 0;
    let listed: Vec<Value> = owners
        .into_iter()
        .map(|(client, removed)| {
            let known = member_status(client, removed, false, (&conduct, &unmerged), &mut *machine);
            unconfirmed += known.waiting;
            let state = match (removed, known.quarantined) {
                (true, _) => "removed",
                (false, true) => "quarantined",
                (false, false) => "member",
            };
            json!({
                "client": client.0, "state": state, "received": known.received, "not_merged": known.not_merged,
                "waiting": known.waiting, "implausible": known.implausible, "reason": known.reason,
            })
        })
        .collect();
    let versions = change::restore(look.get("terms").unwrap_or_default(), look.list(change::PREFIX));
    Ok(json!({
        "members": listed,
        "unconfirmed": unconfirmed,
        "invitations": admission.open(),
        "rounds": books.rounds,
        "clusters": books.clusters,
        "waiting_for": machine.waiting_for().into_iter().map(|client| client.0).collect::<Vec<_>>(),
        "params_version": machine.params().0,
        "params": machine.params().1.parse::<toml::Table>().ok(),
        "params_versions": versions.len(),
    }))
}

fn replayed(
    known: &Known,
    look: &Look,
    terms: &Terms,
    damaged: &dyn Fn(String) -> StoreError,
) -> Result<(Box<dyn ServerNode>, Books), NodeError> {
    let secret: [u8; 32] = look.get("secret").and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    let keys = secret::keys(terms, secret);
    let (state, queues) = look.state();
    let saved = state.as_deref().map(|state| Saved { state, queues: &queues });
    let mut machine = terms.live(known)?.coordinator(terms, saved)?;
    let mut books = Books::restore(look.get("books").map(Into::into)).map_err(damaged)?;
    for entry in &look.log {
        machine.replay(entry, &keys).map_err(|e| damaged(format!("a log entry cannot be replayed ({e})")))?;
        books.enter(NodeId::SERVER, machine.take_step().facts);
    }
    Ok((machine, books))
}
