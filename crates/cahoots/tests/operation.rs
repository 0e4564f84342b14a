//! What an operator has: configuration from several places, logs, parameters with a way back, stores looked at. Every
//! command as it is typed.

mod running;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use running::{asked, cahoots, done, refused};

const EXE: &str = env!("CARGO_BIN_EXE_cahoots");

const SERVE: &str = "federation = \"shop\"\nlisten = \"127.0.0.1:0\"\nstore = \"serve.store\"\nsync = \"memory\"\n\
                     [setting]\nusers = 3\ndim = 2\narms = 2\n[algorithm]\nkind = \"async-linucb\"\nupload_ratio = 5.0\ndownload_ratio = 5.0\n";

/// A node that goes with its test, and the lines of its log.
struct Node {
    process: Child,
    address: String,
    /// Where its page is.
    page: String,
    lines: mpsc::Receiver<String>,
}

impl Node {
    fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Node {
        let mut process = Command::new(EXE)
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (line, lines) = mpsc::channel();
        let log = process.stderr.take().unwrap();
        std::thread::spawn(move || {
            BufReader::new(log).lines().map_while(Result::ok).try_for_each(|l| line.send(l))
        });
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let said: Value =
            serde_json::from_str(&first).unwrap_or_else(|_| panic!("{arguments:?} said {first:?}"));
        let page = said["http"].as_str().unwrap_or_default().into();
        Node { process, address: said["listening"].as_str().unwrap().into(), page, lines }
    }

    /// The lines up to one that has these words.
    fn until(&self, words: &str) -> Vec<String> {
        let (deadline, mut seen) = (Instant::now() + Duration::from_secs(60), Vec::new());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no {words:?} after {seen:#?}"));
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(words)) {
                return seen;
            }
        }
    }

    /// A signal, and all lines until its end.
    fn signalled(mut self, signal: &str) -> Vec<String> {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.process.wait().unwrap();
        self.lines.iter().collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn folder_with(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("serve.toml"), text).unwrap();
    folder
}

fn client_file(folder: &Path, address: &str) {
    let text = format!(
        "federation = \"shop\"\ncoordinator = \"http://{address}\"\nclient = 0\nstore = \"client.store\"\nsync = \"memory\"\n\
         longest_pause = 0.1\n"
    );
    std::fs::write(folder.join("client.toml"), text).unwrap();
}

/// Every file of a folder: its bytes, its permissions, when it was changed.
fn fingerprint(folder: &Path) -> BTreeMap<String, (Vec<u8>, u32, std::time::SystemTime)> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|file| file.path().is_file());
    files
        .map(|file| {
            let data = file.metadata().unwrap();
            let bytes = std::fs::read(file.path()).unwrap();
            (
                file.file_name().into_string().unwrap(),
                (bytes, data.permissions().mode(), data.modified().unwrap()),
            )
        })
        .collect()
}

