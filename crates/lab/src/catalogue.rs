//! What experiment files may name unless a program says otherwise: our algorithms in our worlds, those made of data among them.

use std::sync::Arc;

use cahoots_algorithms::registry;
use cahoots_sim::catalogue::Catalogue;

/// Our algorithms and our worlds. Whoever has others adds them: `Catalogue::new(ours()).algorithm::<Mine>()`.
pub fn catalogue() -> Arc<Catalogue> {
    let mut catalogue = Catalogue::new(registry::ours());
    cahoots_data::add_worlds(&mut catalogue.worlds);
    Arc::new(catalogue)
}
