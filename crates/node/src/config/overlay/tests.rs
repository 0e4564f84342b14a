use super::*;
use crate::config::{ClientFile, ServeFile};

const SERVE: &str = "federation = \"shop\"\nlisten = \"127.0.0.1:1\"\nstore = \"s\"\n\n[limits]\nhello = 3\nidle = 4\n\n[algorithm]\nkind = \"random\"\n";

fn file(text: &str) -> (tempfile::TempDir, Given) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.toml");
    std::fs::write(&path, text).unwrap();
    (folder, Given::file(path))
}

fn variables(given: &Given, pairs: &[(&str, &str)]) -> Result<Given, NodeError> {
    given.clone().variables(pairs.iter().map(|(name, value)| (name.into(), value.into())))
}

fn serve(given: &Given, pairs: &[(&str, &str)], flags: &[&str]) -> Result<ServeFile, String> {
    let given = variables(given, pairs).map_err(|e| e.to_string())?;
    let given = flags.iter().try_fold(given, |given, pair| given.set(pair)).map_err(|e| e.to_string())?;
    ServeFile::given(&given).map_err(|e| e.to_string())
}

#[test]
fn flags_win_over_variables_and_those_over_the_file() {
    let (folder, given) = file(SERVE);
    let read = serve(&given, &[], &[]).unwrap();
    assert_eq!((&*read.listen, read.store), ("127.0.0.1:1", folder.path().join("s")));
    let pairs = [("CAHOOTS_LISTEN", "127.0.0.1:2"), ("CAHOOTS_LIMITS__HELLO", "5"), ("CAHOOTS_SEED", "9")];
    let read = serve(&given, &pairs, &["listen=127.0.0.1:3", "algorithm.ratio=1.5"]).unwrap();
    assert_eq!(
        (&*read.listen, read.limits.hello.as_secs(), read.limits.idle.as_secs()),
        ("127.0.0.1:3", 5, 4)
    );
    assert_eq!((read.seed, read.algorithm.params["ratio"].as_float()), (9, Some(1.5)));
    // A table that the file does not have, and one in the place of another.
    let read = serve(&given, &[("CAHOOTS_TLS__KEYS", "k")], &["limits={ hello = 8 }"]).unwrap();
    assert_eq!((read.limits.hello.as_secs(), read.limits.idle.as_secs()), (8, 20));
    assert_eq!(read.tls.unwrap().keys.unwrap(), Path::new("k"), "relative to where the command is run");
    assert_eq!(serve(&given, &[("CAHOOTS_STORE", "here")], &[]).unwrap().store, Path::new("here"));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let (folder, given) = file(SERVE);
    let path = folder.path().join("node.toml").display().to_string();
    let said = |pairs: &[(&str, &str)], flags: &[&str]| serve(&given, pairs, flags).unwrap_err();
    let error = said(&[("CAHOOTS_LISTNE", "x")], &[]);
    assert!(
        error.starts_with("CAHOOTS_LISTNE: ") && error.ends_with("did you mean `CAHOOTS_LISTEN`?"),
        "{error}"
    );
    let error = said(&[("CAHOOTS_LIMITS__CONECTIONS", "7")], &[]);
    assert!(error.ends_with("did you mean `CAHOOTS_LIMITS__CONNECTIONS`?"), "{error}");
    let error = said(&[], &["limits.helo=7"]);
    assert!(
        error.starts_with("--set limits.helo: ") && error.ends_with("did you mean `--set limits.hello`?"),
        "{error}"
    );
    let error = said(&[("CAHOOTS_LIMITS__HELLO", "soon")], &[]);
    assert!(error.starts_with("CAHOOTS_LIMITS__HELLO: ") && error.contains("soon"), "{error}");
    let error = said(&[("CAHOOTS_LIMITS__HELLO", "-1")], &[]);
    assert!(error.starts_with("CAHOOTS_LIMITS__HELLO: "), "{error}");
    assert!(said(&[], &["tick"]).contains("is not KEY=VALUE"));
    assert!(said(&[], &["=3"]).contains("is not KEY=VALUE"));
    assert!(said(&[], &["a..b=3"]).contains("is no key"));
    assert!(said(&[], &["listen.port=3"]).starts_with("--set listen.port: "));
    // The file's own mistakes keep their line, whatever else is given.
    std::fs::write(&path, SERVE.replace("idle = 4", "idel = 4")).unwrap();
    let error = said(&[("CAHOOTS_SEED", "3")], &["tick=2"]);
    assert!(error.starts_with(&format!("{path}:7: ")) && error.ends_with("did you mean `idle`?"), "{error}");
    std::fs::write(&path, "federation = ").unwrap();
    assert!(said(&[], &[]).starts_with(&format!("{path}:1: ")));
}

