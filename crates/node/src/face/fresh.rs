//! Answers that are kept for a moment: however many ask, the machine's thread is asked once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

/// How long an answer is good.
pub(super) const GOOD: Duration = Duration::from_secs(1);

/// The last answer to a question, and when it came.
pub(super) struct Fresh<T>(Mutex<Option<(Instant, Arc<T>)>>);

impl<T> Default for Fresh<T> {
    fn default() -> Fresh<T> {
        Fresh(Mutex::new(None))
    }
}

impl<T> Fresh<T> {
    /// The last answer, or a new one, made with it in hand. Whoever asks meanwhile waits for the same.
    pub(super) async fn get<E>(
        &self,
        ask: impl AsyncFnOnce(Option<Arc<T>>) -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        let mut kept = self.0.lock().await;
        if let Some((came, answer)) = &*kept
            && came.elapsed() < GOOD
        {
            return Ok(answer.clone());
        }
        // What fails is not kept, and what was kept before it is no answer any more.
        let answer = ask(kept.take().map(|(_, answer)| answer)).await?;
        // From when it came: who has waited for it takes it, however long that took.
        *kept = Some((Instant::now(), answer.clone()));
        Ok(answer)
    }
}
