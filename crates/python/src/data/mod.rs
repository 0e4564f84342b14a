//! Data and what can be said of it: frames written down as the file that the readers read, logs evaluated, tables
//! described, the papers' datasets loaded.

mod evaluate;
mod examples;
mod frame;
mod sets;
mod table;
mod value;
mod watched;

use pyo3::prelude::*;

pub(crate) use self::watched::interruptible;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(frame::write_frame, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::evaluate_log, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::survey_log, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::usual_columns, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate::column_remedy, module)?)?;
    module.add_function(wrap_pyfunction!(table::describe_table, module)?)?;
    module.add_function(wrap_pyfunction!(table::check_table, module)?)?;
    module.add_function(wrap_pyfunction!(sets::check_set, module)?)?;
    module.add_function(wrap_pyfunction!(sets::load_set, module)?)?;
    module.add_function(wrap_pyfunction!(sets::prepare_set, module)?)?;
    module.add_function(wrap_pyfunction!(examples::example_log, module)?)?;
    module.add_function(wrap_pyfunction!(examples::example_worth, module)?)?;
    module.add_function(wrap_pyfunction!(examples::example_set, module)?)?;
    module.add_class::<sets::LoadedSet>()
}
