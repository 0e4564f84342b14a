//! Lists of what a program was started with. Nobody here knows an algorithm by name: whoever drives
//! algorithms says what it needs of one without its type ([`Erase`]), and a [`Registry`] keeps that under
//! the algorithm's name. A list is filled when a program starts, so a stranger's algorithm is one more
//! [`Registry::add`].

use crate::contract::machine::Algorithm;

/// What a driver needs of an algorithm once its type is gone. Types are erased here, once.
pub trait Erase: Sized {
    /// The entry of one algorithm.
    fn of<A: Algorithm>() -> Self;
}

/// Entries by name, in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Registry<E> {
    entries: Vec<(&'static str, E)>,
}

impl<E> Default for Registry<E> {
    fn default() -> Self {
        Registry { entries: Vec::new() }
    }
}

impl<E> Registry<E> {
    /// Adds an entry under a name of its own.
    ///
    /// # Panics
    /// If the name is taken: two things of one name cannot both be what a file means.
    #[track_caller]
    pub fn insert(&mut self, name: &'static str, entry: E) {
        assert!(
            self.get(name).is_none(),
            "the name {name:?} is taken: give what is added another NAME, or leave one of the two out"
        );
        self.entries.push((name, entry));
    }

    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&E> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, entry)| entry)
    }

    /// All names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.entries.iter().map(|(name, _)| *name)
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &E> {
        self.entries.iter().map(|(_, entry)| entry)
    }
}

impl<E: Erase> Registry<E> {
    /// Adds an algorithm.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn add<A: Algorithm>(&mut self) -> &mut Self {
        self.insert(A::NAME, E::of::<A>());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_and_are_found_by_name() {
        let mut list = Registry::default();
        list.insert("second", 2);
        list.insert("first", 1);
        assert_eq!(list.names().collect::<Vec<_>>(), ["second", "first"]);
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [2, 1]);
        assert_eq!(list.get("first"), Some(&1));
        assert_eq!(list.get("third"), None);
    }

    #[test]
    #[should_panic(expected = "the name \"one\" is taken")]
    fn a_name_is_given_once() {
        let mut list = Registry::default();
        list.insert("one", 1);
        list.insert("one", 2);
    }
}
