//! Values by receiver, found without a search: clients are numbered from 0 on, and each of them is one receiver
//! or has a few.

use std::collections::BTreeMap;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

use super::Receiver;

/// A map that is as long as the highest client; it is saved as an ordered map would be.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    try_from = "BTreeMap<K, V>",
    bound(deserialize = "K: Receiver + Deserialize<'de>, V: Deserialize<'de>")
)]
pub(super) struct ByClient<K, V> {
    /// The receivers of each client, in order.
    clients: Vec<SmallVec<[(K, V); 1]>>,
}

impl<K: Receiver, V> ByClient<K, V> {
    /// Nobody yet.
    pub(super) fn new() -> Self {
        ByClient { clients: Vec::new() }
    }

    /// A receiver's value.
    pub(super) fn get(&self, receiver: K) -> Option<&V> {
        let own = self.clients.get(receiver.client().index())?;
        own.iter().find(|(key, _)| *key == receiver).map(|(_, value)| value)
    }

    /// Sets a receiver's value; gives the one before.
    pub(super) fn insert(&mut self, receiver: K, value: V) -> Option<V> {
        let client = receiver.client().index();
        if self.clients.len() <= client {
            self.clients.resize_with(client + 1, SmallVec::new);
        }
        let own = &mut self.clients[client];
        match own.binary_search_by_key(&receiver, |(key, _)| *key) {
            Ok(at) => Some(std::mem::replace(&mut own[at].1, value)),
            Err(at) => {
                own.insert(at, (receiver, value));
                None
            }
        }
    }

    /// Forgets a receiver; gives its value.
    pub(super) fn remove(&mut self, receiver: K) -> Option<V> {
        let own = self.clients.get_mut(receiver.client().index())?;
        let at = own.iter().position(|(key, _)| *key == receiver)?;
        Some(own.remove(at).1)
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.clients.iter().flatten().map(|(key, value)| (*key, value))
    }
}

/// The highest client of a map that is read: bytes that were changed would otherwise ask for any amount of memory.
const HIGHEST: usize = 1 << 22;

impl<K: Receiver, V> TryFrom<BTreeMap<K, V>> for ByClient<K, V> {
    type Error = String;

    fn try_from(map: BTreeMap<K, V>) -> Result<Self, String> {
        let mut values = ByClient::new();
        for (receiver, value) in map {
            if receiver.client().index() > HIGHEST {
                return Err(format!("{} is beyond {HIGHEST} clients", receiver.client()));
            }
            values.insert(receiver, value);
        }
        Ok(values)
    }
}

impl<K: Receiver + Serialize, V: Serialize> Serialize for ByClient<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.clients.iter().map(SmallVec::len).sum()))?;
        for (receiver, value) in self.iter() {
            map.serialize_entry(&receiver, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::NodeId;
    use cahoots_core::drive::snapshot;
    use serde::de::DeserializeOwned;

    use super::*;

    /// Does the same to both, and compares all that can be seen, bytes included.
    fn compare<K: Receiver + Serialize + DeserializeOwned + std::fmt::Debug>(receivers: &[K]) {
        let (mut dense, mut ordered) = (ByClient::new(), BTreeMap::new());
        for (step, &receiver) in receivers.iter().enumerate() {
            if step % 5 == 3 {
                assert_eq!(dense.remove(receiver), ordered.remove(&receiver));
                assert_eq!(dense.remove(receiver), None);
            } else {
                assert_eq!(dense.insert(receiver, step), ordered.insert(receiver, step));
            }
            for receiver in receivers {
                assert_eq!(dense.get(*receiver), ordered.get(receiver));
            }
            assert!(dense.iter().eq(ordered.iter().map(|(receiver, value)| (*receiver, value))));
            let bytes = snapshot::save(&dense);
            assert_eq!(bytes, snapshot::save(&ordered));
            let again: ByClient<K, usize> = snapshot::restore(&bytes).unwrap();
            assert!(again.iter().eq(dense.iter()));
        }
    }

    /// Bytes that were changed may name anyone.
    #[test]
    fn a_client_that_is_none_asks_for_no_memory() {
        let bytes = snapshot::save(&BTreeMap::from([(NodeId(u32::MAX - 1), 1usize)]));
        assert!(snapshot::restore::<ByClient<NodeId, usize>>(&bytes).is_err());
    }

    #[test]
    fn it_is_an_ordered_map() {
        compare(&[3, 0, 7, 3, 3, 1, 0, 7, 7, 2, 5, 4, 3, 3].map(NodeId));
        let local = |(client, cluster)| (NodeId(client), cluster);
        compare(&[(1, 4), (1, 2), (0, 9), (1, 2), (1, 3), (1, 1), (2, 0), (1, 4), (1, 4), (1, 4)].map(local));
    }
}
