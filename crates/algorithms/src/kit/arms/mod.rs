//! What the K-armed algorithms share: their messages, and pulling arms by a schedule.

mod explorer;
mod message;
mod values;

pub use explorer::{Explorer, Pull};
pub use message::ArmMsg;
pub use values::{ActiveArms, ArmValues};
