//! A federation that begins from another's store or from a log: every command as a user types it.

mod running;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use running::{Running, asked, cahoots, done, refused};

fn serve_file(folder: &Path, name: &str, more: &str) {
    let text = format!(
        "federation = \"{name}\"\nlisten = \"127.0.0.1:0\"\nstore = \"{name}.store\"\nsync = \"memory\"\n\
         [setting]\nusers = 3\ndim = 2\narms = 2\n[algorithm]\nkind = \"async-linucb\"\nratio = 1.0\n{more}"
    );
    std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

fn client_file(folder: &Path, federation: &str, address: &str) {
    let text = format!(
        "federation = \"{federation}\"\ncoordinator = \"http://{address}\"\nclient = 0\nstore = \"{federation}-0.store\"\n\
         sync = \"memory\"\nlongest_pause = 0.1\n"
    );
    std::fs::write(folder.join(format!("{federation}-0.toml")), text).unwrap();
}

/// What a command says that must end with code 2.
fn wrong(folder: &Path, arguments: &[&str], words: &str) {
    let output = cahoots(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?} said {said:?}");
}

#[test]
fn one_federation_hands_on_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    serve_file(folder, "old", "");
    wrong(folder, &["prior", "old.toml", "--out", "p"], "its federation never began");
    let serving = Running::start(folder, "serve", "old.toml");
    client_file(folder, "old", &serving.address);
    let client = Running::start(folder, "client", "old-0.toml");
    (0..5).for_each(|_| client.learn());
    asked(folder, &["drain", "old-0.toml"]);
    refused(folder, &["prior", "old.toml", "--out", "p"], "`cahoots backup FILE --to COPY`");
    done(folder, &["backup", "old.toml", "--to", "copy"]);
    done(folder, &["prior", "copy", "--out", "of-copy"]);
    client.stop();
    serving.stop();
    wrong(folder, &["prior", "old-0.toml", "--out", "p"], "a client's file");
    wrong(folder, &["prior", "nowhere", "--out", "p"], "nowhere");
    let said = cahoots(folder, &["prior", "old.toml", "--out", "of-file"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said, "of-file: 5 observations of federation \"old\" (async-linucb)\n");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(text("of-copy"), text("of-file"));
    wrong(folder, &["prior", "old.toml", "--out", "of-file"], "is there already");

    serve_file(folder, "new", "[warm_start]\nprior = \"of-file\"\n");
    let serving = Running::start(folder, "serve", "new.toml");
    let began = asked(folder, &["status", "new.toml"])["began_from"].clone();
    assert_eq!((&began["observations"], &began["weight"]), (&json!(5), &json!(1.0)));
    assert_eq!(began["from"], "5 observations of federation \"old\" (async-linucb)");
    client_file(folder, "new", &serving.address);
    let client = Running::start(folder, "client", "new-0.toml");
    let until = Instant::now() + Duration::from_secs(30);
    while asked(folder, &["status", "new-0.toml"])["downloads"] != 1 {
        assert!(Instant::now() < until, "the prior never came");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.learn();
    client.stop();
    serving.stop();

    for (more, words) in [
        ("[warm_start]\nprior = \"gone\"\n", "`cahoots prior` makes one"),
        ("[warm_start]\nprior = \"cold.toml\"\n", "no prior can be read from it"),
        (
            "[warm_start]\nprior = \"of-file\"\nweight = 0.0\n",
            "weight in [warm_start] must be above 0 and at most 1",
        ),
        ("[warm_start]\nprior = \"of-file\"\nweigth = 0.5\n", "unknown field `weigth`"),
    ] {
        serve_file(folder, "cold", more);
        wrong(folder, &["serve", "cold.toml"], words);
        assert!(!folder.join("cold.store").exists(), "{words}: half-started");
    }
}

#[test]
fn a_log_is_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("log.csv"), "age,price,paid\n20,1.5,1\n30,,0\n40,0.5,0\n").unwrap();
    wrong(folder, &["prior", "log.csv", "--out", "p"], "--features and --reward say which columns are what");
    let log = ["prior", "log.csv", "--features", "age,price", "--reward", "paid"];
    let with = |more: &[&'static str]| [&log[..], more].concat();
    wrong(folder, &with(&["--scale", "age", "--out", "p"]), "is not COLUMN=NUMBER");
    wrong(
        folder,
        &["prior", "log.csv", "--features", "agee", "--reward", "paid", "--out", "p"],
        "did you mean `age`?",
    );
    let output = cahoots(folder, &with(&["--scale", "age=0.125", "--out", "p"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        said,
        "p: 2 rows of log.csv (age, price -> paid); rows left out because a cell was empty: 1\n"
    );
    serve_file(folder, "new", "[warm_start]\nprior = \"p\"\nweight = 0.5\n");
    let serving = Running::start(folder, "serve", "new.toml");
    assert_eq!(asked(folder, &["status", "new.toml"])["began_from"]["observations"], 1);
    serving.stop();
    // What the new federation would hand on is what it began from.
    done(folder, &["prior", "new.toml", "--out", "next"]);
    let next: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("next")).unwrap()).unwrap();
    assert_eq!(next["gram"], json!([(2.5 * 2.5 + 25.0) / 2.0, (2.5 * 1.5 + 2.5) / 2.0, 1.25]));
    assert_eq!((&next["moment"], &next["observations"]), (&json!([1.25, 0.75]), &json!(1)));
}
