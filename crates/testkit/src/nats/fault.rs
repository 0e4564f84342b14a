//! What can go wrong, drawn from a seed.

use std::time::Duration;

use cahoots_core::{Keys, NodeId, Stream};

/// A server, by what it does or by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Whichever leads the stream at the moment.
    Leader,
    /// This one.
    Number(usize),
}

/// One thing that goes wrong, and is put right again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// kill -9 of the coordinator that leads.
    KillLeader,
    /// kill -9 of one that stands by.
    KillStandby,
    /// kill -9 of all coordinators.
    KillCoordinators,
    /// kill -9 of a client.
    KillClient(usize),
    /// The leader stands still for so long, and then goes on as if nothing had been.
    FreezeLeader(Duration),
    /// kill -9 of a server, which comes back after a time.
    KillServer(Server, Duration),
    /// A server stands still for so long.
    FreezeServer(Server, Duration),
    /// A server stands still again and again, each time a moment: to all others that is a slow disk.
    SlowServer(Server),
    /// kill -9 of two servers, which come back after a time; this one is left.
    KillServersBut(usize, Duration),
    /// Answers to the next appends are lost.
    LoseAnswers(u64),
    /// The next appends are lost on their way.
    LoseAppends(u64),
    /// Answers to the next appends are late.
    DelayAnswers(u64, Duration),
    /// Nothing passes between the leader and the servers for so long.
    CutLeader(Duration),
    /// The servers hear the leader for so long, and it hears nothing.
    DeafenLeader(Duration),
    /// A server loses its disk, while the others are well.
    WipeServer(usize),
    /// A server gets an old disk, while the others are well.
    RollBackServer(usize),
    /// Nothing passes between a server and the other servers for so long.
    CutServer(Server, Duration),
    /// The stream is removed, and what was kept beside it is not: the coordinators halt, and their operator accepts it.
    RemoveStream,
    /// All servers get old disks: the same.
    RollBackServers,
    /// The date of this coordinator jumps by so many seconds; nothing happens where there is no libfaketime.
    ClockJump(usize, i64),
}

/// How many kinds there are.
pub(super) const KINDS: u64 = 22;
/// So long nobody waits for.
const LONG: Duration = Duration::from_secs(30);

impl Fault {
    /// So many, as a seed has them. Every kind comes before one comes again.
    pub fn schedule(seed: u64, faults: usize, servers: usize, clients: usize) -> Vec<Fault> {
        let mut dice = Keys::from_seed(seed).policy(NodeId(0), 0);
        let mut left = Vec::new();
        (0..faults)
            .map(|_| {
                if left.is_empty() {
                    left = (0..KINDS).collect();
                }
                let kind = left.swap_remove(dice.below(left.len() as u64) as usize);
                Fault::draw(kind, &mut dice, servers, clients)
            })
            .collect()
    }

    fn draw(kind: u64, dice: &mut Stream, servers: usize, clients: usize) -> Fault {
        let number = dice.below(servers as u64) as usize;
        let server = if dice.below(2) == 0 { Server::Leader } else { Server::Number(number) };
        // Some are shorter than a lease, some are longer.
        let time = Duration::from_millis(200 + dice.below(6_000));
        let some = 1 + dice.below(5);
        match kind {
            0 => Fault::KillLeader,
            1 => Fault::KillStandby,
            2 => Fault::KillCoordinators,
            3 => Fault::KillClient(dice.below(clients as u64) as usize),
            4 => Fault::FreezeLeader(time),
            5 => Fault::KillServer(server, time),
            6 => Fault::FreezeServer(server, time),
            7 => Fault::SlowServer(server),
            8 => Fault::KillServersBut(number, time),
            9 => Fault::LoseAnswers(some),
            10 => Fault::LoseAppends(some),
            11 => Fault::DelayAnswers(some, time),
            12 => Fault::CutLeader(time),
            13 => Fault::DeafenLeader(time),
            14 => Fault::WipeServer(number),
            15 => Fault::RollBackServer(number),
            16 => Fault::CutServer(server, 2 * time),
            17 => Fault::FreezeLeader(LONG),
            18 => Fault::FreezeServer(server, LONG),
            19 => Fault::RemoveStream,
            20 => Fault::RollBackServers,
            // Up to a day, forward or back.
            _ => Fault::ClockJump(number, dice.below(2 * 86_400) as i64 - 86_400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_has_every_kind_and_follows_from_its_seed() {
        let schedule = Fault::schedule(3, KINDS as usize, 3, 2);
        let kinds: std::collections::HashSet<_> = schedule.iter().map(std::mem::discriminant).collect();
        // Two of them differ in their length alone.
        assert_eq!(kinds.len(), KINDS as usize - 2);
        assert_eq!(schedule, Fault::schedule(3, KINDS as usize, 3, 2));
        assert_ne!(schedule, Fault::schedule(4, KINDS as usize, 3, 2));
    }
}