#[test]
fn values_come_from_file_variables_and_flags_for_every_command() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    let output = Command::new(EXE)
        .args(["serve", "serve.toml", "--check", "--set", "limits.hello=3", "--listen", "127.0.0.1:9"])
        .env("CAHOOTS_TICK", "0.5")
        .env("CAHOOTS_ALGORITHM__UPLOAD_RATIO", "7")
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = |words: &str, source: &str| {
        let found = text.lines().find(|line| line.starts_with(&format!("{words} ")));
        assert!(found.is_some_and(|line| line.ends_with(source)), "{words} from {source}:\n{text}");
    };
    said("federation = \"shop\"", "serve.toml:1");
    said("listen = \"127.0.0.1:9\"", "--listen");
    said("tick = 0.5", "CAHOOTS_TICK");
    said("limits.hello = 3.0", "--set limits.hello");
    said("limits.idle = 20.0", "default");
    said("algorithm.upload_ratio = 7.0", "CAHOOTS_ALGORITHM__UPLOAD_RATIO");
    said("algorithm.ridge = 0.1", "default");
    assert!(text.contains("would be made"));
    assert!(!folder.join("serve.store").exists(), "nothing is started");

    // The same store for whoever asks, by variable or by flag.
    let elsewhere = [("CAHOOTS_STORE", "other.store")];
    let serving = Node::start(folder, &["serve", "serve.toml"], &elsewhere);
    assert!(folder.join("other.store").exists() && !folder.join("serve.store").exists());
    refused(folder, &["status", "serve.toml"], "nothing runs with the store");
    assert_eq!(asked(folder, &["status", "serve.toml", "--store", "other.store"])["members"], 0);
    assert_eq!(asked(folder, &["members", "serve.toml", "--set", "store=other.store"]), json!([]));
    serving.signalled("-TERM");

    refused(folder, &["serve", "serve.toml", "--set", "token=abc", "--check"], "everyone on this machine");
    refused(
        folder,
        &["serve", "serve.toml", "--set", "listne=abc", "--check"],
        "did you mean `--set listen`?",
    );
    refused(folder, &["serve", "serve.toml", "--log", "loud"], "--log: \"loud\" is no level");
    refused(folder, &["serve", "serve.toml", "--log-format", "xml"], "text");
    let mistaken = Command::new(EXE)
        .args(["serve", "serve.toml"])
        .env("CAHOOTS_LISTNE", "127.0.0.1:0")
        .current_dir(folder)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&mistaken.stderr).into_owned();
    assert_eq!(mistaken.status.code(), Some(2));
    assert!(words.contains("CAHOOTS_LISTNE") && words.contains("`CAHOOTS_LISTEN`"), "{words}");
}

#[test]
fn exit_codes_say_whether_starting_again_can_help() {
    let folder = folder_with(SERVE);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let code = |arguments: &[&str]| cahoots(folder.path(), arguments).status.code();
    assert_eq!(code(&["serve", "serve.toml", "--listen", &taken]), Some(1), "it may be free the next time");
    assert_eq!(code(&["serve", "serve.toml", "--http", &taken]), Some(1));
    assert_eq!(code(&["serve", "serve.toml", "--listen", "192.0.2.1:1"]), Some(2), "plain text would leave");
    assert_eq!(code(&["serve", "serve.toml", "--listen", "here"]), Some(2));
    client_file(folder.path(), &taken);
    assert_eq!(code(&["client", "client.toml", "--http", &taken]), Some(1));
    assert_eq!(code(&["client", "client.toml", "--http", "here"]), Some(2));
}

#[test]
fn a_secret_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    client_file(folder.path(), "127.0.0.1:9");
    let output = Command::new(EXE)
        .args(["client", "client.toml", "--check"])
        .env("CAHOOTS_TOKEN", "0123456789abcdef0123456789abcdef")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("token = (hidden)") && text.contains("CAHOOTS_TOKEN"), "{text}");
    assert!(!text.contains("0123456789"), "{text}");
}

