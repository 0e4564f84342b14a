//! What a seed of this family stands for: a federation whose coordinators share a log, and what goes wrong when.

use super::super::cases::Cases;
use super::super::computer::Micros;
use super::super::dice::Dice;
use super::super::plan::LATER;
use crate::stream;

/// One of the coordinators: by its number, or whoever leads then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// This one.
    Number(usize),
    /// Who leads, as far as it knows.
    Leader,
}

/// What goes wrong: to whom, after how long or for how long.
#[expect(missing_docs, reason = "who, what and how long are the same everywhere")]
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// A coordinator is killed; with `power`, what it had not synced is gone.
    Kill { whom: Whom, power: bool, down: Micros },
    /// A coordinator takes no step for a while, and goes on as if nothing had been.
    Pause { whom: Whom, time: Micros },
    /// The same as soon as it has sent the log something and has no answer.
    PauseUnsettled { time: Micros },
    /// Whoever has sent the log something and has no answer is killed.
    KillUnsettled { down: Micros },
    /// An orderly stop, and a start later.
    Stop { whom: Whom, down: Micros },
    /// A coordinator reaches neither the log nor the others, though its clients reach it.
    Isolate { whom: Whom, time: Micros },
    /// Coordinators do not hear of each other.
    Deaf { time: Micros },
    /// A coordinator's next questions to the log go wrong.
    Log { whom: Whom, faults: Vec<stream::Fault> },
    /// All that the stream keeps is copied.
    Copy,
    /// The newest copy takes the place of what the stream keeps: what was acknowledged since is lost.
    PutBack { objects: bool },
    /// The last messages of the stream are lost, though they were acknowledged.
    LoseEnd { messages: usize },
    /// A bit of one of the last messages is another, wherever it is kept.
    Flip { back: u64 },
    /// The same of the newest snapshot.
    FlipSnapshot,
    /// A client is killed; with `power`, what it had not synced is gone.
    KillClient { client: usize, power: bool, down: Micros },
    /// A client's connection breaks, and each end notices in its own time.
    Cut { client: usize, client_notices: Micros, coordinator_notices: Micros },
    /// A client reaches nobody for a while.
    Partition { client: usize, time: Micros },
    /// A bit of the next message is flipped.
    FlipFrame { client: usize, up: bool, bit: u64 },
    /// The next message comes twice.
    Duplicate { client: usize, up: bool },
}

/// Kinds of trouble, to be counted.
pub const KINDS: [&str; 18] = [
    "kill",
    "pause",
    "pause without an answer",
    "kill without an answer",
    "stop",
    "isolate",
    "deaf",
    "log",
    "copy",
    "put back",
    "lose the end",
    "flip",
    "flip a snapshot",
    "kill a client",
    "cut",
    "partition",
    "flip a frame",
    "duplicate",
];

impl Trouble {
    /// How long it takes, by itself.
    pub(super) fn time(&self) -> Micros {
        match self {
            Trouble::Kill { down, .. }
            | Trouble::Stop { down, .. }
            | Trouble::KillUnsettled { down }
            | Trouble::KillClient { down, .. } => *down,
            Trouble::Pause { time, .. }
            | Trouble::PauseUnsettled { time }
            | Trouble::Isolate { time, .. }
            | Trouble::Deaf { time }
            | Trouble::Partition { time, .. } => *time,
            _ => 0,
        }
    }

    /// Its place among the kinds.
    pub fn kind(&self) -> usize {
        match self {
            Trouble::Kill { .. } => 0,
            Trouble::Pause { .. } => 1,
            Trouble::PauseUnsettled { .. } => 2,
            Trouble::KillUnsettled { .. } => 3,
            Trouble::Stop { .. } => 4,
            Trouble::Isolate { .. } => 5,
            Trouble::Deaf { .. } => 6,
            Trouble::Log { .. } => 7,
            Trouble::Copy => 8,
            Trouble::PutBack { .. } => 9,
            Trouble::LoseEnd { .. } => 10,
            Trouble::Flip { .. } => 11,
            Trouble::FlipSnapshot => 12,
            Trouble::KillClient { .. } => 13,
            Trouble::Cut { .. } => 14,
            Trouble::Partition { .. } => 15,
            Trouble::FlipFrame { .. } => 16,
            Trouble::Duplicate { .. } => 17,
        }
    }
}

/// A schedule.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it comes from.
    pub seed: u64,
    /// Place among the cases: algorithm and size.
    pub case: (usize, usize),
    /// How many coordinators there are.
    pub coordinators: usize,
    /// Decisions of each client.
    pub decisions: u64,
    /// The usual time between two of them.
    pub pace: Micros,
    /// The longest time that a frame usually takes.
    pub delay: Micros,
    /// Bytes after which the log is long, and the state is kept.
    pub long_log: u64,
    /// Without a sign of the leader for so long, another tries to lead.
    pub lease: Micros,
    /// What goes wrong, in order.
    pub troubles: Vec<(Micros, Trouble)>,
    /// Those that were left out, to see that they do not matter.
    pub without: Vec<usize>,
}

const MILLI: Micros = 1000;

