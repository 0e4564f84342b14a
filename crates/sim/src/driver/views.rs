//! What a run can be asked while it goes on and when it is over.

use cahoots_core::drive::{Host, LearnerHost};
use cahoots_core::{Algorithm, Learner, Machine, NodeId};
use cahoots_privacy::Statement;

use super::{Engine, Simulation};
use crate::ledger::Ledger;

impl<A: Algorithm> Simulation<A> {
    /// Communication in the unit of the algorithm's paper.
    pub fn cost(&self) -> f64 {
        A::cost(&self.valid, &self.books.ledger.traffic)
    }

    /// What the algorithm's claim about its users' data has come to; `None` if it makes none.
    pub fn privacy(&self) -> Option<Statement> {
        A::privacy(&self.valid).and_then(|claim| Statement::new(&claim, &self.books.ledger.accountant))
    }
}

impl<C: Learner, S: Machine<Msg = C::Msg>> Engine<C, S> {
    /// The ledger so far.
    pub fn ledger(&self) -> &Ledger {
        &self.books.ledger
    }

    /// One client's machine.
    pub fn client(&self, node: NodeId) -> &C {
        self.clients[node.index()].machine()
    }

    /// The server's machine.
    pub fn server(&self) -> &S {
        self.server.machine()
    }

    /// One client's machine with its links.
    pub fn client_host(&self, node: NodeId) -> &Host<C> {
        self.clients[node.index()].host()
    }

    /// The server's machine with its links.
    pub fn server_host(&self) -> &Host<S> {
        &self.server
    }

    /// Number of clients.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }

    /// The states of the server and of every client, to compare.
    pub fn states(&self) -> Vec<Vec<u8>> {
        std::iter::once(self.server.save()).chain(self.clients.iter().map(LearnerHost::state)).collect()
    }
}
