//! Steps as they are handed out in lockstep. A step that a client has done before is only answered again.

use cahoots_core::NodeId;

use super::core::Core;
use crate::lockstep::{Next, Order, Step};
use crate::transport::proto::{Decide, Frame, Grant, Report, Start, Wake, grant};
use crate::transport::{EnvelopeHeader, Kind, frame};

impl Core {
    /// Takes all steps that are the coordinator's own, then hands out one.
    pub(super) fn advance(&mut self) {
        while let Some(run) = &mut self.lockstep {
            match run.next(self.machine.wake()) {
                Next::Event(event) => self.event(event),
                Next::Wait => break,
                Next::Finished(clients) => {
                    if let Some(finish) = self.finish.take() {
                        let _ = finish.send(std::iter::once(self.machine.state()).chain(clients).collect());
                    }
                    break;
                }
            }
        }
        let Some(run) = &mut self.lockstep else { return };
        if let Some(progress) = run.progress() {
            self.batch.set("lockstep", progress);
        }
        if let Some(order) = run.waiting()
            && let Some(connected) = self.members.connected.get(&order.client)
            && self.granted != Some((order.number, connected.session))
        {
            let session = connected.session;
            if let Some(grant) = self.grant(order) {
                self.granted = Some((order.number, session));
                self.after.push((order.client, grant));
            }
        }
    }

    /// A step to hand out; none while a message that is to be delivered has not come.
    fn grant(&mut self, order: Order) -> Option<Frame> {
        let run = self.lockstep.as_ref()?;
        let known = run.known(order.client);
        let step = match order.step {
            Step::Start => grant::Step::Start(Start {}),
            Step::Decide(user) => grant::Step::Decide(Decide { user: user.0 }),
            Step::Wake => grant::Step::Wake(Wake {}),
            Step::Report => grant::Step::Report(Report {}),
            Step::Deliver { from, sequence } if from != NodeId::SERVER => {
                let payload = run.letter(from, order.client, sequence)?.to_vec();
                let header = EnvelopeHeader { from, ..self.header.clone() };
                grant::Step::Deliver(header.around(order.client, sequence, 0, payload))
            }
            Step::Deliver { sequence, .. } => {
                let queues = self.machine.queues();
                let message = queues.after(order.client, sequence - 1).next();
                let message = message.filter(|message| message.sequence == sequence);
                // A client that has it already will only be asked to answer again.
                let envelope = message.map(|message| self.header.envelope(order.client, message));
                grant::Step::Deliver(envelope.unwrap_or_default())
            }
        };
        Some(frame(Kind::Grant(
            Grant { order: order.number, tick: order.tick, step: Some(step), known }.into(),
        )))
    }
}
