//! Data and what can be said of it: frames written down as the file that the readers read, logs evaluated, tables
//! described, the papers' datasets loaded.

pub(crate) mod evaluate;
pub(crate) mod examples;
pub(crate) mod frame;
pub(crate) mod sets;
pub(crate) mod table;
mod value;
mod watched;

pub(crate) use self::watched::interruptible;
