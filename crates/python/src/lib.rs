//! `cahoots._cahoots`: what the Python package has of Rust. Everything a user imports is in `python/src/cahoots`, which is
//! thin over this; nothing here is for users directly.

mod data;
mod error;
mod learner;
mod live;
mod own;
mod papers;
mod run;

use pyo3::pymodule;

/// The compiled half of the package. Its stubs are made from this list (`maturin generate-stubs`).
#[pymodule]
mod _cahoots {
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __optimised__: bool = !cfg!(debug_assertions);

    #[pymodule_export]
    use crate::data::evaluate::column_remedy;
    #[pymodule_export]
    use crate::data::evaluate::evaluate_log;
    #[pymodule_export]
    use crate::data::evaluate::survey_log;
    #[pymodule_export]
    use crate::data::evaluate::usual_columns;
    #[pymodule_export]
    use crate::data::examples::example_log;
    #[pymodule_export]
    use crate::data::examples::example_set;
    #[pymodule_export]
    use crate::data::examples::example_worth;
    #[pymodule_export]
    use crate::data::frame::write_frame;
    #[pymodule_export]
    use crate::data::sets::LoadedSet;
    #[pymodule_export]
    use crate::data::sets::check_set;
    #[pymodule_export]
    use crate::data::sets::load_set;
    #[pymodule_export]
    use crate::data::sets::prepare_set;
    #[pymodule_export]
    use crate::data::table::check_table;
    #[pymodule_export]
    use crate::data::table::describe_table;
    #[pymodule_export]
    use crate::learner::Decision;
    #[pymodule_export]
    use crate::learner::Learner;
    #[pymodule_export]
    use crate::live::client::LiveClient;
    #[pymodule_export]
    use crate::live::coordinator::LiveCoordinator;
    #[pymodule_export]
    use crate::live::keys::keys_client;
    #[pymodule_export]
    use crate::live::keys::keys_init;
    #[pymodule_export]
    use crate::live::keys::keys_revoke;
    #[pymodule_export]
    use crate::live::keys::keys_rotate;
    #[pymodule_export]
    use crate::live::keys::keys_server;
    #[pymodule_export]
    use crate::live::keys::keys_show;
    #[pymodule_export]
    use crate::live::live_algorithms;
    #[pymodule_export]
    use crate::live::live_logs;
    #[pymodule_export]
    use crate::own::_interrupt;
    #[pymodule_export]
    use crate::own::_register;
    #[pymodule_export]
    use crate::own::_registered;
    #[pymodule_export]
    use crate::own::_running;
    #[pymodule_export]
    use crate::own::rng::Rng;
    #[pymodule_export]
    use crate::own::simulate::_simulate;
    #[pymodule_export]
    use crate::own::step::Step;
    #[pymodule_export]
    use crate::papers::paper_items;
    #[pymodule_export]
    use crate::papers::reproduce_items;
    #[pymodule_export]
    use crate::run::describe::describe_algorithms;
    #[pymodule_export]
    use crate::run::describe::describe_environments;
    #[pymodule_export]
    use crate::run::expect_experiment;
    #[pymodule_export]
    use crate::run::merge_parts;
    #[pymodule_export]
    use crate::run::missing_runs;
    #[pymodule_export]
    use crate::run::quantile;
    #[pymodule_export]
    use crate::run::run_experiment;
    #[pymodule_export]
    use crate::run::run_part;
    #[pymodule_export]
    use crate::run::source::check_experiment;
    #[pymodule_export]
    use crate::run::source::parse_toml;
    #[pymodule_export]
    use crate::run::table::Table;
    #[pymodule_export]
    use crate::run::table::read_table;
}
