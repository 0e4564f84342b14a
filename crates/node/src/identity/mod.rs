//! Who is who: an authority of the federation's own signs a certificate for its coordinator and for each client, or an
//! invitation lets a client in once, who then keeps a secret. What travels is encrypted; who speaks has shown who it is.
//!
//! Files are made by [`authority`], watched by [`Gate`] (a coordinator) and [`Caller`] (a client), and every way to
//! fail is put into [`words`] that say the fix. There is one provider of cryptography, *ring*, named explicitly.

mod admit;
pub mod authority;
mod caller;
mod certificate;
mod files;
mod gate;
mod invitation;
mod name;
mod show;
mod signer;
pub mod words;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

pub use admit::{Admit, ClientSecurity, ServeSecurity, loopback, may_be_plain};
pub use caller::Caller;
pub use certificate::{Certificate, date};
pub use files::{KeyFiles, Private};
pub use gate::{Gate, Peer};
pub use invitation::{Fate, Invitation, Secret, digest, same};
pub use name::{Name, Role};
pub use show::show;
pub use signer::{Signed, Signer};

/// What both ends speak.
const PROTOCOL: &[u8] = b"h2";

/// The one provider of cryptography.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
