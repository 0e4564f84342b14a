//! Lines between the servers themselves: one for each way, so that a server can be cut off from the others and from nobody else.

use std::net::SocketAddr;

use super::proxy::NatsProxy;

/// A line from each server to each other.
pub(super) struct Routes {
    /// From, to; none to itself.
    lines: Vec<Vec<Option<NatsProxy>>>,
}

impl Routes {
    /// Lines between servers that listen here for each other.
    pub(super) fn between(places: &[SocketAddr]) -> Result<Routes, String> {
        let line = |from: usize, to: usize| match from == to {
            true => Ok(None),
            false => NatsProxy::plain(places[to]).map(Some),
        };
        let from = |from: usize| (0..places.len()).map(|to| line(from, to)).collect();
        Ok(Routes { lines: (0..places.len()).map(from).collect::<Result<_, String>>()? })
    }

    /// Where a server finds the others.
    pub(super) fn of(&self, server: usize) -> Vec<String> {
        let others = self.lines[server].iter().flatten();
        others.map(|line| format!("nats-route://{}", line.address())).collect()
    }

    /// Nothing passes between a server and the others.
    pub(super) fn cut(&self, server: usize) {
        self.at(server).for_each(NatsProxy::cut);
    }

    /// What was kept back is delivered, and all else passes again.
    pub(super) fn mend(&self, server: usize) {
        self.at(server).for_each(NatsProxy::mend);
    }

    /// All lines that begin or end at a server.
    fn at(&self, server: usize) -> impl Iterator<Item = &NatsProxy> {
        let away = self.lines[server].iter();
        away.chain(self.lines.iter().map(move |line| &line[server])).flatten()
    }
}
