//! What experiment files may name unless a program says otherwise: our algorithms in our worlds.

use std::sync::Arc;

use cahoots_algorithms::registry;
use cahoots_sim::catalogue::Catalogue;

/// Our algorithms and our worlds. Whoever has others adds them: `Catalogue::new(ours()).algorithm::<Mine>()`.
pub fn catalogue() -> Arc<Catalogue> {
    Arc::new(Catalogue::new(registry::ours()))
}
