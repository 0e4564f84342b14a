//! What the K-armed algorithms share: their messages, pulling arms by a schedule, and a learner that keeps to itself.

mod alone;
mod explorer;
mod message;
mod told;
mod values;

/// Why no K-armed federation begins from another's sums.
pub(crate) const NO_PRIOR: &str =
    "arms are given up phase by phase, each on what was pulled in its own phases";

/// Why algorithms that give up arms cannot take a client out again.
pub(crate) const FORGETS_NOT: &str = "arms were given up with the means of all who took part, and nobody explored them since: that cannot be undone";

pub use alone::{AloneArms, plain_arms};
pub use explorer::{Explorer, Pull};
pub use message::ArmMsg;
pub use told::Told;
pub use values::{ActiveArms, ArmValues};
