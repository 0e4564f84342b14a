//! A federation of processes, and what its operator does to it: every command as a user types it.

mod running;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use running::{Running, asked, done, refused};

/// A coordinator, and the file of a client. Uploads are rare: what drains is what was pending.
fn federation(folder: &Path) -> Running {
    let serve = "federation = \"shop\"\nlisten = \"127.0.0.1:0\"\nstore = \"serve.store\"\nsync = \"memory\"\n\
                 [setting]\nusers = 3\ndim = 2\narms = 2\n[algorithm]\nkind = \"async-linucb\"\nratio = 1e6\n";
    std::fs::write(folder.join("serve.toml"), serve).unwrap();
    let serving = Running::start(folder, "serve", "serve.toml");
    // From now on at this address.
    std::fs::write(folder.join("serve.toml"), serve.replace("127.0.0.1:0", &serving.address)).unwrap();
    let client = format!(
        "federation = \"shop\"\ncoordinator = \"http://{}\"\nclient = 0\nstore = \"client.store\"\nsync = \"memory\"\n\
         longest_pause = 0.1\n",
        serving.address
    );
    std::fs::write(folder.join("client.toml"), &client).unwrap();
    std::fs::write(folder.join("draining.toml"), format!("{client}drain = 20.0\n")).unwrap();
    serving
}

fn received(folder: &Path) -> u64 {
    asked(folder, &["status", "serve.toml"])["received"].as_u64().unwrap()
}

#[test]
fn what_is_pending_is_drained_while_running_after_a_stop_and_by_a_stop() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let serving = federation(folder);
    let client = Running::start(folder, "client", "client.toml");
    (0..3).for_each(|_| client.learn());
    assert_eq!(asked(folder, &["status", "client.toml"])["unsent"], 3);
    let drained = asked(folder, &["drain", "client.toml"]);
    assert_eq!(drained, json!({ "sent": 3, "left": 0, "unconfirmed": 0 }));
    client.learn();
    client.stop();
    assert_eq!(received(folder), 1, "a stop alone sends nothing");
    assert_eq!(asked(folder, &["drain", "client.toml"])["sent"], 1);
    assert_eq!(received(folder), 2);
    let client = Running::start(folder, "client", "draining.toml");
    client.learn();
    client.stop();
    assert_eq!(received(folder), 3);
    serving.stop();
    refused(folder, &["drain", "client.toml", "--seconds", "0.3"], "was not reached");
    refused(folder, &["status", "client.toml"], "nothing runs with the store");
    refused(folder, &["drain", "serve.toml"], "give a client's file");
}

#[test]
fn members_come_and_go_and_stores_are_copied_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let serving = federation(folder);
    let client = Running::start(folder, "client", "client.toml");
    client.learn();
    assert_eq!(asked(folder, &["drain", "client.toml"])["unconfirmed"], 0);
    let members = asked(folder, &["members", "serve.toml"]);
    assert_eq!((&members[0]["client"], &members[0]["connected"]), (&json!(0), &json!(true)));
    refused(folder, &["members", "serve.toml", "remove", "3"], "has clients 0 to 2");
    done(folder, &["members", "serve.toml", "remove", "2"]);
    assert_eq!(asked(folder, &["members", "serve.toml"])[1]["removed"], true, "one that never came");

    // Parameters that may change, and one that may not.
    let params = asked(folder, &["params", "serve.toml", "upload_ratio=3.0"]);
    assert_eq!((&params["version"], &params["params"]["upload_ratio"]), (&json!(1), &json!(3.0)));
    refused(folder, &["params", "serve.toml", "ridge=3.0"], "cannot change");
    refused(folder, &["params", "serve.toml", "ratio"], "is not KEY=VALUE");

    // A copy while it runs, put back later: the client sends again what that one lacks.
    done(folder, &["backup", "serve.toml", "--to", "copy"]);
    refused(folder, &["backup", "serve.toml", "--to", "copy"], "copy");
    refused(folder, &["restore", "serve.toml", "--from", "copy"], "stop it first");
    client.learn();
    assert_eq!(asked(folder, &["drain", "client.toml"])["unconfirmed"], 0);
    serving.stop();
    refused(folder, &["restore", "serve.toml", "--from", "nowhere"], "there is no copy");
    done(folder, &["restore", "serve.toml", "--from", "copy"]);
    assert!(folder.join("serve.store.old-1").exists(), "what was there is kept");
    let serving = Running::start(folder, "serve", "serve.toml");
    let until = Instant::now() + Duration::from_secs(30);
    while asked(folder, &["members", "serve.toml"])[0]["received"] != 2 {
        assert!(Instant::now() < until, "never sent again");
        std::thread::sleep(Duration::from_millis(20));
    }

    // Dismissed, it decides alone and says so; released, another store may have its number.
    done(folder, &["members", "serve.toml", "remove", "0"]);
    let until = Instant::now() + Duration::from_secs(30);
    while asked(folder, &["status", "client.toml"])["problems"] == json!([]) {
        assert!(Instant::now() < until, "it does not say so");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.learn();
    refused(folder, &["reset", "client.toml"], "stop it first");
    client.stop();
    done(folder, &["members", "serve.toml", "release", "0"]);
    done(folder, &["reset", "client.toml"]);
    let client = Running::start(folder, "client", "client.toml");
    client.learn();
    assert_eq!(asked(folder, &["drain", "client.toml"])["unconfirmed"], 0);

    // An old copy of a client's store is refused; its owner rejoins.
    client.stop();
    done(folder, &["backup", "client.toml", "--to", "client-copy"]);
    let client = Running::start(folder, "client", "client.toml");
    client.learn();
    assert_eq!(asked(folder, &["drain", "client.toml"])["unconfirmed"], 0);
    client.stop();
    done(folder, &["restore", "client.toml", "--from", "client-copy"]);
    let client = Running::start(folder, "client", "client.toml");
    let until = Instant::now() + Duration::from_secs(30);
    while !asked(folder, &["status", "client.toml"])["problems"].to_string().contains("cahoots rejoin") {
        assert!(Instant::now() < until, "an old copy was let in");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.learn();
    client.stop();
    done(folder, &["rejoin", "client.toml"]);
    let client = Running::start(folder, "client", "client.toml");
    client.learn();
    assert_eq!(asked(folder, &["drain", "client.toml"])["unconfirmed"], 0);
    let status = asked(folder, &["status", "client.toml"]);
    assert_eq!((&status["connected"], &status["problems"]), (&json!(true), &json!([])));
    client.stop();
    serving.stop();
}

#[test]
fn one_member_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _serving = federation(folder);
    let client = Running::start(folder, "client", "client.toml");
    client.learn();
    asked(folder, &["drain", "client.toml"]);
    let members = asked(folder, &["members", "serve.toml"]);
    assert_eq!((&members[0]["quarantined"], &members[0]["implausible"]), (&json!(false), &json!(0)));
    let status = asked(folder, &["status", "serve.toml"]);
    assert_eq!((&status["quarantined"], &status["implausible"]), (&json!([]), &json!(0)));
    refused(folder, &["members", "serve.toml", "restore", "0"], "client 0 is not quarantined");
    refused(folder, &["members", "serve.toml", "remove", "7", "--forget"], "there is no client 7");
    let answer = asked(folder, &["members", "serve.toml", "remove", "0", "--forget"]);
    assert_eq!(answer, json!({ "removed": 0, "forgotten": true }));
    assert_eq!(asked(folder, &["members", "serve.toml"])[0]["removed"], true);
    client.stop();
}
