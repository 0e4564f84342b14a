#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod cdp;
mod ddp;
mod epochs;
mod graph;
mod hdp;
mod message;
mod noise;
mod params;
mod rules;
mod server;
mod shares;
mod single;
mod sums;
#[cfg(test)]
mod tests;

pub use cdp::Client as CdpClient;
pub use ddp::{Client as DdpClient, Synchroniser};
pub use graph::{ComponentSize, GraphShape};
pub use hdp::Client as HdpClient;
pub use hdp::sinks::{Component, components};
pub use message::{Labels, MabMsg, Row, Sum, Table};
pub use noise::{Audience, MeanNoise, Means, Protection};
pub use params::{
    CdpParams, CdpValid, Counting, DdpParams, DdpValid, Formulas, Gap, HdpParams, HdpValid, MabParams,
    Oracle, SingleParams, SingleValid,
};
pub use server::Server;
pub use single::Client as SingleClient;

use std::collections::BTreeMap;

use cahoots_core::{
    Algorithm, Claim, NodeId, ParamError, Patience, ReadFile, Seat, Setting, Silence, Silent, Topology,
    Traffic,
};

use server::Cost;
use shares::Shares;

/// Signal, server to client: report in this round.
const REPORT: u32 = 1;
/// Signal, client to synchroniser: explored.
const READY: u32 = 2;
/// Signal, synchroniser to client: everyone has explored, the slots begin.
const START: u32 = 3;
/// Signal, client to synchroniser: everyone's means are here.
const FULL: u32 = 4;
/// Signal, synchroniser to client: everyone has everyone's means.
const END: u32 = 5;

/// Rewards are clipped to where the guarantee needs them.
const REWARDS: (f64, f64) = (0.0, 1.0);

/// Clients around a server.
pub struct CdpMab;

/// Clients on a graph.
pub struct DdpMab;

/// Components with sinks, and a server.
pub struct HdpMab;

/// Clients alone.
pub struct SingleMab;

impl Algorithm for CdpMab {
    const NAME: &'static str = "cdp-mab";
    const SUMMARY: &'static str =
        "private elimination in epochs around a server, few rounds and few reporters (Li and Song 2021)";
    const MEMBERSHIP: &'static str = "A round waits for all who are asked; with `deadline` (from the first answer on) it goes on \
         once that has come and `quorum` is reached. Late means are dropped, and their sender goes \
         on epoch by epoch with what was decided without it. A client that leaves is not waited for; \
         one that comes back is told all that was decided, explores what the others have, and then \
         reports with them: nobody waits for it until then.";
    type Params = CdpParams;
    type Valid = CdpValid;
    type Msg = MabMsg;
    type Client = CdpClient;
    type Server = Server;

    fn check(params: CdpParams, setting: &Setting) -> Result<CdpValid, ParamError> {
        params.check(setting)
    }

    /// c1 per client that reports, and round.
    fn cost(valid: &CdpValid, traffic: &Traffic) -> f64 {
        valid.server_link_cost * f64::from(valid.rules.noise.participants) * traffic.rounds as f64
    }

    fn personalization(_valid: &CdpValid) -> Option<f64> {
        Some(0.0)
    }

    fn privacy(valid: &CdpValid) -> Option<Claim> {
        valid.rules.claim()
    }

    fn clips(_valid: &CdpValid) -> Option<(f64, f64)> {
        Some(REWARDS)
    }

    fn prior_kind(_valid: &Self::Valid) -> Result<String, String> {
        Err(crate::kit::arms::NO_PRIOR.into())
    }

    fn client(valid: &CdpValid, seat: &Seat) -> CdpClient {
        CdpClient::new(
            valid.rules.clone(),
            seat.me,
            seat.server,
            valid.rules.noise.participants == valid.clients,
        )
    }

