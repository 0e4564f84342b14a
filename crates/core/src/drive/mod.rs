//! The one way to step a machine. A host is a machine with all that its driver must not lose: stream
//! positions, its wake, the numbers of its links, its open decisions. It checks who may speak, numbers what
//! leaves, and gives back effects and facts. Hosts are deterministic themselves; simulator, test drivers and
//! deployment differ only in what stands around them: memory or log, typed or encoded messages.

mod body;
pub mod decision;
mod event;
mod host;
mod learner;
pub mod link;
mod node;
mod queue;
pub mod snapshot;
#[cfg(test)]
mod tests;

pub use decision::DecisionId;
pub use event::{Encoded, Event, Incoming, Input, NoiseKey, Outbox, Outcome, Outgoing, Timed, Typed};
pub use host::Host;
pub use learner::LearnerHost;
pub use node::{Blueprint, ClientNode, Decided, Log, Looked, Node, Saved, ServerNode, Step, saved_server};
pub use queue::{Queues, Waiting};
