//! What a log cannot answer, and what to do about it.

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Nothing in it.
    #[error("the log has no decisions")]
    Empty,
    /// One arm.
    #[error(
        "the log shows one arm alone ({0}): there is nothing to choose between, and nothing to learn of others"
    )]
    OneArm(String),
    /// Propensities are not there.
    #[error(
        "the log does not say how likely its decisions were: name that column (--propensity COLUMN); if every arm was \
         as likely as every other, say so (--uniform-logging). Without either, no estimate can be right"
    )]
    NoPropensities,
    /// A propensity that is none.
    #[error(
        "{place}: a propensity of {value}: the probability of what was done lies above 0 and is at most 1. Leave out \
         rows whose probability was not kept, or mend them"
    )]
    Propensity {
        /// Where.
        place: String,
        /// What stands there.
        value: String,
    },
    /// A number that is none.
    #[error("{place}: {column} is {value}, which is no number that can be added up")]
    Number {
        /// Where.
        place: String,
        /// What it is.
        column: String,
        /// What stands there.
        value: String,
    },
    /// An arm that was taken and not offered.
    #[error("{place}: the arm that was taken is not among those that were offered")]
    NotOffered {
        /// Where.
        place: String,
    },
    /// Probabilities of the target that are none.
    #[error(
        "{place}: the probabilities of the policy {problem}: they must be 0 or more and add up to 1 over the arms"
    )]
    Probabilities {
        /// Where.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Nothing was left to chance.
    #[error(
        "every propensity is 1: a log without chance says nothing of what it did not do. Log with some exploration (an \
         epsilon-greedy or softmax policy, with its probabilities), or evaluate `logged`"
    )]
    Deterministic,
    /// The target goes where the log never went.
    #[error(
        "the policy puts {share:.1}% of its probability on what the log never shows ({never}): of that the log knows \
         nothing. Evaluate a policy that stays within the log, or say --force for numbers that leave it out"
    )]
    NoOverlap {
        /// Percent.
        share: f64,
        /// A few of them by name.
        never: String,
    },
    /// The target and the log hardly meet.
    #[error(
        "the log and the policy hardly meet: {rows} decisions weigh as much as {effective:.1} of the policy's own, below \
         the floor of {floor} (--least-effective). A longer log, a policy nearer to the logging one, or a mixture of both \
         can be evaluated; --force shows the numbers all the same"
    )]
    FewEffective {
        /// Decisions.
        rows: u64,
        /// Effective sample size.
        effective: f64,
        /// What is asked for.
        floor: f64,
    },
    /// A bound that does not hold.
    #[error("{what} is said to be {stated}, but the log has {found} in row {row}")]
    Bound {
        /// Which.
        what: &'static str,
        /// As stated.
        stated: f64,
        /// As found.
        found: f64,
        /// Counted from 1, the header not counted.
        row: u64,
    },
    /// Too many sums.
    #[error(
        "models for {cells} arms (in positions) with {features} features take {gigabytes:.0} GB of sums: name fewer \
         columns (--context)"
    )]
    TooLarge {
        /// Arms in positions.
        cells: usize,
        /// Features.
        features: usize,
        /// Of sums.
        gigabytes: f64,
    },
    /// Too many names.
    #[error("the log has more than {most} different {what}: is the right column named?")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// The question is wrong.
    #[error("{0}")]
    Question(String),
    /// The log cannot be read.
    #[error("{0}")]
    Unreadable(String),
}
