/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The picture would be larger than a viewer can be expected to open.
    #[error(
        "a picture of {width} x {height} is too large; put fewer panels in one figure \
         (each side may have at most {limit})"
    )]
    TooLarge {
        /// Its width.
        width: u64,
        /// Its height.
        height: u64,
        /// The longest side allowed.
        limit: u64,
    },
    /// An encoder failed.
    #[error("cannot encode the picture: {0}")]
    Encode(String),
}
