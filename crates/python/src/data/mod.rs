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

pub(crate) use self::evaluate::{column_remedy, evaluate_log, survey_log, usual_columns};
pub(crate) use self::examples::{example_log, example_set, example_worth};
pub(crate) use self::frame::write_frame;
pub(crate) use self::sets::{LoadedSet, check_set, load_set, prepare_set};
pub(crate) use self::table::{check_table, describe_table};
pub(crate) use self::watched::interruptible;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(write_frame, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate_log, module)?)?;
    module.add_function(wrap_pyfunction!(survey_log, module)?)?;
    module.add_function(wrap_pyfunction!(usual_columns, module)?)?;
    module.add_function(wrap_pyfunction!(column_remedy, module)?)?;
    module.add_function(wrap_pyfunction!(describe_table, module)?)?;
    module.add_function(wrap_pyfunction!(check_table, module)?)?;
    module.add_function(wrap_pyfunction!(check_set, module)?)?;
    module.add_function(wrap_pyfunction!(load_set, module)?)?;
    module.add_function(wrap_pyfunction!(prepare_set, module)?)?;
    module.add_function(wrap_pyfunction!(example_log, module)?)?;
    module.add_function(wrap_pyfunction!(example_worth, module)?)?;
    module.add_function(wrap_pyfunction!(example_set, module)?)?;
    module.add_class::<LoadedSet>()
}
