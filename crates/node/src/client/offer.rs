//! What an app offers, as a machine takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::arms::ArmError;
use cahoots_core::{ArmBuffer, ArmIndex, Seat};

use super::ask::{ArmRef, NamedArm};
use super::registry::{self, Known, Registry};
use crate::error::NodeError;
use crate::limits::{NAME, cut};

/// The arms on offer.
#[derive(Clone, Copy, Debug)]
pub enum Arms<'a> {
    /// This many arms without features.
    Plain(usize),
    /// One row of features per arm: the shared ones, then the client's own where it has some.
    Features(&'a [Vec<f64>]),
    /// The same rows one after the other.
    Flat(&'a [f64]),
    /// By id: with features that hold for this decision, or as they were registered.
    Named(&'a [NamedArm<'a>]),
    /// All that are registered.
    Registered,
}

/// What arms must look like.
pub(super) struct Shape<'a> {
    /// Features that all share.
    pub(super) dim: usize,
    /// Features that only this client has.
    pub(super) own: usize,
    /// Arms that there usually are; all there are, where they have no features.
    pub(super) usual: usize,
    /// Arms are told apart by their position.
    pub(super) by_position: bool,
    /// Who is offered them.
    pub(super) seat: &'a Seat,
}

impl Shape<'_> {
    /// Adds one arm to those in a buffer.
    pub(super) fn push(&self, buffer: &mut ArmBuffer, row: &[f64]) -> Result<(), ArmError> {
        let Shape { dim, own, .. } = *self;
        if row.len() != dim + own {
            return Err(ArmError::Dimension { which: "(in all)", expected: dim + own, got: row.len() });
        }
        if buffer.features.is_empty() {
            buffer.features.reset(dim);
            buffer.local.reset(own);
        }
        buffer.features.push(&row[..dim]);
        if own > 0 {
            buffer.local.push(&row[dim..]);
        }
        Ok(())
    }

    /// Puts the arms on offer in place, or says what does not fit.
    pub(super) fn fill(
        &self,
        buffer: &mut ArmBuffer,
        arms: Arms<'_>,
        registry: &Registry,
    ) -> Result<(), NodeError> {
        let Shape { dim, own, usual, .. } = *self;
        buffer.names.clear();
        buffer.masked.clear();
        match arms {
            Arms::Plain(_) if dim > 0 => Err(NodeError::Request(format!(
                "this federation's arms have features: offer a list of rows of {} numbers each",
                dim + own
            ))),
            Arms::Features(_) | Arms::Flat(_) if dim == 0 => Err(NodeError::Request(format!(
                "this federation's arms have no features: offer their number, {usual}"
            ))),
            Arms::Plain(arms) if arms != usual => {
                Err(NodeError::Request(format!("{arms} arms where this federation has {usual}")))
            }
            Arms::Plain(arms) => {
                buffer.plain = arms;
                Ok(())
            }
            Arms::Features([]) | Arms::Flat([]) | Arms::Named([]) => Err(ArmError::Empty.into()),
            Arms::Features(rows) => {
                if let Some(row) = rows.iter().find(|row| row.len() != dim + own) {
                    return Err(
                        ArmError::Dimension { which: "(in all)", expected: dim + own, got: row.len() }.into()
                    );
                }
                buffer.features.fill(dim, rows.iter().map(|row| &row[..dim]));
                buffer.local.fill(own, rows.iter().map(|row| &row[dim..]));
                Ok(())
            }
            Arms::Flat(numbers) => {
                let rows = numbers.chunks_exact(dim + own);
                let rest = rows.remainder().len();
                if rest > 0 {
                    return Err(
                        ArmError::Dimension { which: "(in all)", expected: dim + own, got: rest }.into()
                    );
                }
                buffer.features.fill(dim, rows.clone().map(|row| &row[..dim]));
                buffer.local.fill(own, rows.map(|row| &row[dim..]));
                Ok(())
            }
            Arms::Named(_) | Arms::Registered if dim > 0 && self.by_position => {
                Err(NodeError::Request(
                    "this federation's algorithm tells arms apart by their position: offer all of them in the same order each time, \
                     as rows of features, and no ids"
                        .into(),
                ))
            }
            Arms::Registered if registry.len() == 0 => Err(NodeError::Request(
                "no arms are on offer and none are registered: give `arms`, or register some (POST /arms)".into(),
            )),
            Arms::Named(arms) if dim > 0 => self.named(buffer, arms, registry),
            Arms::Registered if dim > 0 => {
                buffer.features.reset(dim);
                buffer.local.reset(own);
                registry.iter().try_for_each(|(id, known)| self.add(buffer, id, known))
            }
            Arms::Named(arms) => {
                if let Some(arm) = arms.iter().find(|arm| arm.features.is_some()) {
                    return Err(NodeError::Request(format!(
                        "arm {:?} has features, and this federation's arms have none: register it with an `index`, and offer its id",
                        cut(arm.id, NAME)
                    )));
                }
                let ids = arms.iter().map(|arm| arm.id);
                self.numbered(buffer, ids, registry)
            }
            Arms::Registered => self.numbered(buffer, registry.iter().map(|(id, _)| &**id), registry),
        }
    }

    fn named(
        &self,
        buffer: &mut ArmBuffer,
        arms: &[NamedArm<'_>],
        registry: &Registry,
    ) -> Result<(), NodeError> {
        buffer.features.reset(self.dim);
        buffer.local.reset(self.own);
        let mut seen = BTreeSet::new();
        for arm in arms {
            if !seen.insert(registry::named("an id", arm.id)?) {
                return Err(registry::twice(arm.id));
            }
            match arm.features {
                Some(features) => {
                    let wrong = |e| NodeError::Request(format!("arm {:?}: {e}", cut(arm.id, NAME)));
                    self.push(buffer, features).map_err(wrong)?;
                    buffer.names.push(arm.id.into());
                }
                None => {
                    let (id, known) = registry.get(arm.id)?;
                    self.add(buffer, id, known)?;
                }
            }
        }
        Ok(())
    }

    fn add(&self, buffer: &mut ArmBuffer, id: &Arc<str>, known: &Known) -> Result<(), NodeError> {
        let Known::Features(features) = known else {
            return Err(NodeError::Request(format!(
                "arm {id:?} has no features: register it again with some"
            )));
        };
        let wrong =
            |e| NodeError::Request(format!("arm {id:?}, as it was registered: {e}; register it again"));
        self.push(buffer, features).map_err(wrong)?;
        buffer.names.push(id.clone());
        Ok(())
    }

    /// Arms without features are always all there: those that are not on offer cannot be chosen.
    fn numbered<'i>(
        &self,
        buffer: &mut ArmBuffer,
        ids: impl Iterator<Item = &'i str>,
        registry: &Registry,
    ) -> Result<(), NodeError> {
        let mut masked = vec![true; self.usual];
        for id in ids {
            let (_, known) = registry.get(id)?;
            let place = match known {
                Known::Index(index) => masked.get_mut(*index as usize),
                Known::Features(_) => None,
            };
            let place = place.ok_or_else(|| {
                NodeError::Request(format!(
                    "arm {:?} has no index: register it again with one",
                    cut(id, NAME)
                ))
            })?;
            if !std::mem::replace(place, false) {
                return Err(registry::twice(id));
            }
        }
        buffer.plain = self.usual;
        let nobody: Arc<str> = "".into();
        let name = |index| registry.at(index).unwrap_or(&nobody).clone();
        buffer.names.extend((0..self.usual as u32).map(name));
        if masked.contains(&true) {
            if !self.seat.masks {
                return Err(NodeError::Request(format!(
                    "this algorithm needs every arm at every decision: register ids for all of its {} arms, and offer all of them",
                    self.usual
                )));
            }
            buffer.masked = masked;
        }
        Ok(())
    }
}

