//! Protobuf with small buffers: one for each way of each stream, and a coordinator has thousands that say little.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// What a stream's buffer holds before it grows: a few confirmations.
const BUFFER: usize = 512;
/// What is gathered before it is handed on.
const GATHERED: usize = 32 << 10;

/// tonic's own, but for the buffers.
#[derive(Clone, Debug)]
pub(super) struct Small<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Small<T, U> {
    fn default() -> Self {
        Small(PhantomData)
    }
}

impl<T: Message + Send + 'static, U: Message + Default + Send + 'static> Codec for Small<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(BUFFER, GATHERED))
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(BUFFER, GATHERED))
    }
}
