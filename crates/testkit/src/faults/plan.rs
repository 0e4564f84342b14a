//! What a seed stands for: a federation, an app that uses it, and what goes wrong when.

use super::cases::Cases;
use super::computer::Micros;
use super::dice::Dice;

/// A node: the coordinator, or a client by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// The coordinator.
    Coordinator,
    /// A client.
    Client(usize),
}

/// What goes wrong, or what someone does: to whom, after how long or for how long.
#[expect(missing_docs, reason = "who, what and how long are the same everywhere")]
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A process is killed; what it wrote stays.
    Kill { who: Who, down: Micros },
    /// The power is cut: what was not synced is lost or torn.
    PowerCut { who: Who, down: Micros },
    /// The same (or a kill) before one of the next operations on its disk.
    CrashAt { who: Who, operation: u64, power: bool, down: Micros },
    /// A crash right after so many more frames have left; with 0, before the next one.
    CrashSending { who: Who, frames: u64, power: bool, down: Micros },
    /// A crash in the middle of writing; and another before one of the first syncs of the next start.
    CrashTwice { who: Who, at: Moment, power: bool, down: Micros, again: u64, power_again: bool },
    /// An orderly stop, and a start later.
    Stop { who: Who, down: Micros },
    /// A connection breaks: what was on its way is lost, and each end notices in its own time.
    Cut { client: usize, client_notices: Micros, coordinator_notices: Micros },
    /// A connection breaks for the client alone: what was on its way still arrives, beside the next one.
    Ghost { client: usize, coordinator_notices: Micros },
    /// Nothing moves for a while; then it arrives.
    Stall { client: usize, up: bool, time: Micros },
    /// No connection can be made, and what there is breaks.
    Partition { client: usize, time: Micros },
    /// A bit of the next message is flipped.
    Flip { client: usize, up: bool, bit: u64 },
    /// The next message comes twice.
    Duplicate { client: usize, up: bool },
    /// The next message comes after the one behind it.
    Swap { client: usize, up: bool },
    /// A disk is full for a while.
    Full { who: Who, time: Micros },
    /// The disk fails to sync, and says so.
    SyncFails { who: Who },
    /// The disk says that it has synced and has not; then the power is cut.
    Lie { who: Who, time: Micros, down: Micros },
    /// A bit of a client's log rots while it is down.
    Rot { client: usize, down: Micros },
    /// A wall clock jumps, by milliseconds.
    ClockJump { who: Who, by: i64 },
    /// A client is told to leave.
    Remove { client: usize },
    /// A client's number is freed, though it is there.
    Release { client: usize },
    /// The coordinator's store is copied.
    Backup,
    /// The newest copy takes the place of the coordinator's store.
    Restore { down: Micros },
    /// A client's store is copied.
    Copy { client: usize },
    /// The newest copy takes the place of the client's store.
    PutBack { client: usize, down: Micros },
}

/// When a node is the most vulnerable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before one of the next syncs: what is to be synced has been written.
    BeforeSync(u64),
    /// After the next file has been given another name, and before anything else.
    AfterRename,
}

/// A schedule.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it comes from.
    pub seed: u64,
    /// Place among the cases: algorithm and size.
    pub case: (usize, usize),
    /// Decisions of each client.
    pub decisions: u64,
    /// The usual time between two of them.
    pub pace: Micros,
    /// The longest time that a frame usually takes.
    pub delay: Micros,
    /// By how much clients' disks are slower than usual: more happens while they write.
    pub slowness: u64,
    /// Log entries after which a snapshot may be written.
    pub snapshot_every: u64,
    /// Do clients bring the terms along?
    pub knows_terms: bool,
    /// Do apps have names of their own for some decisions, defer some, and give some rewards in parts?
    pub named: bool,
    /// When each client first starts.
    pub starts: Vec<Micros>,
    /// What goes wrong, in order.
    pub faults: Vec<(Micros, Fault)>,
    /// Faults that were left out, to see that they do not matter.
    pub without: Vec<usize>,
}

const MILLI: Micros = 1000;

/// From this seed on, some apps have names of their own for things.
pub const NAMED: u64 = 1000;

