//! A federation of processes, and what its operator does to it: every command as a user types it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const EXE: &str = env!("CARGO_BIN_EXE_cahoots");

/// A process that goes with its test.
struct Running {
    process: Child,
    address: String,
}

impl Running {
    fn start(folder: &Path, command: &str, file: &str) -> Running {
        let mut process = Command::new(EXE)
            .args([command, file])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{command} {file} said {line:?}"));
        Running { process, address: said["listening"].as_str().unwrap().into() }
    }

    /// SIGTERM, and its end.
    fn stop(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(30);
        while self.process.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (body, mut stream) = (body.to_string(), TcpStream::connect(&self.address).unwrap());
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// A decision and its reward.
    fn learn(&self) {
        let arms = json!({ "arms": [[1.0, 0.0], [0.6, 0.8]] });
        let until = Instant::now() + Duration::from_secs(30);
        let decided = loop {
            let (status, decided) = self.post("/decide", &arms);
            if status == 200 {
                break decided;
            }
            assert!(Instant::now() < until, "{decided}");
            std::thread::sleep(Duration::from_millis(10));
        };
        let (status, answer) = self.post("/reward", &json!({ "id": decided["id"], "reward": 1.0 }));
        assert_eq!(status, 200, "{answer}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn cahoots(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(EXE).args(arguments).current_dir(folder).output().unwrap()
}

/// What a command that must work says, as JSON.
fn asked(folder: &Path, arguments: &[&str]) -> Value {
    let output = cahoots(folder, arguments);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{arguments:?} said {text:?}"))
}

fn done(folder: &Path, arguments: &[&str]) {
    let output = cahoots(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What a command that must be refused says, and that it blames the input or the moment.
fn refused(folder: &Path, arguments: &[&str], words: &str) {
    let output = cahoots(folder, arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(words), "{arguments:?} said {text:?}");
}

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