#[test]
fn a_line_for_everything_that_matters_and_none_per_message() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    let serving = Node::start(
        folder,
        &["serve", "serve.toml", "--log-format", "json", "--set", "limits.connections=9"],
        &[],
    );
    client_file(folder, &serving.address);
    let client = Node::start(folder, &["client", "client.toml"], &[]);
    let mut seen = client.until("connected to the coordinator");
    if !seen.iter().any(|line| line.contains("INFO  started")) {
        seen.extend(client.until("INFO  started"));
    }
    assert!(seen.iter().any(|line| line.contains("INFO  started") && line.contains("client=0")), "{seen:#?}");
    let mut log = serving.until("\"connected\"");
    done(folder, &["params", "serve.toml", "set", "upload_ratio=1.0"]);
    for _ in 0..50 {
        learn(&client.address);
    }
    done(folder, &["backup", "serve.toml", "--to", "copy"]);
    client.signalled("-TERM");
    log.extend(serving.until("disconnected"));
    done(folder, &["members", "serve.toml", "remove", "0"]);
    done(folder, &["members", "serve.toml", "release", "0"]);
    log.extend(serving.signalled("-TERM"));
    let lines: Vec<Value> = log
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let messages: Vec<&str> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    let expected = [
        "store opened, log replayed",
        "started",
        "joined",
        "connected",
        "parameters changed",
        "store copied",
        "disconnected",
        "removed",
        "number released",
        "stopping",
        "snapshot written",
        "stopped: all that was taken is on disk",
    ];
    assert_eq!(messages, expected, "in this order, and nothing else");
    assert!(lines.iter().all(|line| line["time"].is_string() && line["level"] == "info"), "{lines:#?}");
    assert_eq!((&lines[1]["federation"], &lines[1]["algorithm"]), (&json!("shop"), &json!("async-linucb")));
    assert_eq!((&lines[3]["client"], &lines[4]["version"]), (&json!(0), &json!(1)));
    assert_eq!(lines[4]["what"], "upload_ratio 5.0 -> 1.0");

    // What was killed says what it found; what cannot start says why, in JSON too.
    let serving = Node::start(folder, &["serve", "serve.toml"], &[]);
    drop(serving.signalled("-KILL"));
    let serving = Node::start(folder, &["serve", "serve.toml"], &[("CAHOOTS_LOG", "warn")]);
    let second =
        cahoots(folder, &["serve", "serve.toml", "--log-format", "json", "--set", "limits.connections=9"]);
    let said: Value = serde_json::from_slice(&second.stderr).unwrap();
    assert!(said["level"] == "error" && said["error"].to_string().contains("in use"), "{said}");
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(serving.signalled("-TERM"), Vec::<String>::new(), "quiet when told to be");
}