/// From this seed on, schedules are of the algorithms that came after seeds had their meaning.
pub const LATER: u64 = 1_000_000;

impl Plan {
    /// What this seed stands for.
    pub fn of(seed: u64, cases: &Cases) -> Plan {
        let mut dice = Dice::new(seed, 1);
        let (first, algorithms) =
            if seed < LATER { (0, cases.settled) } else { (cases.settled, cases.all.len() - cases.settled) };
        let algorithm = first + (seed % algorithms as u64) as usize;
        let size = dice.below(cases.all[algorithm].len() as u64) as usize;
        let (clients, neighbours) =
            (cases.all[algorithm][size].clients, cases.all[algorithm][size].neighbours);
        let decisions = (dice.between(20, 100) / clients as u64).clamp(5, 45);
        let pace = dice.pick(&[5 * MILLI, 20 * MILLI, 60 * MILLI]);
        let horizon = decisions * pace;
        let start = |dice: &mut Dice| if dice.one_in(4) { dice.below(horizon) } else { 0 };
        let starts: Vec<Micros> = (0..clients).map(|_| start(&mut dice)).collect();
        let mut faults: Vec<(Micros, Fault)> = Vec::new();
        for _ in 0..dice.pick(&[0, 1, 2, 4, 6, 9, 12]) {
            let at = dice.below(horizon);
            let fault = draw(&mut dice, clients, horizon);
            // Copies are there to be put back.
            match fault {
                Fault::Backup => faults.push((at + dice.below(horizon), Fault::Restore { down: 30 * MILLI })),
                Fault::Copy { client } => {
                    faults.push((at + dice.below(horizon), Fault::PutBack { client, down: 30 * MILLI }));
                }
                _ => {}
            }
            faults.push((at, fault));
        }
        let mut more = Dice::new(seed, 3);
        for _ in 0..more.pick(&[0, 0, 1, 3]) {
            let (client, up) = (more.below(clients as u64) as usize, !more.one_in(3));
            let fault =
                if more.one_in(3) { Fault::Swap { client, up } } else { Fault::Duplicate { client, up } };
            faults.push((more.below(horizon), fault));
        }
        let mut rare = Dice::new(seed, 4);
        if rare.one_in(4) {
            let (client, at) = (rare.below(clients as u64) as usize, rare.below(horizon));
            let later = at + rare.between(1, 6) * pace;
            match rare.below(3) {
                0 => faults.push((at, Fault::Rot { client, down: 30 * MILLI })),
                1 => {
                    faults.push((at, Fault::Backup));
                    faults.push((later, Fault::Restore { down: 30 * MILLI }));
                }
                _ => {
                    faults.push((at, Fault::Copy { client }));
                    faults.push((later, Fault::PutBack { client, down: 30 * MILLI }));
                }
            }
        }
        let mut twice = Dice::new(seed, 6);
        if twice.one_in(2) {
            let client = Who::Client(twice.below(clients as u64) as usize);
            let who = if twice.one_in(2) { Who::Coordinator } else { client };
            let (at, down) = (twice.below(horizon), twice.pick(&[MILLI, 50 * MILLI]));
            let moment = if twice.one_in(3) {
                // Who stops writes a snapshot, which takes the place of the one before.
                faults.push((at + MILLI, Fault::Stop { who, down }));
                Moment::AfterRename
            } else {
                Moment::BeforeSync(twice.between(1, 4))
            };
            // Who starts syncs three times what it has found; its first commit is the fourth.
            let again = twice.pick(&[1, 2, 3, 3, 3, 4, 4, 4, 4, 5, 6]);
            let (power, power_again) = (twice.one_in(2), !twice.one_in(4));
            faults.push((at, Fault::CrashTwice { who, at: moment, power, down, again, power_again }));
        }
        // What clients say to each other is kept by nobody on the way.
        let mut between = Dice::new(seed, 7);
        for _ in 0..if neighbours { between.below(5) } else { 0 } {
            let client = between.below(clients as u64) as usize;
            let fault = match between.below(4) {
                0 | 1 => Fault::Flip { client, up: true, bit: between.bits() },
                2 => Fault::Duplicate { client, up: between.one_in(2) },
                _ => Fault::Cut { client, client_notices: 5 * MILLI, coordinator_notices: 5 * MILLI },
            };
            faults.push((between.below(horizon / 2), fault));
        }
        early_copy(seed, clients, horizon, &starts, &mut faults);
        faults.sort_by_key(|(at, _)| *at);
        Plan {
            seed,
            case: (algorithm, size),
            decisions,
            pace,
            delay: dice.pick(&[MILLI, 10 * MILLI, 80 * MILLI]),
            slowness: if Dice::new(seed, 5).one_in(5) { 20 } else { 1 },
            snapshot_every: dice.pick(&[3, 20, 1000]),
            knows_terms: dice.one_in(3),
            // The first seeds are older than names.
            named: seed >= NAMED && !Dice::new(seed, 9).one_in(3),
            starts,
            faults,
            without: Vec::new(),
        }
    }

