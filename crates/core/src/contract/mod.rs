//! What an algorithm is: machines that take inputs and write their effects, the messages between them, what
//! may leave a client, and what is given before anything is learned. Drivers are in [`crate::drive`].

pub mod arms;
pub mod choice;
pub mod context;
pub mod custom;
pub mod fact;
pub mod learnt;
pub mod machine;
pub mod message;
pub mod prior;
pub mod private;
pub mod registry;
pub mod setting;
