//! The wire format: types compiled from `proto/cahoots.proto`, and encoded
//! lengths computed without encoding (the simulator charges bytes for millions
//! of messages that it never serialises).

#[allow(missing_docs, clippy::all)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/cahoots.v1.rs"));
}

pub use generated::*;

use prost::encoding::encoded_len_varint;

/// Version of the wire format, sent in every envelope.
pub const VERSION: u32 = 2;

/// Encoded length of an unsigned field with a tag below 16; zero is left out.
pub fn varint_field(value: u64) -> usize {
    if value == 0 { 0 } else { 1 + encoded_len_varint(value) }
}

/// Encoded length of `n` packed values of `width` bytes; none are left out.
pub fn packed_field(n: usize, width: usize) -> usize {
    if n == 0 { 0 } else { message_field(n * width) }
}

/// Encoded length of packed varints.
pub fn packed_varints(values: impl Iterator<Item = u64>) -> usize {
    match values.map(encoded_len_varint).sum() {
        0 => 0,
        len => message_field(len),
    }
}

/// Encoded length of an embedded message of `len` bytes with a tag below 16.
pub fn message_field(len: usize) -> usize {
    1 + encoded_len_varint(len as u64) + len
}
