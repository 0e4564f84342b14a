//! What a step was about, for whoever keeps the books: ledgers, accountants, status pages. Facts change
//! nothing; drivers hand them on.

use std::borrow::Cow;

use crate::contract::private::ReleaseFact;

/// One thing that a machine reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A statistic was made fit to leave.
    Release(ReleaseFact),
    /// Synchronous rounds were held; they add up.
    Rounds(u64),
    /// A loss that the algorithm's paper puts into the regret for communication; it adds up.
    CommunicationLoss(f64),
    /// Clusters of clients or users, as they now stand.
    Clusters(u64),
    /// The server would not merge an upload of this machine's: what was in it is kept here.
    Refused {
        /// Observations in it.
        observations: u64,
        /// Why, in the server's words.
        reason: String,
    },
    /// A value under a name of the algorithm's own; the last one counts.
    Level(Cow<'static, str>, f64),
    /// Something counted under a name of the algorithm's own; over all machines, it adds up.
    Count(Cow<'static, str>, f64),
}