    /// Faults that are not left out.
    pub fn remaining(&self) -> impl Iterator<Item = (usize, &(Micros, Fault))> {
        self.faults.iter().enumerate().filter(|(place, _)| !self.without.contains(place))
    }

    /// Whether any fault is of this kind.
    pub fn has(&self, kind: impl Fn(&Fault) -> bool) -> bool {
        self.remaining().any(|(_, (_, fault))| kind(fault))
    }
}

/// A store that is copied when it knows next to nothing, and comes back when its number is not its own any more.
fn early_copy(
    seed: u64,
    clients: usize,
    horizon: Micros,
    starts: &[Micros],
    faults: &mut Vec<(Micros, Fault)>,
) {
    let mut dice = Dice::new(seed, 8);
    if dice.one_in(12) {
        let client = dice.below(clients as u64) as usize;
        let copied = starts[client] + dice.pick(&[MILLI, 5 * MILLI, 30 * MILLI]);
        let freed = copied + dice.below(horizon);
        faults.push((copied, Fault::Copy { client }));
        let free = if dice.one_in(2) { Fault::Release { client } } else { Fault::Remove { client } };
        faults.push((freed, free));
        faults.push((freed + dice.below(horizon), Fault::PutBack { client, down: MILLI }));
    }
}

fn draw(dice: &mut Dice, clients: usize, horizon: Micros) -> Fault {
    let client = dice.below(clients as u64) as usize;
    let who = if dice.one_in(3) { Who::Coordinator } else { Who::Client(client) };
    let down = dice.pick(&[MILLI, 50 * MILLI, 400 * MILLI]);
    let time = MILLI + dice.below(horizon / 2);
    let notices = [0, 5 * MILLI, 300 * MILLI, 2000 * MILLI];
    match dice.below(26) {
        0 | 1 => Fault::Kill { who, down },
        2 | 3 => Fault::PowerCut { who, down },
        4..=8 => Fault::CrashAt { who, operation: dice.between(1, 14), power: dice.one_in(2), down },
        9..=11 => Fault::CrashSending { who, frames: dice.below(4), power: dice.one_in(2), down },
        12 => Fault::Stop { who, down },
        13 | 14 => Fault::Cut {
            client,
            client_notices: dice.pick(&notices[..3]),
            coordinator_notices: dice.pick(&notices),
        },
        15 | 16 => Fault::Ghost { client, coordinator_notices: dice.pick(&notices) },
        17 => Fault::Stall { client, up: dice.one_in(2), time },
        18 => Fault::Partition { client, time },
        19 => Fault::Flip { client, up: dice.one_in(2), bit: dice.bits() },
        20 => Fault::Full { who, time },
        21 => Fault::SyncFails { who },
        22 => match dice.below(3) {
            0 => Fault::Lie { who, time, down },
            _ => Fault::ClockJump { who, by: dice.pick(&[-86_400_000, -3000, 700, 5000, 3_600_000]) },
        },
        23 => match dice.below(3) {
            0 => Fault::Remove { client },
            1 => Fault::Release { client },
            _ => Fault::Copy { client },
        },
        24 => Fault::Backup,
        _ => Fault::Kill { who, down },
    }
}
