/// One axis of a [`Figure`](crate::Figure).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit; empty for none.
    pub label: String,
    /// How values become positions.
    pub scale: Scale,
    /// Values that are shown whatever the data are, the smaller first.
    pub range: Option<(f64, f64)>,
    /// What stands at 0, 1, 2, ... in place of numbers; empty for an axis of numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// An axis with a linear scale.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis of names: the first at 0, the next at 1, and so on.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self { label: label.into(), names, ..Self::default() }
    }

    /// An axis with a logarithmic scale.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, ..Self::default() }
    }
}

/// How the values of an [`Axis`] become positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences take equal room.
    #[default]
    Linear,
    /// Equal ratios take equal room; values at or below zero cannot be drawn.
    Log,
}
