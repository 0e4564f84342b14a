//! Arms that an app has told of once, and refers to by id. Each is a named value of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::ArmBuffer;
use serde::{Deserialize, Serialize};

use super::ask::{NewArm, Registered};
use super::offer::Shape;
use crate::error::NodeError;
use crate::limits::{NAME, cut};

/// What names of values begin with.
pub(crate) const PREFIX: &str = "arm/";

/// Bytes of an id, an event or the name of a part.
const LONGEST: usize = 256;

/// A text that names something, if it can.
pub(super) fn named<'a>(what: &str, text: &'a str) -> Result<&'a str, NodeError> {
    match text.len() {
        1..=LONGEST => Ok(text),
        0 => Err(NodeError::Request(format!("{what} is empty: give it a name of 1 to {LONGEST} bytes"))),
        length => Err(NodeError::Request(format!(
            "{what} {:?} has {length} bytes, where {LONGEST} are the most: shorten it, or use a hash of it",
            cut(text, NAME)
        ))),
    }
}

/// What an id stands for, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Known {
    Features(Box<[f64]>),
    Index(u32),
}

/// Arms by id, in the order of their ids.
#[derive(Debug, Default)]
pub(super) struct Registry {
    arms: BTreeMap<Arc<str>, Known>,
    /// Ids of arms without features, by their number.
    places: BTreeMap<u32, Arc<str>>,
}

/// What changes when arms come and go: names of values, and values.
pub(super) type Changes = Vec<(String, Vec<u8>)>;

impl Registry {
    /// As it was stored; says which arm cannot be read.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>) -> Result<Registry, String> {
        let mut registry = Registry::default();
        for (name, value) in stored {
            let id: Arc<str> = name.strip_prefix(PREFIX).unwrap_or(&name).into();
            let known = postcard::from_bytes(&value).map_err(|_| format!("arm {id:?} cannot be read"))?;
            registry.insert(id, known);
        }
        Ok(registry)
    }

    fn insert(&mut self, id: Arc<str>, known: Known) {
        if let Known::Index(index) = known {
            self.places.insert(index, id.clone());
        }
        self.arms.insert(id, known);
    }

    fn remove(&mut self, id: &str) {
        if let Some(Known::Index(index)) = self.arms.remove(id) {
            self.places.remove(&index);
        }
    }

    /// Number of arms.
    pub(super) fn len(&self) -> usize {
        self.arms.len()
    }

    /// All of them, by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Known)> {
        self.arms.iter()
    }

    /// The arm of this id.
    pub(super) fn get(&self, id: &str) -> Result<(&Arc<str>, &Known), NodeError> {
        self.arms.get_key_value(id).ok_or_else(|| {
            NodeError::Request(format!(
                "arm {:?} is not registered: register it (POST /arms), or give its features with it",
                cut(id, NAME)
            ))
        })
    }

    /// The id of the arm of this number.
    pub(super) fn at(&self, index: u32) -> Option<&Arc<str>> {
        self.places.get(&index)
    }

    /// Some arms go and others come, or change: all of it or nothing. Gives what is to be stored.
    pub(super) fn change(
        &mut self,
        come: &[NewArm<'_>],
        go: &[&str],
        shape: &Shape,
        most: usize,
    ) -> Result<Changes, NodeError> {
        let mut next = BTreeMap::new();
        for arm in come {
            let known = usable(arm, shape)?;
            if next.insert(named("an id", arm.id)?, known).is_some() {
                return Err(twice(arm.id));
            }
        }
        let mut gone = BTreeSet::new();
        for id in go {
            self.get(id)?;
            if !gone.insert(*id) {
                return Err(twice(id));
            }
            if next.contains_key(id) {
                return Err(NodeError::Request(format!(
                    "arm {:?} is to be registered and retired at once: an arm that is registered again is replaced",
                    cut(id, NAME)
                )));
            }
        }
        let stays = |id: &str| !gone.contains(id) && !next.contains_key(id);
        let all = self.arms.keys().filter(|id| stays(id)).count() + next.len();
        if all > most {
            return Err(NodeError::Request(format!(
                "{all} arms would be registered, where {most} are the most (limits.registered_arms): retire some"
            )));
        }
        let staying = self.places.iter().filter(|(_, id)| stays(id));
        check_places(staying.map(|(index, id)| (*index, &**id)).collect(), &next)?;
        let mut changes = Changes::new();
        for id in go {
            self.remove(id);
            changes.push((format!("{PREFIX}{id}"), Vec::new()));
        }
        // All places are free before any is taken: arms may change places with each other.
        next.keys().for_each(|id| self.remove(id));
        for (id, known) in next {
            let stored = postcard::to_stdvec(&known).expect("an arm can always be written");
            changes.push((format!("{PREFIX}{id}"), stored));
            self.insert(id.into(), known);
        }
        Ok(changes)
    }
}

/// Two arms may not have one number.
fn check_places<'a>(
    mut taken: BTreeMap<u32, &'a str>,
    next: &BTreeMap<&'a str, Known>,
) -> Result<(), NodeError> {
    for (id, known) in next {
        let Known::Index(index) = known else { continue };
        if let Some(other) = taken.insert(*index, id) {
            return Err(NodeError::Request(format!(
                "arms {other:?} and {id:?} cannot both have index {index}: retire one of them, or give it another"
            )));
        }
    }
    Ok(())
}

/// The id was named twice.
pub(super) fn twice(id: &str) -> NodeError {
    NodeError::Request(format!("arm {:?} is there twice: name each arm once", cut(id, NAME)))
}

/// What an arm is, if it is one of this federation's.
fn usable(arm: &NewArm<'_>, shape: &Shape) -> Result<Known, NodeError> {
    let Shape { dim, own, usual, seat, .. } = shape;
    let id = cut(arm.id, NAME);
    match arm.is {
        Registered::Index(_) if *dim > 0 => Err(NodeError::Request(format!(
            "arm {id:?}: this federation's arms have features: register it with {} numbers as `features`, and no `index`",
            dim + own
        ))),
        Registered::Features(_) if *dim == 0 => Err(NodeError::Request(format!(
            "arm {id:?}: this federation's arms have no features: register it with an `index` from 0 to {}",
            usual - 1
        ))),
        Registered::Index(index) if index as usize >= *usual => Err(NodeError::Request(format!(
            "arm {id:?}: there is no index {index}: this federation has arms 0 to {}",
            usual - 1
        ))),
        Registered::Index(index) => Ok(Known::Index(index)),
        Registered::Features(features) => {
            let mut alone = ArmBuffer::default();
            let wrong = |e| NodeError::Request(format!("arm {id:?}: {e}"));
            shape.push(&mut alone, features).map_err(wrong)?;
            alone.arm_set(seat).map_err(wrong)?;
            Ok(Known::Features(features.into()))
        }
    }
}
