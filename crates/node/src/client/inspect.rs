//! A client's store, looked at without a client.

use cahoots_core::NodeId;
use cahoots_core::drive::Saved;
use serde_json::{Value, json};

use super::RESTORED;
use super::member::Member;
use super::starts::Starts;
use crate::books::Books;
use crate::error::NodeError;
use crate::live::Known;
use crate::privacy::{Account, PrivacyStatus};
use crate::store::{Look, StoreError};
use crate::terms::Terms;

/// What a restart would find.
pub(crate) fn inspect(known: &Known, look: &Look, terms: Terms) -> Result<Value, NodeError> {
    let damaged = |what: String| StoreError::Damaged { path: look.path.clone(), what };
    let named = |name: &str| look.get(name).map(<[u8]>::to_vec);
    let flag = |name: &str| look.get(name) == Some(&[1][..]);
    let me = number(&look.owner).ok_or_else(|| damaged("it does not say which client's it is".into()))?;
    let secret: [u8; 32] = look.get("secret").and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    let (state, queues) = look.state();
    let saved = state.as_deref().map(|state| Saved { state, queues: &queues });
    let books = Books::restore(named("books")).map_err(damaged)?;
    let mut member = Member::new(known, terms, "", me, secret, saved, books, named("lockstep"))?;
    for entry in &look.log {
        let replayed = member.machine.replay(entry, &member.keys);
        replayed.map_err(|e| damaged(format!("a log entry cannot be replayed ({e})")))?;
        let facts = member.machine.take_step().facts;
        member.books.enter(me, facts);
    }
    let mut account = Account::restore(named(Account::KEY)).map_err(damaged)?;
    account.enter(&member.books.accountant);
    let promised = member.would_promise(member.machine.params().1)?;
    let starts = Starts::restore(named("starts")).unwrap_or_default();
    let ends = member.machine.ends(NodeId::SERVER);
    Ok(json!({
        "client": me.0,
        "starts": starts.all().len(),
        "rejoins": flag("rejoins"),
        "restored": flag(RESTORED),
        "uploads": ends.sent,
        "downloads": ends.received,
        "unconfirmed": member.machine.queues().len(NodeId::SERVER),
        "unsent": member.machine.unsent(),
        "open_decisions": member.machine.open(),
        "refusals": member.books.refusals,
        "params_version": member.machine.params().0,
        "params": member.machine.params().1.parse::<toml::Table>().ok(),
        "privacy": PrivacyStatus::of(Some(&promised), &account, None, Vec::new()),
    }))
}

/// "client 3 of federation ...": 3.
fn number(owner: &str) -> Option<NodeId> {
    owner.strip_prefix("client ")?.split(' ').next()?.parse().ok().map(NodeId)
}
