//! What leaves after a commit.

use std::collections::BTreeSet;

use cahoots_core::NodeId;

use super::core::Core;
use crate::transport::{WINDOW, confirm_kept};

/// Whoever has more messages waiting is not told that its own have come, until it has taken some of them: its window
/// closes, and what waits for a client that uploads faster than it reads stays bounded.
const LONGEST: usize = 2 * WINDOW;

impl Core {
    /// What was waiting for the commit leaves.
    pub(super) fn send(&mut self) {
        for (frames, frame) in std::mem::take(&mut self.refusals) {
            let _ = frames.try_send(frame);
        }
        let mut broken = BTreeSet::new();
        let mut active: BTreeSet<NodeId> = self.touched.union(&self.confirming).copied().collect();
        for (client, frame) in std::mem::take(&mut self.after) {
            if let Some(connected) = self.members.connected.get(&client)
                && !connected.outbox.send(frame)
            {
                broken.insert(client);
            }
            active.insert(client);
        }
        for client in std::mem::take(&mut self.confirming) {
            let Some(connected) = self.members.connected.get_mut(&client) else { continue };
            if self.lockstep.is_none() && self.machine.queues().len(client) > LONGEST {
                self.confirming.insert(client);
            } else if std::mem::take(&mut connected.confirmation_due)
                && !connected.outbox.send(confirm_kept(
                    self.machine.ends(client).received,
                    self.leading.as_ref().map(|leading| leading.kept(client)),
                ))
            {
                broken.insert(client);
            }
        }
        self.pump(&mut broken);
        for client in active {
            let bytes =
                self.members.connected.get(&client).map_or(0, |connected| connected.outbox.take_bytes());
            if bytes > 0 {
                self.watch.told(client, bytes);
            }
        }
        for client in broken {
            tracing::info!(client = client.0, "disconnected: it does not take what it is sent");
            self.members.drop_client(client);
        }
    }

    /// Sends what the machine has to say, as far as the windows allow.
    fn pump(&mut self, broken: &mut BTreeSet<NodeId>) {
        let touched = std::mem::take(&mut self.touched);
        if self.lockstep.is_none() {
            for client in touched {
                let Some(connected) = self.members.connected.get_mut(&client) else { continue };
                let sent = self.machine.ends(client).sent;
                if !connected.outbox.pump(self.machine.queues(), sent, client, &self.header) {
                    broken.insert(client);
                }
            }
        }
    }
}
