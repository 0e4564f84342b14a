//! What whoever runs a coordinator asks of it, by the socket beside its store.

use std::time::Duration;

use serde_json::json;

use super::{Coordinator, Role};
use crate::control::Order;
use crate::error::NodeError;

impl Coordinator {
    /// Does what whoever runs it asks for.
    pub async fn order(&self, order: Order) -> Result<serde_json::Value, NodeError> {
        let written = |value| serde_json::to_value(value).map_err(|e| NodeError::Stopped(e.to_string()));
        match order {
            Order::Status => {
                let status = self.status().await;
                let status =
                    status.ok_or_else(|| NodeError::Stopped("the coordinator has stopped".into()))?;
                serde_json::to_value(status).map_err(|e| NodeError::Stopped(e.to_string()))
            }
            Order::Members => {
                self.knows_members().await?;
                written(self.members().await?)
            }
            Order::Remove { client, forget: false } => {
                self.remove(client).await.map(|()| json!({ "removed": client }))
            }
            Order::Remove { client, forget: true } => {
                self.forget(client).await.map(|()| json!({ "removed": client, "forgotten": true }))
            }
            Order::Release { client } => self.release(client).await.map(|()| json!({ "released": client })),
            Order::Restore { client } => {
                let resumes = self.restore(client).await?;
                let next = if resumes { "it goes on" } else { "`cahoots rejoin` the client" };
                Ok(json!({ "restored": client, "next": next }))
            }
            Order::Invite { client, days } => {
                let valid = Duration::try_from_secs_f64(days * 86_400.0).map_err(|_| {
                    NodeError::Request(format!("an invitation holds for a number of days, not {days}"))
                })?;
                let invitation = self.invite(client, valid).await?;
                Ok(json!({ "client": client, "invitation": invitation, "days": days }))
            }
            Order::Uninvite { client } => {
                self.uninvite(client).await.map(|withdrawn| json!({ "withdrawn": withdrawn }))
            }
            Order::State => {
                serde_json::to_value(self.digest().await?).map_err(|e| NodeError::Stopped(e.to_string()))
            }
            Order::Backup { to } => self.backup(to.clone()).await.map(|()| json!({ "copied": to })),
            Order::Params { set } => {
                let (mut version, text) = self.params().await?;
                let mut params: toml::Table = text.parse().map_err(|e| NodeError::Stopped(format!("{e}")))?;
                if !set.is_empty() {
                    params.extend(set);
                    version = self.change(&params.to_string()).await?;
                }
                Ok(json!({ "version": version, "params": params }))
            }
            Order::History => {
                let now = self.params().await?.0;
                Ok(json!({ "version": now, "versions": self.versions().await? }))
            }
            Order::Revert { version } => {
                let version = self.revert(version).await?;
                let params: toml::Table =
                    self.params().await?.1.parse().map_err(|e| NodeError::Stopped(format!("{e}")))?;
                Ok(json!({ "version": version, "params": params }))
            }
            Order::Drain { .. } => {
                Err(NodeError::Request("a coordinator has nothing to drain: ask a client".into()))
            }
        }
    }

    /// Who stands by knows the log and nobody's connections.
    async fn knows_members(&self) -> Result<(), NodeError> {
        let replica = self.status().await.and_then(|status| status.replica);
        match replica.filter(|replica| replica.role != Role::Leading) {
            None => Ok(()),
            Some(replica) => Err(NodeError::Request(match replica.leader {
                Some(leader) => format!(
                    "this coordinator stands by, and only who leads knows the members: ask {leader}, with its file"
                ),
                None => "this coordinator stands by, and only who leads knows the members; it has not heard who that is yet".into(),
            })),
        }
    }
}
