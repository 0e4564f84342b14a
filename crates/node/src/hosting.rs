//! A coordinator inside a program of one's own: all that `cahoots serve` runs, its page and its socket too, on threads of its own and
//! without its signals. It is stopped by [`Hosted::stop`], or when it is dropped.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::commands::{is_stated, listen, page, runtime};
use crate::config::ServeFile;
use crate::control::Control;
use crate::coordinator::Coordinator;
use crate::error::NodeError;
use crate::face::{Access, Face};
use crate::http::{self, Listening};
use crate::live::Known;

/// How long whoever asks something at the end is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// A coordinator that runs beside whatever else a program does.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use cahoots_node::Known;
/// use cahoots_node::config::ServeFile;
/// use cahoots_node::hosting::Hosted;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("coordinator.toml");
/// std::fs::write(
///     &path,
///     "federation = 'shops'\nstore = 'coordinator.store'\nlisten = '127.0.0.1:0'\n[algorithm]\nkind = 'async-linucb'\n\
///      [setting]\nusers = 2\ndim = 2\narms = 2\n",
/// )?;
/// let known = Arc::new(Known::new(cahoots_algorithms::registry::ours()));
/// let hosted = Hosted::start(&known, &ServeFile::read(&path)?, &path)?;
/// assert!(hosted.url().starts_with("http://127.0.0.1:") && hosted.page().is_some());
/// hosted.stop()?;
/// # Ok(())
/// # }
/// ```
pub struct Hosted {
    running: Option<(Arc<Coordinator>, Runtime)>,
    listening: String,
    page: Option<String>,
    secure: bool,
}

impl Hosted {
    /// Starts what a file describes; `path` is what errors are said about.
    pub fn start(known: &Arc<Known>, file: &ServeFile, path: &Path) -> Result<Hosted, NodeError> {
        if file.lockstep.is_some() {
            return Err(NodeError::Config(format!(
                "{}: a run in lockstep is for `cahoots serve`: leave out [lockstep]",
                path.display()
            )));
        }
        let (config, access) = file.may_start(known, path)?;
        let (store, secure) = (config.store.clone(), config.security.gate.is_some());
        let runtime = runtime()?;
        // Before there is a store: a start that fails leaves none behind.
        let (listener, listening) = runtime.block_on(listen(&file.listen, "listen"))?;
        let early = match &access {
            Some(_) if is_stated(&file.http) => {
                Some(runtime.block_on(http::listen_anywhere(&file.http, Path::new("")))?)
            }
            _ => None,
        };
        let coordinator = file.start(config, path, &listening)?;
        let opened = runtime.block_on(async {
            coordinator.may_listen(&listener)?;
            match (access, early) {
                (Some(access), Some((listening, at))) => Ok(Some((access, listening, at))),
                (Some(access), None) => {
                    page(file, &coordinator).await.map(|(listening, at)| Some((access, listening, at)))
                }
                (None, _) => Ok(None),
            }
        });
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // Why it stopped says more than what failed because it had.
                return Err(coordinator.stop().err().unwrap_or(error));
            }
        };
        let coordinator = Arc::new(coordinator);
        let at = opened.as_ref().map(|(_, _, at)| at.clone());
        runtime.spawn(run(coordinator.clone(), listener, Opened(opened), file.page_is_secure(), store));
        let scheme = if file.page_is_secure() { "https" } else { "http" };
        let page = at.map(|at| if at.starts_with("unix:") { at } else { format!("{scheme}://{at}") });
        Ok(Hosted { running: Some((coordinator, runtime)), listening, page, secure })
    }

    /// The coordinator itself, to be asked.
    ///
    /// # Panics
    /// Never: it is there until it is stopped.
    pub fn coordinator(&self) -> &Arc<Coordinator> {
        &self.running.as_ref().expect("there until it is stopped").0
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.secure { "https" } else { "http" }, self.listening)
    }

    /// Where its page is: a URL, or "unix:PATH".
    pub fn page(&self) -> Option<&str> {
        self.page.as_deref()
    }

    /// Writes a snapshot and stops; or says why it had stopped before. Blocks.
    pub fn stop(mut self) -> Result<(), NodeError> {
        self.halt()
    }

    fn halt(&mut self) -> Result<(), NodeError> {
        let Some((mut coordinator, runtime)) = self.running.take() else { return Ok(()) };
        runtime.shutdown_timeout(Duration::from_millis(200));
        // Other threads may be asking it something.
        let until = Instant::now() + PATIENCE;
        loop {
            coordinator = match Arc::try_unwrap(coordinator) {
                Ok(coordinator) => return coordinator.stop(),
                Err(shared) if Instant::now() < until => shared,
                Err(_) => {
                    return Err(NodeError::Stopped(
                        "an order was still under way; what was acknowledged is on disk".into(),
                    ));
                }
            };
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        if let Err(error) = self.halt() {
            tracing::error!(%error, "the coordinator had stopped");
        }
    }
}

/// A page that is about to be shown, if there is one.
struct Opened(Option<(Access, Listening, String)>);

/// Everything that `serve` does at once, until the runtime ends.
async fn run(
    coordinator: Arc<Coordinator>,
    listener: TcpListener,
    Opened(page): Opened,
    page_is_secure: bool,
    store: std::path::PathBuf,
) {
    let control = Control::open(&store);
    if let Some((access, listening, _)) = page {
        let face = Face::new(coordinator.clone(), access);
        face.is_ready();
        let gate = coordinator.gate().filter(|_| page_is_secure).cloned();
        match listening {
            Listening::Tcp(listener) => drop(tokio::spawn(face.serve(listener, gate))),
            Listening::Unix(listener) => drop(tokio::spawn(face.serve(listener, gate))),
        }
    }
    let asked = coordinator.clone();
    let orders = control.serve(move |order| {
        let asked = asked.clone();
        async move { asked.order(order).await }
    });
    tokio::select! {
        served = coordinator.serve(listener) => {
            if let Err(error) = served {
                tracing::error!(%error, "the coordinator does not listen any more");
            }
        }
        () = orders => {}
    }
}
