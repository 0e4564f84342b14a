//! What clients say to each other goes through the coordinator, which keeps none of it. Who does not hear a
//! client is not told what it says, nor what it confirms.

use cahoots_core::{NodeId, wire};

use super::core::Core;
use crate::transport::{self, Contents, EnvelopeHeader, Kind, confirm_peer, frame};

impl Core {
    /// A message for another client is passed on if that one is here; nothing is kept. In lockstep it waits
    /// for its turn.
    pub(super) fn between_clients(&mut self, client: NodeId, envelope: wire::Envelope) -> Result<(), String> {
        let to = NodeId(envelope.to);
        if !self.seats.hears(to, client) {
            return Err(format!("a message to {to}, who does not hear {client}"));
        }
        if self.conduct.is_quarantined(client) {
            // The others have been told not to wait for it.
            self.watch.refuse(client, "it is quarantined");
            return Ok(());
        }
        let Some(run) = &mut self.lockstep else {
            transport::intact(&envelope)?;
            if envelope.from != client.0
                || envelope.federation != self.header.federation
                || envelope.parameters != self.header.parameters
            {
                return Err("an envelope of someone else, or under other terms".into());
            }
            if let Some(connected) = self.members.connected.get(&to) {
                connected.outbox.pass_on(frame(Kind::Envelope(envelope.into())));
                self.touched.insert(to);
                self.status.relayed += 1;
            }
            return Ok(());
        };
        let header = EnvelopeHeader { from: to, ..self.header.clone() };
        let Contents { sequence, payload, .. } = transport::open(envelope, &header, client)?;
        let delivered = run.delivered(client, to);
        if sequence > delivered {
            run.came(client, to, sequence, payload);
        } else {
            self.after.push((client, confirm_peer(delivered, to)));
        }
        Ok(())
    }

    /// A client has what another one sent it: passed on to who sent it. A run in lockstep knows by itself what
    /// was delivered.
    pub(super) fn confirmed_between(&mut self, client: NodeId, peer: NodeId, sequence: u64) {
        if !self.seats.hears(peer, client) {
            return self.reject(client, format!("a confirmation for {peer}, to whom it cannot speak"));
        }
        if self.lockstep.is_none()
            && let Some(connected) = self.members.connected.get(&peer)
        {
            connected.outbox.pass_on(confirm_peer(sequence, client));
            self.touched.insert(peer);
        }
    }
}