/// Number of arms in a buffer that was filled.
pub(super) fn len(buffer: &ArmBuffer) -> usize {
    if buffer.features.is_empty() { buffer.plain } else { buffer.features.len() }
}

/// Masks what cannot be chosen this time.
pub(super) fn mask(buffer: &mut ArmBuffer, masked: &[ArmRef]) -> Result<(), NodeError> {
    if masked.is_empty() {
        return Ok(());
    }
    let len = len(buffer);
    buffer.masked.resize(len, false);
    let names = buffer.names.iter().enumerate().filter(|(_, name)| !name.is_empty());
    let positions: BTreeMap<&str, usize> = names.map(|(position, name)| (&**name, position)).collect();
    for arm in masked {
        let position = match arm {
            ArmRef::Position(position) => Some(*position as usize).filter(|_| positions.is_empty()),
            ArmRef::Id(id) => positions.get(&**id).copied(),
        };
        let masked = position.and_then(|position| buffer.masked.get_mut(position));
        *masked.ok_or_else(|| {
            let by = if positions.is_empty() { "positions" } else { "ids" };
            NodeError::Request(format!(
                "masked: {} is not among the arms on offer, which are named by their {by}",
                cut(&arm.to_string(), NAME)
            ))
        })? = true;
    }
    Ok(())
}

/// Which of the arms on offer the app would take itself: one that can be chosen.
pub(super) fn baseline(buffer: &ArmBuffer, arm: &ArmRef) -> Result<ArmIndex, NodeError> {
    let position = match arm {
        ArmRef::Position(position) => Some(*position as usize).filter(|_| buffer.names.is_empty()),
        ArmRef::Id(id) => buffer.names.iter().position(|name| !name.is_empty() && name == id),
    };
    let shown = || cut(&arm.to_string(), NAME).into_owned();
    let Some(position) = position.filter(|position| *position < len(buffer)) else {
        let by = if buffer.names.is_empty() { "positions" } else { "ids" };
        return Err(NodeError::Request(format!(
            "baseline: {} is not among the arms on offer, which are named by their {by}",
            shown()
        )));
    };
    if buffer.masked.get(position) == Some(&true) {
        return Err(NodeError::Request(format!(
            "baseline: {} cannot be chosen this time: what the app would do itself must be among the arms on offer, and not masked",
            shown()
        )));
    }
    Ok(ArmIndex(position as u32))
}

/// What an arm on offer is called.
pub(super) fn called(buffer: &ArmBuffer, arm: ArmIndex) -> ArmRef {
    match buffer.names.get(arm.index()) {
        Some(name) => ArmRef::Id(name.clone()),
        None => ArmRef::Position(arm.0),
    }
}