    fn server(valid: &CdpValid, _seat: &Seat) -> Server {
        let sources = (0..valid.clients).map(|client| (NodeId(client), 1.0)).collect();
        let links = f64::from(valid.rules.noise.participants);
        let sample = valid.rules.noise.participants as usize;
        let costs = vec![(Cost::ServerLinks, links)];
        Server::new(valid.rules.clone(), sources, sample, Vec::new(), costs, valid.patience, None)
    }
}

impl Algorithm for DdpMab {
    const NAME: &'static str = "ddp-mab";
    const SUMMARY: &'static str =
        "private elimination in epochs on a graph, means spread by ADV, REQ and DATA (Li and Song 2021)";
    const MEMBERSHIP: &'static str = "A round needs the means of all who are there and waits for them, without a deadline. When a \
         client leaves, the others are told and go on without its means, as long as the graph still \
         connects them. A client that comes back with a fresh machine is not one of them again: it \
         plays the best arm of its first epoch.";
    type Params = DdpParams;
    type Valid = DdpValid;
    type Msg = MabMsg;
    type Client = DdpClient;
    type Server = Synchroniser;

    fn read_files(mut params: DdpParams, read: ReadFile<'_>) -> Result<DdpParams, ParamError> {
        params.topology = params.topology.read_file(read)?;
        Ok(params)
    }

    fn check(params: DdpParams, setting: &Setting) -> Result<DdpValid, ParamError> {
        params.check(setting)
    }

    /// c2 per edge and slot: Theorem 3's d_G sum(d_i) / 2 per round.
    fn cost(valid: &DdpValid, traffic: &Traffic) -> f64 {
        let links = valid.topology.edges() as f64 * f64::from(valid.diameter);
        valid.peer_link_cost * links * traffic.rounds as f64
    }

    fn personalization(_valid: &DdpValid) -> Option<f64> {
        Some(0.0)
    }

    fn privacy(valid: &DdpValid) -> Option<Claim> {
        valid.rules.claim()
    }

    fn deployable(valid: &DdpValid) -> Result<(), ParamError> {
        valid.rules.noise.deployable()
    }

    fn clips(_valid: &DdpValid) -> Option<(f64, f64)> {
        Some(REWARDS)
    }

    fn topology(valid: &DdpValid) -> Option<(Topology, Vec<NodeId>)> {
        Some((valid.topology.clone(), Vec::new()))
    }

    fn prior_kind(_valid: &Self::Valid) -> Result<String, String> {
        Err(crate::kit::arms::NO_PRIOR.into())
    }

    fn client(valid: &DdpValid, seat: &Seat) -> DdpClient {
        let neighbours = valid.topology.neighbours(seat.me).to_vec();
        let clients = valid.topology.len() as u32;
        DdpClient::new(valid.rules.clone(), seat.me, clients, neighbours, seat.server)
    }

    fn server(valid: &DdpValid, _seat: &Seat) -> Synchroniser {
        let shares = Shares::of(&valid.rules.noise);
        Synchroniser::new(valid.topology.len() as u32, valid.topology.edges() as u64, shares)
    }
}

impl HdpValid {
    fn one_way_links(&self) -> u64 {
        self.components.iter().map(|component| component.one_way_links).sum()
    }

    fn all_edges(&self) -> u64 {
        let links = |component: &Component| component.edges * u64::from(component.slots);
        self.components.iter().map(links).sum()
    }
}

impl Algorithm for HdpMab {
    const NAME: &'static str = "hdp-mab";
    const SUMMARY: &'static str =
        "private elimination in epochs, components that collect at sinks around a server (Li and Song 2021)";
    const MEMBERSHIP: &'static str = "A sink waits for the means of its whole component and the server for all sinks, without a \
         deadline: a client that leaves its component ends the rounds of that component. When a sink \
         leaves, the other components go on, and its own plays what it has. A sink that comes back \
         with a fresh machine is not one of them again.";
    type Params = HdpParams;
    type Valid = HdpValid;
    type Msg = MabMsg;
    type Client = HdpClient;
    type Server = Server;

