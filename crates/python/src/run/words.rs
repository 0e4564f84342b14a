//! What the laboratory says, as a user of Python would say it.

use cahoots_lab::LabError;
use pyo3::PyErr;

use crate::error;

/// Options of the command, and what they are called here.
const WORDS: [(&str, &str); 5] = [
    ("the same command with --resume", "the same call with resume=True"),
    ("--resume", "resume=True"),
    ("--force", "force=True"),
    ("--seeds", "seeds"),
    ("--out", "out"),
];

/// The exception for what the laboratory says.
pub(super) fn python(error: LabError) -> PyErr {
    error::lab(match error {
        LabError::Input(text) => LabError::Input(worded(text)),
        LabError::Failed(text) => LabError::Failed(worded(text)),
        LabError::Stopped(text) => LabError::Stopped(worded(text)),
    })
}

/// The same text with the words of this package.
pub(super) fn worded(text: String) -> String {
    WORDS.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours))
}
