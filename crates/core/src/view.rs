//! What a coordinator has merged, as its clients see it: computed once, shared
//! by all who receive it.

use std::sync::{Arc, OnceLock};

use cahoots_kernel::Factor;
use serde::{Deserialize, Serialize};

use crate::error::Misbehaviour;
use crate::stats::LinearStats;
use crate::wire;

/// An absolute, numbered state of merged statistics. The factor is a pure
/// function of the statistics and the ridge, made when first needed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    version: u64,
    stats: LinearStats,
    #[serde(skip)]
    factor: OnceLock<Result<Factor, Misbehaviour>>,
}

impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.stats == other.stats
    }
}

impl View {
    /// A view of `stats`, the `version`-th of its coordinator.
    pub fn new(version: u64, stats: LinearStats) -> Arc<View> {
        Arc::new(View { version, stats, factor: OnceLock::new() })
    }

    /// Counts the merges behind this view.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The merged statistics.
    pub fn stats(&self) -> &LinearStats {
        &self.stats
    }

    /// The ridge model of this view (a federation has one ridge), or the news
    /// that no data can have led to these statistics. Looked at and made once,
    /// shared by all.
    pub fn check(&self, ridge: f64) -> Result<&Factor, Misbehaviour> {
        let made = self.factor.get_or_init(|| {
            self.stats.check_values()?;
            Factor::of(self.stats.gram.packed(), &self.stats.moment, ridge)
                .map_err(|e| Misbehaviour::Indefinite(e.to_string()))
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// The model of a view that has been checked.
    pub fn factor(&self, ridge: f64) -> &Factor {
        self.check(ridge).expect("views are checked when they are made or received")
    }

    /// For the network: `merged` is the receiver's last upload in this view.
    pub fn to_wire(&self, merged: u64) -> wire::Payload {
        self.to_wire_for(merged, 0, 0)
    }

    /// For the network, for one cluster of the receiver's users in one phase.
    pub fn to_wire_for(&self, merged: u64, phase: u64, cluster: u32) -> wire::Payload {
        let stats = Some(self.stats.to_wire());
        let view = wire::View { version: self.version, merged, phase, stats, cluster };
        wire::Payload { shape: Some(wire::payload::Shape::View(view)) }
    }

    /// From the network, with the number of the receiver's last merged upload.
    pub fn from_wire(view: wire::View) -> Result<(Arc<View>, u64), Misbehaviour> {
        let stats = view.stats.ok_or_else(|| Misbehaviour::Unreadable("a view without statistics".into()))?;
        Ok((View::new(view.version, LinearStats::from_wire(stats)?), view.merged))
    }

    /// Encoded length of [`Self::to_wire`].
    pub fn wire_len(&self, merged: u64) -> usize {
        self.wire_len_for(merged, 0, 0)
    }

    /// Encoded length of [`Self::to_wire_for`].
    pub fn wire_len_for(&self, merged: u64, phase: u64, cluster: u32) -> usize {
        wire::message_field(
            wire::varint_field(self.version)
                + wire::varint_field(merged)
                + wire::varint_field(phase)
                + wire::message_field(self.stats.wire_len())
                + wire::varint_field(cluster.into()),
        )
    }
}