impl Plan {
    /// What this seed stands for.
    pub fn of(seed: u64, cases: &Cases) -> Plan {
        let mut dice = Dice::new(seed, 2001);
        // Sums that can be read off tell the most.
        let readable = |algorithm: &&usize| cases.all[**algorithm].iter().any(|case| case.merged.is_some());
        let known = if seed < LATER { cases.replicated } else { cases.all.len() };
        let all: Vec<usize> = (0..known).collect();
        let told: Vec<usize> = all.iter().filter(readable).copied().collect();
        let algorithm = if dice.one_in(2) { dice.pick(&told) } else { dice.pick(&all) };
        let size = dice.below(cases.all[algorithm].len() as u64) as usize;
        let clients = cases.all[algorithm][size].clients;
        let coordinators = dice.pick(&[2, 3, 3]);
        let decisions = (dice.between(20, 90) / clients as u64).clamp(5, 40);
        let pace = dice.pick(&[20 * MILLI, 60 * MILLI, 150 * MILLI]);
        let horizon = (decisions * pace).max(1500 * MILLI);
        let mut troubles = Vec::new();
        let mut draws = Dice::new(seed, 2002);
        for _ in 0..draws.pick(&[1, 2, 3, 5, 8, 12]) {
            let at = 200 * MILLI + draws.below(horizon);
            troubles.push((at, draw(&mut draws, coordinators, clients)));
        }
        let mut loses = Dice::new(seed, 2003);
        if loses.one_in(3) {
            lose(&mut loses, horizon, &mut troubles);
        }
        troubles.sort_by_key(|(at, _)| *at);
        Plan {
            seed,
            case: (algorithm, size),
            coordinators,
            decisions,
            pace,
            delay: dice.pick(&[MILLI, 10 * MILLI, 80 * MILLI]),
            long_log: dice.pick(&[1500, 6000, 1 << 20]),
            lease: dice.pick(&[900 * MILLI, 2000 * MILLI]),
            troubles,
            without: Vec::new(),
        }
    }

    /// Troubles that are not left out.
    pub fn remaining(&self) -> impl Iterator<Item = (usize, &(Micros, Trouble))> {
        self.troubles.iter().enumerate().filter(|(place, _)| !self.without.contains(place))
    }
}

/// The stream loses what it has acknowledged.
fn lose(dice: &mut Dice, horizon: Micros, troubles: &mut Vec<(Micros, Trouble)>) {
    let at = 200 * MILLI + dice.below(horizon);
    match dice.below(4) {
        0 | 1 => {
            troubles.push((at, Trouble::Copy));
            let later = at + dice.pick(&[5 * MILLI, 100 * MILLI, 700 * MILLI, horizon / 2]);
            troubles.push((later, Trouble::PutBack { objects: dice.one_in(2) }));
        }
        2 => troubles.push((at, Trouble::LoseEnd { messages: dice.between(1, 12) as usize })),
        _ => troubles.push((at, Trouble::Flip { back: dice.below(8) })),
    }
}

fn draw(dice: &mut Dice, coordinators: usize, clients: usize) -> Trouble {
    let client = dice.below(clients as u64) as usize;
    let number = Whom::Number(dice.below(coordinators as u64) as usize);
    let whom = if dice.one_in(2) { Whom::Leader } else { number };
    let down = dice.pick(&[MILLI, 300 * MILLI, 2500 * MILLI]);
    // Shorter than a lease, a little longer, and much longer.
    let time = dice.pick(&[50 * MILLI, 700 * MILLI, 2600 * MILLI, 6000 * MILLI]);
    let up = dice.one_in(2);
    match dice.below(27) {
        0..=2 => Trouble::Kill { whom, power: dice.one_in(3), down },
        3..=5 => Trouble::Pause { whom, time },
        6 | 7 => Trouble::PauseUnsettled { time },
        8 | 9 => Trouble::KillUnsettled { down },
        10 => Trouble::Stop { whom, down },
        11 | 12 => Trouble::Isolate { whom, time },
        13 => Trouble::Deaf { time },
        14..=19 => Trouble::Log { whom, faults: faults(dice) },
        20 => Trouble::FlipSnapshot,
        21 | 22 => Trouble::KillClient { client, power: dice.one_in(2), down },
        23 => Trouble::Cut {
            client,
            client_notices: dice.pick(&[0, 5 * MILLI, 300 * MILLI]),
            coordinator_notices: dice.pick(&[0, 5 * MILLI, 2000 * MILLI]),
        },
        24 => Trouble::Partition { client, time },
        25 => Trouble::FlipFrame { client, up, bit: dice.bits() },
        _ => Trouble::Duplicate { client, up },
    }
}

/// What happens to a coordinator's next questions: one kind of trouble, or several.
fn faults(dice: &mut Dice) -> Vec<stream::Fault> {
    use stream::Fault::*;
    let mut faults = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2, 4]) {
        let fault = match dice.below(12) {
            0 | 1 => LostAnswer,
            2 | 3 => LostQuestion,
            4 | 5 => Late(dice.below(12) as u32),
            6 | 7 => FromThePast(dice.between(1, 6)),
            8 => Silent,
            9 => FlippedRead,
            10 => FlippedObject,
            _ => dice.pick(&[Absent, SilentObjects]),
        };
        let times = match fault {
            Silent | FromThePast(_) => dice.pick(&[1, 3, 8]),
            _ => 1,
        };
        faults.extend(std::iter::repeat_n(fault, times));
    }
    faults
}