    fn read_files(mut params: HdpParams, read: ReadFile<'_>) -> Result<HdpParams, ParamError> {
        params.topology = params.topology.read_file(read)?;
        for part in params.components.iter_mut().flatten() {
            if let ComponentSize::Own { topology, .. } = part {
                *topology = topology.clone().read_file(read)?;
            }
        }
        Ok(params)
    }

    fn check(params: HdpParams, setting: &Setting) -> Result<HdpValid, ParamError> {
        params.check(setting)
    }

    /// c1 per sink and c2 per link, and round.
    fn cost(valid: &HdpValid, traffic: &Traffic) -> f64 {
        let links = match valid.counting {
            Counting::OneWay => valid.one_way_links(),
            Counting::AllEdges => valid.all_edges(),
        };
        let sinks = valid.components.len() as f64;
        let round = valid.server_link_cost * sinks + valid.peer_link_cost * links as f64;
        round * traffic.rounds as f64
    }

    fn personalization(_valid: &HdpValid) -> Option<f64> {
        Some(0.0)
    }

    fn privacy(valid: &HdpValid) -> Option<Claim> {
        valid.rules.claim()
    }

    fn deployable(valid: &HdpValid) -> Result<(), ParamError> {
        valid.rules.noise.deployable()
    }

    fn clips(_valid: &HdpValid) -> Option<(f64, f64)> {
        Some(REWARDS)
    }

    fn topology(valid: &HdpValid) -> Option<(Topology, Vec<NodeId>)> {
        let sinks = valid.components.iter().map(|component| component.sink).collect();
        Some((valid.topology.clone(), sinks))
    }

    fn prior_kind(_valid: &Self::Valid) -> Result<String, String> {
        Err(crate::kit::arms::NO_PRIOR.into())
    }

    fn client(valid: &HdpValid, seat: &Seat) -> HdpClient {
        let neighbours = valid.topology.neighbours(seat.me).to_vec();
        HdpClient::new(valid.rules.clone(), seat.me, seat.server, neighbours)
    }

    fn server(valid: &HdpValid, _seat: &Seat) -> Server {
        let weight = |component: &Component| {
            if valid.alike { 1.0 } else { component.members.len() as f64 }
        };
        let sinks = valid.components.iter();
        let sources = sinks.clone().map(|component| (component.sink, weight(component))).collect();
        let trees = sinks.clone().map(|component| (component.sink, component.tree.clone())).collect();
        let costs = vec![
            (Cost::ServerLinks, valid.components.len() as f64),
            (Cost::AllEdges, valid.all_edges() as f64),
        ];
        let sinks = valid.components.len();
        let behind = |component: &Component| {
            let each = weight(component) / component.members.len() as f64;
            (component.sink, component.members.iter().map(|member| (*member, each)).collect())
        };
        let behind: BTreeMap<_, _> = valid.components.iter().map(behind).collect();
        let shares = Shares::of(&valid.rules.noise).map(|shares| shares.behind(behind));
        Server::new(valid.rules.clone(), sources, sinks, trees, costs, Patience::default(), shares)
    }
}

impl Algorithm for SingleMab {
    const NAME: &'static str = "single-mab";
    const SUMMARY: &'static str = "the same elimination, every client on its own (Li and Song 2021)";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = SingleParams;
    type Valid = SingleValid;
    type Msg = Silence;
    type Client = SingleClient;
    type Server = Silent<Silence>;

    fn check(params: SingleParams, setting: &Setting) -> Result<SingleValid, ParamError> {
        params.check(setting)
    }

    fn personalization(_valid: &SingleValid) -> Option<f64> {
        Some(0.0)
    }

    fn clips(_valid: &SingleValid) -> Option<(f64, f64)> {
        Some(REWARDS)
    }

    fn client(valid: &SingleValid, _seat: &Seat) -> SingleClient {
        SingleClient::new(valid.rules.clone())
    }

    fn server(_valid: &SingleValid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
