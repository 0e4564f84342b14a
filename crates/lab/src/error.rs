//! Why there is no result.

use std::io;
use std::path::Path;

/// Why there is no result, in one message for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The input was wrong; the message says how to mend it.
    #[error("{0}")]
    Input(String),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// The user stopped it.
    #[error("{0}")]
    Stopped(String),
}

impl LabError {
    /// A file or folder that could not be read or written.
    pub fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        LabError::Failed(format!("cannot {doing} {}: {}", path.display(), reason(error)))
    }
}

/// What the system said, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let mut reason = text[..end].to_string();
    if let Some(first) = reason.get(..1) {
        let lower = first.to_lowercase();
        reason.replace_range(..1, &lower);
    }
    reason
}

impl From<cahoots_figure::FigureError> for LabError {
    fn from(error: cahoots_figure::FigureError) -> Self {
        LabError::Failed(error.to_string())
    }
}
