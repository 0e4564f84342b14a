//! Descriptors run out: neither spinning nor silence. In a process of its own, since it takes all of them.

mod common;

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::limits::raise_files;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;

use common::{Federation, Raw, known, terms, until};

fn allow(files: u64) {
    let limit = Rlimit { current: Some(files), maximum: getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Time that this process has computed, in hundredths of a second.
fn computed(stat: &mut File) -> u64 {
    let mut text = String::new();
    stat.rewind().unwrap();
    stat.read_to_string(&mut text).unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn exhausted_descriptors_are_waited_for() {
    allow(128);
    let most = getrlimit(Resource::Nofile).maximum;
    assert_eq!(raise_files(10), most);
    assert_eq!(getrlimit(Resource::Nofile).current, most, "the soft limit is raised to the hard one");

    allow(128);
    let terms = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(2, 2, 2));
    let federation = Federation::start(&known(), terms);
    // Whatever is opened lazily is open by then.
    drop(federation.runtime.block_on(Raw::connect(&federation.url, 0)));
    until("it has gone", || federation.status().connected == 0);
    std::thread::sleep(Duration::from_millis(100));
    let mut stat = File::open("/proc/self/stat").unwrap();
    let mut files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    files.pop();
    let waiting = federation.runtime.block_on(TcpStream::connect(federation.address())).unwrap();
    until("it is noticed", || federation.status().limits.accept_errors > 0);
    let (errors, time) = (federation.status().limits.accept_errors, computed(&mut stat));
    std::thread::sleep(Duration::from_secs(1));
    let (errors, time) = (federation.status().limits.accept_errors - errors, computed(&mut stat) - time);
    assert!((2..=25).contains(&errors), "{errors} attempts in a second");
    assert!(time < 50, "{time} hundredths of a second were computed in one second of waiting");
    // With descriptors, all goes on.
    drop((files, waiting));
    federation.runtime.block_on(Raw::connect(&federation.url, 1));
}
