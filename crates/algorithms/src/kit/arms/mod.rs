//! What the K-armed algorithms share: their messages.

mod message;
mod values;

pub use message::ArmMsg;
pub use values::{ActiveArms, ArmValues};