/// A decision and its reward.
fn learn(address: &str) {
    let post = |path: &str, body: Value| {
        let body = body.to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let answer = std::io::read_to_string(stream).unwrap();
        serde_json::from_str::<Value>(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let decided = post("/decide", json!({ "arms": [[1.0, 0.0], [0.6, 0.8]] }));
    assert_eq!(post("/reward", json!({ "id": decided["id"], "reward": 1.0 }))["status"], "learned");
}

#[test]
fn a_stranger_that_hammers_does_not_fill_the_log() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    done(folder, &["keys", "init", "keys", "--federation", "shop", "--host", "127.0.0.1"]);
    let serving = Node::start(
        folder,
        &["serve", "serve.toml", "--log-format", "json", "--set", "tls.keys=keys/coordinator"],
        &[],
    );
    let hammered = 400;
    for _ in 0..hammered {
        let mut stranger = TcpStream::connect(&serving.address).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n\n{\"level\":\"error\"}\n").unwrap();
        let mut answer = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stranger, &mut answer);
    }
    let until = Instant::now() + Duration::from_secs(60);
    while asked(folder, &["status", "serve.toml"])["limits"]["identities"] != hammered {
        assert!(Instant::now() < until, "not all of them were counted");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut log = serving.until("more like this");
    log.extend(serving.signalled("-TERM"));
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let turned = lines.iter().filter(|line| line["message"] == "turned away before it said hello").count();
    assert!(turned < hammered, "{turned} lines for {hammered} connections");
    assert!(lines.iter().all(|line| line["level"] != "error"), "a stranger cannot write lines of its own");
}

#[test]
fn parameters_have_a_history_and_a_way_back() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    let serving = Node::start(folder, &["serve", "serve.toml"], &[]);
    refused(folder, &["params", "serve.toml", "revert"], "never changed");
    assert_eq!(asked(folder, &["params", "serve.toml", "set", "upload_ratio=3.0"])["version"], 1);
    assert_eq!(
        asked(folder, &["params", "serve.toml", "upload_ratio=2.0", "download_ratio=4.0"])["version"],
        2
    );
    refused(folder, &["params", "serve.toml", "set", "ridge=3.0"], "cannot change");
    refused(folder, &["params", "serve.toml", "set", "upload_ratio"], "is not KEY=VALUE");
    refused(folder, &["params", "serve.toml", "set"], "required");
    refused(folder, &["params", "serve.toml", "a=1", "history"], "put it behind `set`");
    // Killed at once: what was answered is there.
    serving.signalled("-KILL");
    let _serving = Node::start(folder, &["serve", "serve.toml"], &[]);
    let history = asked(folder, &["params", "serve.toml", "history"]);
    assert_eq!((&history["version"], history["versions"].as_array().unwrap().len()), (&json!(2), 3));
    let changes = json!([
        { "key": "download_ratio", "from": "5.0", "to": "4.0" },
        { "key": "upload_ratio", "from": "3.0", "to": "2.0" },
    ]);
    assert_eq!(history["versions"][2]["changes"], changes);
    let back = asked(folder, &["params", "serve.toml", "revert"]);
    assert_eq!((&back["version"], &back["params"]["upload_ratio"]), (&json!(3), &json!(3.0)));
    assert_eq!(asked(folder, &["params", "serve.toml", "revert", "0"])["params"]["download_ratio"], 5.0);
    refused(folder, &["params", "serve.toml", "revert", "9"], "not on record");
    let text = cahoots(folder, &["params", "serve.toml", "--text", "history"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.lines().next().unwrap().contains("holds  back to version 0: "), "{text}");
    assert!(
        text.lines().last().unwrap().starts_with('0') && text.contains("upload_ratio 3.0 -> 2.0"),
        "{text}"
    );
}

#[test]
fn a_store_is_looked_at_and_not_a_byte_of_it_changes() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    let serving = Node::start(folder, &["serve", "serve.toml"], &[]);
    client_file(folder, &serving.address);
    let client = Node::start(folder, &["client", "client.toml"], &[]);
    client.until("connected to the coordinator");
    learn(&client.address);
    done(folder, &["drain", "client.toml"]);
    done(folder, &["params", "serve.toml", "set", "upload_ratio=3.0"]);
    refused(folder, &["inspect", "serve.toml"], "cahoots status");
    refused(folder, &["inspect", "client.store"], "cahoots status");
    done(folder, &["backup", "serve.toml", "--to", "copy"]);
    // Killed: the log is what there is.
    client.signalled("-KILL");
    serving.signalled("-KILL");

    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if file.path().is_file() {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o400)).unwrap();
        }
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o500)).unwrap();
    let before = fingerprint(folder);
    let found = asked(folder, &["inspect", "serve.toml"]);
    assert_eq!(
        found,
        asked(folder, &["inspect", "serve.store"]).tap(|other| other["store"] = found["store"].clone())
    );
    assert_eq!(found["owner"], "the coordinator of federation \"shop\"");
    assert_eq!(
        (&found["terms"]["algorithm"], &found["log"]["cut_short"]),
        (&json!("async-linucb"), &json!(false))
    );
    assert!(
        found["log"]["entries"].as_u64().unwrap() > 0 && found["snapshot"]["present"] == false,
        "{found}"
    );
    let inside = &found["coordinator"];
    assert_eq!((&inside["params_version"], &inside["params"]["upload_ratio"]), (&json!(1), &json!(3.0)));
    assert_eq!((&inside["members"][0]["client"], &inside["members"][0]["received"]), (&json!(0), &json!(1)));
    let copy = asked(folder, &["inspect", "copy"]);
    assert_eq!((&copy["commits"], &copy["coordinator"]), (&found["commits"], &found["coordinator"]));
    let client = asked(folder, &["inspect", "client.toml"]);
    assert_eq!((&client["client"]["client"], &client["client"]["uploads"]), (&json!(0), &json!(1)));
    assert!(client["client"]["privacy"]["words"].as_str().unwrap().contains("No privacy"), "{client}");
    let text = String::from_utf8(cahoots(folder, &["inspect", "serve.store", "--text"]).stdout).unwrap();
    assert!(text.contains("the coordinator of federation") && text.contains("member"), "{text}");
    assert!(fingerprint(folder) == before, "no byte, no permission, no date, no new file");
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();

    // Damage is said with its place, and left as it is.
    let log = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let log = log
        .filter(|path| path.to_str().unwrap().contains("serve.store."))
        .find(|p| p.extension().unwrap() == "log");
    let log = log.unwrap();
    std::fs::set_permissions(&log, PermissionsExt::from_mode(0o600)).unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[60] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let before = fingerprint(folder);
    refused(
        folder,
        &["inspect", "serve.store"],
        "is altered, and it is not the last. It was left as it is. To recover,",
    );
    assert!(fingerprint(folder) == before);
    refused(folder, &["inspect", "nowhere"], "there is no store");
    std::fs::write(folder.join("picture.png"), b"\x89PNG\r\n\x1a\n and so on, for a while").unwrap();
    refused(folder, &["inspect", "picture.png"], "does not begin as a store does");
}

