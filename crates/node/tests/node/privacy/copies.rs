//! Crashes, copies and old copies: what left is on record, and no noise is drawn twice for different data.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use cahoots_core::NodeId;
use cahoots_node::client::{Arms, Client, Reward};
use cahoots_node::inside::{Platform, SteppedClient, rejoin};
use cahoots_node::operation;

use super::polling::{known, polling, sum};
use super::{CEILING, config, epsilon, learn};
use crate::common::{FEDERATION, Federation, store_of, until};

/// All files of a client's store, as they are now, in the place of whatever is there.
fn copy(from: &Path, to: &Path) {
    let files = |folder: &Path| {
        let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let own = |file: &DirEntry| file.file_name().to_str().unwrap().starts_with("client-0");
        files.filter(own).collect::<Vec<_>>()
    };
    files(to).iter().for_each(|file| std::fs::remove_file(file.path()).unwrap());
    for file in files(from) {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// A client without threads, as a kill would leave it whenever it is dropped.
fn stepped(folder: &Path) -> SteppedClient {
    let mut config = config(&known(), folder, None, None);
    config.terms = Some(polling("each = 0.5\nclaimed = 100.0"));
    SteppedClient::open(&config, &Platform::System).unwrap()
}

/// Makes a decision, gives this reward, and has it on disk.
fn step(client: &mut SteppedClient, reward: f64) {
    let decision = client.app().decide(None, Arms::Plain(2)).unwrap();
    let (_, _durable) = client.reward(&Reward::of(decision.id, reward)).unwrap();
    client.gather();
    assert!(client.write().unwrap());
    client.finish();
}

/// All that was released, in its order.
fn released(client: &SteppedClient) -> Vec<f64> {
    let all = client.look(|machine, _| {
        let waiting = machine.queues().after(NodeId::SERVER, 0);
        waiting.map(|message| sum(&message.payload())).collect::<Vec<_>>()
    });
    all.unwrap()
}

/// The noise in sums of `reward`s that follow `before`.
fn noise(released: &[f64], before: f64, reward: f64) -> Vec<u64> {
    let exact = (1..).map(|n| before + f64::from(n) * reward);
    released.iter().zip(exact).map(|(released, exact)| (released - exact).to_bits()).collect()
}

#[test]
fn a_crash_gives_the_same_noise_and_a_copy_another() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut original = stepped(folder.path());
    (0..4).for_each(|_| step(&mut original, 1.0));
    let before = released(&original);
    copy(folder.path(), elsewhere.path());
    // Both go on, with other data.
    (0..8).for_each(|_| step(&mut original, 1.0));
    let mut other = stepped(elsewhere.path());
    assert_eq!(released(&other), before, "what was released is what it was");
    (0..8).for_each(|_| step(&mut other, 0.0));
    let (here, there) = (released(&original), released(&other));
    assert_eq!((here.len(), there.len()), (12, 12));
    let (ours, theirs) = (noise(&here[4..], 4.0, 1.0), noise(&there[4..], 4.0, 0.0));
    assert!(ours.iter().all(|noise| !theirs.contains(noise)), "{here:?} {there:?}");
    // A kill, and the same bytes again; and again after a snapshot, whose log is gone.
    drop(original);
    let mut again = stepped(folder.path());
    assert_eq!(released(&again), here);
    again.stop();
    again.gather();
    assert!(again.write().unwrap());
    again.finish();
    drop(again);
    let mut again = stepped(folder.path());
    assert_eq!(released(&again), here);
    step(&mut again, 1.0);
    let last = released(&again);
    drop(again);
    assert_eq!(released(&stepped(folder.path())), last);
    assert!(!noise(&last[4..], 4.0, 1.0)[8..].iter().any(|noise| theirs.contains(noise)));
}

/// Noise after a snapshot is drawn from the key of the start that wrote it, until the next start.
#[test]
fn what_follows_a_snapshot_is_the_same_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&known(), folder.path(), None, None);
    config.terms = Some(polling("each = 0.5\nclaimed = 100.0"));
    config.snapshot_every = 1;
    let mut client = SteppedClient::open(&config, &Platform::System).unwrap();
    // Long enough that some are in the snapshot and some in the log behind it.
    for _ in 0..60 {
        step(&mut client, 1.0);
    }
    let before = released(&client);
    drop(client);
    assert_eq!(released(&SteppedClient::open(&config, &Platform::System).unwrap()), before);
}

#[test]
fn what_left_is_on_record_after_a_kill() {
    let federation = Federation::start(&known(), polling("each = 0.25\nclaimed = 100.0"));
    let folder = federation.folder.path();
    let client = Client::open(config(&known(), folder, Some(&federation.url), None)).unwrap();
    until("connected", || client.status().connected);
    for n in 1..=6 {
        learn(&client, 1.0);
        until("it left", || client.status().unconfirmed == 0);
        // As a kill would leave it now.
        let killed = tempfile::tempdir().unwrap();
        copy(folder, killed.path());
        let after = Client::open(config(&known(), killed.path(), None, None)).unwrap();
        let spent = after.privacy().spent.remove(0);
        assert!((spent.epsilon - 0.25 * f64::from(n)).abs() < 1e-6, "{spent:?}");
        assert_eq!((spent.unit, spent.observer), ("one reward".into(), "the server".into()));
        assert_eq!((spent.releases, after.status().privacy.unprotected), (n as u64, 0));
        after.stop();
    }
    let words = client.privacy().words;
    assert!(words.contains("differential privacy for one reward, against the server"), "{words}");
    client.stop();
    federation.stop();
}

