//! Results as a page: one HTML file that needs nothing else, opens without a network, and can be handed in.
//!
//! [`Page`] knows how pages look; [`of_run`] what is said of a run.

mod html;
mod page;
mod run;
mod values;
mod words;

pub use html::{escape, table};
pub use page::Page;
pub use run::{FILE, of_run};
pub use values::{Values, figure};
