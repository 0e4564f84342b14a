//! Certificates, invitations and tokens, as a user types them: files that a careless user writes are refused with the fix.

mod running;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use running::{Running, asked, cahoots, done, refused};

const FEDERATION: &str =
    "[setting]\nusers = 3\ndim = 2\narms = 2\n[algorithm]\nkind = \"async-linucb\"\nratio = 1.0\n";

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = cahoots(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(folder: &Path, file: &str, text: &str) {
    std::fs::write(folder.join(file), text).unwrap();
}

fn serve(folder: &Path, more: &str) -> Running {
    let text = format!(
        "federation = \"shop\"\nlisten = \"127.0.0.1:0\"\nstore = \"serve.store\"\nsync = \"memory\"\n{more}\n{FEDERATION}"
    );
    write(folder, "serve.toml", &text);
    Running::start(folder, "serve", "serve.toml")
}

fn client_file(folder: &Path, serving: &Running, client: u32, more: &str) -> String {
    let name = format!("client-{client}.toml");
    let text = format!(
        "federation = \"shop\"\ncoordinator = \"https://{}\"\nclient = {client}\nstore = \"client-{client}.store\"\nsync = \"memory\"\n\
         longest_pause = 0.1\n{more}\n",
        serving.address
    );
    write(folder, &name, &text);
    name
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a client that may just be starting has met its coordinator.
fn connected(folder: &Path, file: &str) -> bool {
    let output = cahoots(folder, &["status", file]);
    serde_json::from_slice(&output.stdout).is_ok_and(|status: serde_json::Value| status["connected"] == true)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_federation_with_certificates_from_the_first_command_to_a_revocation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let told =
        said(folder, &["keys", "init", "keys", "--federation", "shop", "--host", "127.0.0.1", "localhost"]);
    assert!(told.contains("[tls]\n  keys = \"/") && told.contains("keys/coordinator\"\n"), "{told}");
    refused(
        folder,
        &["keys", "init", "keys", "--federation", "shop", "--host", "x"],
        "keys of a federation already",
    );
    assert_eq!(said(folder, &["keys", "client", "keys", "0", "1"]), "keys/client-0\nkeys/client-1\n");
    refused(folder, &["keys", "client", "elsewhere", "0"], "cahoots keys init");
    refused(folder, &["keys", "revoke", "keys", "2"], "no certificate");
    for made in ["keys", "keys/client-0", "keys/authority-1"] {
        assert_eq!(mode(&folder.join(made)), 0o700, "{made}");
    }
    for made in ["keys/client-0/key.pem", "keys/authority-1/key.pem", "keys/coordinator/key.pem"] {
        assert_eq!(mode(&folder.join(made)), 0o600, "{made}");
    }
    let shown = said(folder, &["keys", "show", "keys"]);
    for words in [
        "client 1 of federation \"shop\"",
        "the coordinator of federation \"shop\" at 127.0.0.1, localhost",
        " days left",
        "0 revoked",
    ] {
        assert!(shown.contains(words), "{shown} lacks {words}");
    }
    assert!(
        said(folder, &["keys", "show", "keys/client-0/certificate.pem"]).contains("client 0 of federation")
    );

    let serving = serve(folder, "[tls]\nkeys = \"keys/coordinator\"");
    let file = client_file(folder, &serving, 0, "[tls]\nkeys = \"keys/client-0\"");
    let client = Running::start(folder, "client", &file);
    client.learn();
    until("it is merged", || asked(folder, &["status", "serve.toml"])["received"] == 1);
    // The wrong number, by mistake: it is told so, and ends, having never joined.
    let file = client_file(folder, &serving, 1, "[tls]\nkeys = \"keys/client-0\"");
    refused(folder, &["client", &file], "this is the certificate of client 0 of federation \"shop\"");
    done(folder, &["keys", "revoke", "keys", "0"]);
    until("it says that it was revoked", || {
        asked(folder, &["status", "client-0.toml"])["problems"].to_string().contains("has been revoked")
    });
    client.learn();
    done(folder, &["keys", "client", "keys", "0"]);
    until("it is back", || connected(folder, "client-0.toml"));
    done(folder, &["keys", "rotate", "keys"]);
    done(folder, &["keys", "server", "keys"]);
    done(folder, &["keys", "client", "keys", "0"]);
    until("it is back", || connected(folder, "client-0.toml"));
    assert_eq!(
        said(folder, &["keys", "rotate", "keys", "--finish"]),
        "1 authorities are not believed any more\n"
    );
    client.learn();
    until("nothing was lost", || asked(folder, &["status", "serve.toml"])["received"] == 3);
    for store in ["serve.store", "client-0.store"] {
        until("it is written", || folder.join(store).exists());
        assert_eq!(mode(&folder.join(store)), 0o600);
    }
    assert_eq!(mode(&folder.join("serve.store.sock")), 0o600);
}

#[test]
fn a_number_is_granted_by_invitation() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["keys", "init", "keys", "--federation", "shop", "--host", "127.0.0.1"]);
    let serving = serve(folder, "admit = \"tokens\"\n[tls]\nkeys = \"keys/coordinator\"");
    let tls = "[tls]\nauthorities = \"keys/authorities.pem\"";
    let file = client_file(folder, &serving, 2, tls);
    refused(folder, &["client", &file], "cahoots members FILE invite 2");
    let answer = asked(folder, &["members", "serve.toml", "invite", "2", "--valid-days", "1"]);
    let invitation = answer["invitation"].as_str().unwrap();
    write(folder, "invitation", invitation);
    std::fs::set_permissions(folder.join("invitation"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let file = client_file(folder, &serving, 2, &format!("invitation_file = \"invitation\"\n{tls}"));
    let client = Running::start(folder, "client", &file);
    client.learn();
    assert_eq!(mode(&folder.join("invitation")), 0o600, "it was anyone's to read");
    client.stop();
    std::fs::remove_file(folder.join("invitation")).unwrap();
    let client = Running::start(folder, "client", &file);
    until("its secret is enough", || connected(folder, &file));
    client.stop();
    // Who rejoins keeps its secret.
    done(folder, &["rejoin", &file]);
    let client = Running::start(folder, "client", &file);
    until("as itself", || connected(folder, &file));
    drop(client);
    asked(folder, &["members", "serve.toml", "invite", "1"]);
    assert_eq!(asked(folder, &["members", "serve.toml", "uninvite", "1"]), json!({ "withdrawn": 1 }));
    refused(folder, &["members", "serve.toml", "invite", "2"], "members FILE release 2");
    refused(folder, &["members", "serve.toml", "invite", "0", "--valid-days=-1"], "a number of days");
}

#[test]
fn careless_files_are_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["keys", "init", "keys", "--federation", "shop", "--host", "127.0.0.1"]);
    done(folder, &["keys", "client", "keys", "0"]);
    let serve = |more: &str, words: &str| {
        let text = format!("federation = \"shop\"\nstore = \"serve.store\"\n{more}\n{FEDERATION}");
        write(folder, "serve.toml", &text);
        refused(folder, &["serve", "serve.toml"], words);
    };
    serve("listen = \"0.0.0.0:0\"", "cahoots keys init DIR --federation NAME --host HOST");
    serve("listen = \"0.0.0.0:0\"\nplain_text = true", "admit = \"anyone\"");
    serve("admit = \"certificates\"", "needs [tls]");
    serve("plain_text = true\nadmit = \"tokens\"", "must not travel in plain text");
    serve("[tls]", "needs `keys`");
    serve("[tls]\nkeys = \"nowhere\"", "cahoots keys init");
    serve("[tls]\nkeys = \"keys/client-0\"", "not for the coordinator of federation");
    serve("[tls]\nkeys = \"keys/coordinator\"\nkey = \"keys/client-0/key.pem\"", "go together");
    let mismatch = "[tls]\nkeys = \"keys/coordinator\"\ncertificate = \"keys/coordinator/certificate.pem\"\nkey = \"keys/client-0/key.pem\"";
    serve(mismatch, "keys may not be consistent");
    done(folder, &["keys", "init", "other", "--federation", "other", "--host", "127.0.0.1"]);
    serve("[tls]\nkeys = \"other/coordinator\"", "for the coordinator of federation \"other\", not");
    serve("admit = \"nobody\"", "expected one of `certificates`, `tokens`, `anyone`");

    let client = |more: &str, words: &str| {
        write(
            folder,
            "client.toml",
            &format!("federation = \"shop\"\nclient = 0\nstore = \"client.store\"\n{more}\n"),
        );
        refused(folder, &["client", "client.toml"], words);
    };
    client("coordinator = \"http://192.0.2.1:7700\"", "cahoots keys client DIR NUMBER");
    client("coordinator = \"https://192.0.2.1:7700\"", "needs [tls]");
    client("coordinator = \"ftp://192.0.2.1:7700\"", "must look like");
    client("coordinator = \"http://127.0.0.1:1\"\ninvitation = \"x\"", "cahoots members FILE invite NUMBER");
    client("coordinator = \"http://127.0.0.1:1\"\nhttp = \"0.0.0.0:0\"", "set `token`");
    client("coordinator = \"http://127.0.0.1:1\"\nhttp = \"0.0.0.0:0\"\ntoken = \"x\"", "can be guessed");
    client("coordinator = \"http://127.0.0.1:1\"\ntoken_file = \"nowhere\"", "token_file");
    client("coordinator = \"http://127.0.0.1:1\"\norigins = [\"*\"]", "is no origin");
}
