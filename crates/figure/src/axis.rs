/// One axis of a [`Figure`](crate::Figure).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit; empty for none.
    pub label: String,
    /// How values become positions.
    pub scale: Scale,
}

impl Axis {
    /// An axis with a linear scale.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis with a logarithmic scale.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log }
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