#[test]
fn texts_that_look_like_something_else_stay_texts() {
    let client = "federation = \"shop\"\ncoordinator = \"http://127.0.0.1:1\"\nclient = 0\nstore = \"s\"\n";
    let (_folder, given) = file(client);
    for token in ["12345", "true", "12#4", "1979-05-27", "a b", "[1", "x\ny = 3", "'"] {
        let given = variables(&given, &[("CAHOOTS_TOKEN", token)]).unwrap();
        assert_eq!(ClientFile::given(&given).unwrap().token.as_deref(), Some(token));
    }
    let quoted =
        variables(&given, &[("CAHOOTS_TOKEN", "\"12345\""), ("CAHOOTS_FEDERATION", "2026")]).unwrap();
    let read = ClientFile::given(&quoted).unwrap();
    assert_eq!((read.token.as_deref(), &*read.federation), (Some("12345"), "2026"));
    let listed = variables(&given, &[("CAHOOTS_ORIGINS", "[\"https://a\", \"https://b\"]")]).unwrap();
    assert_eq!(ClientFile::given(&listed).unwrap().origins.len(), 2);
}

#[test]
fn variables_of_others_are_left_alone() {
    let (_folder, given) = file(SERVE);
    let others = [
        ("CAHOOTS_LOG", "debug"),
        ("CAHOOTS_CACHE", "/x"),
        ("CAHOOTS_TEST_STORE", "/x"),
        ("CAHOOTS_PORT", "tcp://10.0.0.1:7700"),
        ("CAHOOTS_PORT_7700_TCP_ADDR", "10.0.0.1"),
        ("CAHOOTS_SERVICE_HOST", "10.0.0.1"),
        ("OTHER_LISTEN", "x"),
    ];
    assert_eq!(serve(&given, &others, &[]).unwrap().listen, "127.0.0.1:1");
    assert!(serve(&given, &[("CAHOOTS_NONSENSE", "x")], &[]).unwrap_err().starts_with("CAHOOTS_NONSENSE: "));
}

#[test]
fn no_secret_is_taken_from_a_command_line() {
    let (_folder, given) = file(SERVE);
    let error = serve(&given, &[], &["token=abcdef"]).unwrap_err();
    assert!(
        error.contains("token_file") && error.contains("CAHOOTS_TOKEN") && !error.contains("abcdef"),
        "{error}"
    );
}

#[test]
fn coordinators_are_given_as_a_list_or_with_commas_between_wherever_they_are_given() {
    let (_folder, given) =
        file("federation = \"shop\"\ncoordinator = [\"http://127.0.0.1:1\"]\nclient = 0\nstore = \"s\"\n");
    let read = |given: &Given| ClientFile::given(given).unwrap().coordinator.to_string();
    assert_eq!(read(&given), "http://127.0.0.1:1");
    let two = "http://127.0.0.1:2,http://127.0.0.1:3";
    let variable = variables(&given, &[("CAHOOTS_COORDINATOR", two)]).unwrap();
    assert_eq!(read(&variable), two);
    let listed = "[\"http://127.0.0.1:2\", \"http://127.0.0.1:3\"]";
    assert_eq!(read(&variables(&given, &[("CAHOOTS_COORDINATOR", listed)]).unwrap()), two);
    let flag =
        variable.flag("coordinator", "http://127.0.0.1:4, http://127.0.0.1:5", "--coordinator").unwrap();
    assert_eq!(read(&flag), "http://127.0.0.1:4,http://127.0.0.1:5");
    let (_folder, empty) = file("federation = \"shop\"\ncoordinator = []\nclient = 0\nstore = \"s\"\n");
    let words = ClientFile::given(&empty).unwrap_err().to_string();
    assert!(words.contains("node.toml:2") && words.contains("at least one"), "{words}");
}
