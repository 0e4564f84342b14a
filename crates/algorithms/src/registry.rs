//! Our algorithms: the list that a program is started with unless it says otherwise.

use cahoots_core::{Erase, Registry};

/// Our algorithms, as their driver needs them: one line each.
pub fn ours<E: Erase>() -> Registry<E> {
    let mut list = Registry::default();
    list.add::<crate::linucb_alone::LinucbAlone>();
    list.add::<crate::linucb_alone::LintsAlone>();
    list.add::<crate::linucb_alone::LinucbShared>();
    list.add::<crate::random::Random>();
    list.add::<crate::greedy::Greedy>();
    list.add::<crate::greedy::EpsilonGreedy>();
    list.add::<crate::greedy::Softmax>();
    list.add::<crate::greedy::Igw>();
    list.add::<crate::disjoint_linucb::DisjointLinucb>();
    list.add::<crate::async_linucb::AsyncLinucb>();
    list.add::<crate::async_linucb_am::AsyncLinucbAm>();
    list.add::<crate::sync_linucb::SyncLinucb>();
    list.add::<crate::fed_linucb::FedLinucb>();
    list.add::<crate::fed_igw::FedIgw>();
    list.add::<crate::hetofed::Hetofed>();
    list.add::<crate::hetofed::HetofedPq>();
    list.add::<crate::hetofed::HetofedDr>();
    list.add::<crate::hetofed::HetofedE>();
    list.add::<crate::hetofed_async::HetofedAsync>();
    list.add::<crate::dyclu::Dyclu>();
    list.add::<crate::club::LocalClub>();
    list.add::<crate::club::LocalSclub>();
    list.add::<crate::fclub::Fclub>();
    list.add::<crate::fclub::FclubDc>();
    list.add::<crate::fclub::CdpFclubDc>();
    list.add::<crate::fclub::Homo>();
    list.add::<crate::fclub::HomoDc>();
    list.add::<crate::ucb_alone::UcbAlone>();
    list.add::<crate::kl_ucb_alone::KlUcbAlone>();
    list.add::<crate::moss_alone::MossAlone>();
    list.add::<crate::ts_beta_alone::TsBetaAlone>();
    list.add::<crate::exp3_alone::Exp3Alone>();
    list.add::<crate::dp_mab::CdpMab>();
    list.add::<crate::dp_mab::DdpMab>();
    list.add::<crate::dp_mab::HdpMab>();
    list.add::<crate::dp_mab::SingleMab>();
    list.add::<crate::pf_ucb::PfUcb>();
    list.add::<crate::pf_ucb::PfUcbEnhanced>();
    list.add::<crate::fed_elim::FedElim>();
    list.add::<crate::fed2_ucb::Fed2Ucb>();
    list.add::<crate::private::PrivateLinucb>();
    list.add::<crate::private::PrivateFclub>();
    list.add::<crate::private_fed_linucb::PrivateFedLinucb>();
    list
}
