//! What there is. Types are erased here, once: whoever needs an algorithm by
//! name visits it with code that is generic over [`Algorithm`].

use cahoots_core::Algorithm;

/// Code that works for any algorithm.
pub trait Visitor {
    /// What it makes of one.
    type Out;
    /// Called with the algorithm's type.
    fn visit<A: Algorithm>(self) -> Self::Out;
}

macro_rules! registry {
    ($($algorithm:path),* $(,)?) => {
        /// All names, in the order of the table.
        pub const NAMES: &[&str] = &[$(<$algorithm as Algorithm>::NAME),*];

        /// Runs `visitor` on the algorithm of this name.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Out> {
            $(if name == <$algorithm as Algorithm>::NAME {
                return Some(visitor.visit::<$algorithm>());
            })*
            None
        }
    };
}

registry![
    crate::linucb_alone::LinucbAlone,
    crate::linucb_alone::LintsAlone,
    crate::linucb_alone::LinucbShared,
    crate::async_linucb::AsyncLinucb,
    crate::async_linucb_am::AsyncLinucbAm,
    crate::sync_linucb::SyncLinucb,
    crate::hetofed::Hetofed,
    crate::hetofed::HetofedPq,
    crate::hetofed::HetofedDr,
    crate::hetofed::HetofedE,
    crate::dyclu::Dyclu,
    crate::club::LocalClub,
    crate::club::LocalSclub,
    crate::fclub::Fclub,
    crate::fclub::FclubDc,
    crate::fclub::CdpFclubDc,
    crate::fclub::Homo,
    crate::fclub::HomoDc,
    crate::ucb_alone::UcbAlone,
    crate::dp_mab::CdpMab,
    crate::dp_mab::DdpMab,
    crate::dp_mab::HdpMab,
    crate::dp_mab::SingleMab,
    crate::pf_ucb::PfUcb,
    crate::pf_ucb::PfUcbEnhanced,
];

/// What `cahoots algorithms` shows of one algorithm.
pub struct Description {
    /// Its name in experiment files.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// JSON schema of its parameters.
    pub schema: serde_json::Value,
}

/// Describes one algorithm.
pub fn describe(name: &str) -> Option<Description> {
    struct Describe;
    impl Visitor for Describe {
        type Out = Description;
        fn visit<A: Algorithm>(self) -> Description {
            let schema = schemars::schema_for!(A::Params);
            Description { name: A::NAME, summary: A::SUMMARY, schema: schema.to_value() }
        }
    }
    visit(name, Describe)
}
