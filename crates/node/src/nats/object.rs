//! Objects in a bucket: snapshots, in chunks.

use std::time::Duration;

use async_nats::jetstream::object_store::{GetErrorKind, ObjectMetadata, ObjectStore};
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::PATIENCE;
use super::engine::silence;
use crate::replica::Silence;

/// A message holds 1 MiB at most.
const CHUNK: usize = 1000 << 10;

/// What a transfer may take: as long as an answer, and more for every MiB.
fn patience(bytes: usize) -> Duration {
    PATIENCE + Duration::from_millis(200) * (bytes >> 20) as u32
}

pub(super) async fn put(bucket: &ObjectStore, name: &str, mut bytes: &[u8]) -> Result<(), Silence> {
    let about = ObjectMetadata { name: name.into(), chunk_size: Some(CHUNK), ..ObjectMetadata::default() };
    let put = timeout(patience(bytes.len()), bucket.put(about, &mut bytes)).await;
    put.map_err(|_| Silence("no answer to an object".into()))?.map(drop).map_err(silence)
}

pub(super) async fn fetch(bucket: &ObjectStore, name: &str) -> Result<Option<Vec<u8>>, Silence> {
    let got = timeout(PATIENCE, bucket.get(name)).await;
    let mut object = match got.map_err(|_| Silence("no answer to a question for an object".into()))? {
        Ok(object) => object,
        Err(error) if matches!(error.kind(), GetErrorKind::NotFound) => return Ok(None),
        Err(error) => return Err(silence(error)),
    };
    let mut bytes = Vec::new();
    let read = timeout(patience(object.info.size), object.read_to_end(&mut bytes)).await;
    match read.map_err(|_| Silence(format!("object {name} does not come to an end")))? {
        Ok(_) => Ok(Some(bytes)),
        // Chunks that are gone, or that do not fit their digest: there is no such object, whatever its name says.
        Err(error) => {
            tracing::error!(name, %error, "an object that cannot be read");
            Ok(None)
        }
    }
}

pub(super) async fn names(bucket: &ObjectStore) -> Result<Vec<String>, Silence> {
    let list = timeout(PATIENCE, bucket.list()).await;
    let mut list =
        list.map_err(|_| Silence("no answer to a question for objects".into()))?.map_err(silence)?;
    let mut names = Vec::new();
    while let Some(object) = timeout(PATIENCE, list.next())
        .await
        .map_err(|_| Silence("the list of objects does not end".into()))?
    {
        names.push(object.map_err(silence)?.name);
    }
    Ok(names)
}

/// How far the newest of the snapshots goes, by its name.
pub(super) async fn last_snapshot(bucket: &ObjectStore) -> Result<Option<u64>, Silence> {
    let names = names(bucket).await?;
    Ok(names.iter().filter_map(|name| crate::replica::snapshot_sequence(name)).max())
}