trait Tap: Sized {
    /// The same with something changed.
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Tap for Value {}

#[test]
fn a_node_is_asked_by_its_address_and_shows_itself_to_who_has_the_token() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    std::fs::write(folder.join("token"), "0123456789abcdef0123\n").unwrap();
    let serving = Node::start(folder, &["serve", "serve.toml"], &[]);
    let url = format!("http://{}", serving.page);
    client_file(folder, &serving.address);
    let client = Node::start(folder, &["client", "client.toml"], &[]);
    client.until("connected to the coordinator");
    let by_address = asked(folder, &["status", &url]);
    assert_eq!((&by_address["federation"], &by_address["connected"]), (&json!("shop"), &json!(1)));
    assert_eq!(asked(folder, &["members", &url])[0]["client"], 0);
    let text = String::from_utf8(cahoots(folder, &["members", &url, "--text"]).stdout).unwrap();
    assert!(text.starts_with("client") && text.contains("here"), "{text}");
    let text = String::from_utf8(cahoots(folder, &["status", "serve.toml", "--text"]).stdout).unwrap();
    assert!(
        text.starts_with("The one client that has joined is here")
            && text.contains("\nstarted                20"),
        "{text}"
    );
    assert_eq!(asked(folder, &["status", &format!("http://{}", client.address)])["client"], 0);
    refused(folder, &["members", &url, "remove", "0"], "on its own machine");
    refused(folder, &["params", &url], "on its own machine");
    refused(folder, &["status", "https://127.0.0.1:1"], "only http://");
    serving.signalled("-TERM");
    refused(folder, &["status", &url], "refused");

    let serving = Node::start(folder, &["serve", "serve.toml", "--set", "token_file=token"], &[]);
    let url = format!("http://{}", serving.page);
    refused(folder, &["status", &url], "--token-file");
    assert_eq!(asked(folder, &["status", &url, "--token-file", "token"])["federation"], "shop");
    std::fs::write(folder.join("wrong"), "0123456789abcdef0124\n").unwrap();
    refused(folder, &["status", &url, "--token-file", "wrong"], "wants its token");
}

/// A page that is open finds its coordinator again: the port that was taken is taken again, as long as nobody else has it.
#[test]
fn a_page_stays_where_it_is_over_a_restart() {
    let folder = folder_with(SERVE);
    let folder = folder.path();
    let first = Node::start(folder, &["serve", "serve.toml"], &[]);
    let page = first.page.clone();
    assert!(page.starts_with("127.0.0.1:"), "{page}");
    first.signalled("-TERM");
    let second = Node::start(folder, &["serve", "serve.toml"], &[]);
    assert_eq!(second.page, page);
    // Killed, too.
    second.signalled("-KILL");
    let third = Node::start(folder, &["serve", "serve.toml"], &[]);
    assert_eq!(third.page, page);
    third.signalled("-TERM");
    let taken = std::net::TcpListener::bind(&page).unwrap();
    let moved = Node::start(folder, &["serve", "serve.toml"], &[]);
    assert_ne!(moved.page, page, "somebody else is there");
    drop(taken);
    let page = moved.page.clone();
    moved.signalled("-TERM");
    let last = Node::start(folder, &["serve", "serve.toml"], &[]);
    assert_eq!(last.page, page);
    last.signalled("-TERM");
}