/// A copy is put back that others have gone on from: charged for once, however often it asks, and kept by who starts anew.
#[test]
fn an_old_copy_is_charged_for_what_others_may_have_released() {
    let federation = Federation::start(&known(), polling("each = 0.2\nclaimed = 1.0"));
    let folder = federation.folder.path();
    let open = |ceiling| Client::open(config(&known(), folder, Some(&federation.url), ceiling)).unwrap();
    let spends = |client: &Client, times: u32| {
        until("connected", || client.status().connected);
        (0..times).for_each(|_| learn(client, 1.0));
        until("it left", || client.status().unconfirmed == 0);
    };
    let client = open(None);
    spends(&client, 3);
    client.stop();
    let backup = tempfile::tempdir().unwrap();
    copy(folder, backup.path());
    let client = open(None);
    spends(&client, 2);
    assert!((epsilon(&client) - 1.0).abs() < 1e-6, "{:?}", client.privacy());
    client.stop();

    copy(backup.path(), folder);
    for _ in 0..2 {
        let client = open(None);
        until("refused", || client.status().problems.iter().any(|problem| problem.contains("older than")));
        until("more than once", || client.status().attempts > 2);
        let privacy = client.privacy();
        assert!((epsilon(&client) - 1.2).abs() < 1e-6, "{privacy:?}");
        assert_eq!(privacy.old_copies, 1);
        assert!(privacy.words.contains("found to be an old copy 1 time"), "{}", privacy.words);
        client.stop();
    }
    rejoin(&Platform::System, &store_of(folder, 0), FEDERATION, 0).unwrap();
    let client = open(Some(CEILING));
    spends(&client, 1);
    assert!((epsilon(&client) - 1.2).abs() < 1e-6, "of an event before: {:?}", client.privacy());
    client.stop();

    // Where twice as much is above the ceiling, that is the end of it.
    copy(backup.path(), folder);
    let client = open(Some(CEILING));
    until("withdrawn", || client.privacy().withdrawn.is_some());
    let said = client.privacy().withdrawn.unwrap();
    assert!(said.contains("max_epsilon = 1") && said.contains("epsilon = 1.2"), "{said}");
    client.stop();
    federation.stop();
}

/// A client that is told nothing by anybody, with its file and a place for copies.
struct Untold {
    folder: tempfile::TempDir,
    path: PathBuf,
    saved: PathBuf,
}

impl Untold {
    fn new() -> Untold {
        let folder = tempfile::tempdir().unwrap();
        let (path, saved) = (folder.path().join("client.toml"), folder.path().join("copy"));
        let text =
            "federation = \"test\"\ncoordinator = \"http://127.0.0.1:1\"\nclient = 0\nstore = \"client-0\"\n";
        std::fs::write(&path, text).unwrap();
        Untold { folder, path, saved }
    }

    /// It starts, learns so many times, and stops; what it has spent by then, in hundredths, and old copies.
    fn run(&self, times: u32) -> (f64, u32) {
        let mut config = config(&known(), self.folder.path(), None, None);
        config.terms = Some(polling("each = 0.25\nclaimed = 9.0"));
        let client = Client::open(config).unwrap();
        (0..times).for_each(|_| learn(&client, 1.0));
        let privacy = client.privacy();
        client.stop();
        let spent = privacy.spent.first().map_or(0.0, |spent| spent.epsilon);
        ((spent * 100.0).round(), privacy.old_copies)
    }
}

/// Nobody tells it, and nobody has to: whoever puts a copy back by command says so to whoever starts with it.
#[test]
fn a_copy_that_is_put_back_by_command_is_charged_for_when_it_starts() {
    let client = Untold::new();
    let (path, saved) = (&client.path, &client.saved);
    assert_eq!(client.run(2), (50.0, 0));
    operation::backup(path, saved).unwrap();
    assert_eq!(client.run(2), (100.0, 0));
    operation::restore(path, saved).unwrap();
    assert_eq!(client.run(0), (150.0, 1), "all that was put aside had spent");
    assert_eq!(client.run(1), (175.0, 1), "once");
    // Nor is it forgotten by who starts anew instead.
    operation::restore(path, saved).unwrap();
    operation::rejoin(path).unwrap();
    assert_eq!(client.run(1), (225.0, 0), "of an event before");
}

/// What a copy does not know, since it was made before, the store that it takes the place of does.
#[test]
fn a_copy_from_before_the_first_release_is_charged_for_what_came_after_and_each_time() {
    let client = Untold::new();
    let (path, saved) = (&client.path, &client.saved);
    assert_eq!(client.run(0).0, 0.0);
    operation::backup(path, saved).unwrap();
    assert_eq!(client.run(2).0, 50.0);
    operation::restore(path, saved).unwrap();
    assert_eq!(client.run(0).0, 50.0, "released twice, of what this store does not know of");
    assert_eq!(client.run(3).0, 125.0);
    operation::restore(path, saved).unwrap();
    // The machine stopped in the middle of it, and it is done again.
    operation::restore(path, saved).unwrap();
    assert_eq!(client.run(0).0, 125.0);
    assert_eq!(client.run(1).0, 150.0);
    // What was put aside can no longer be read, and was never let in after the copy was made: nothing can have left.
    let checkpoint = client.folder.path().join("client-0");
    operation::backup(path, &client.folder.path().join("later")).unwrap();
    std::fs::write(&checkpoint, b"rubbish").unwrap();
    operation::restore(path, &client.folder.path().join("later")).unwrap();
    assert_eq!(client.run(0).0, 150.0);
}
