use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

use super::*;

fn row(number: u64) -> Row {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    let context = BTreeMap::from([
        ("evening".into(), Known::Number(f64::from(number as u32 % 2))),
        ("arm".into(), Known::Word("left".into())),
    ]);
    Row {
        time: now - 1,
        closed: now,
        client: 3,
        user: None,
        decision: format!("77-{number}"),
        event: (number == 2).then(|| "e|v".into()),
        arm: "red".into(),
        propensity: Some(0.25),
        reward: (number != 3).then_some(1.0),
        outcome: if number == 3 { Outcome::Abandoned } else { Outcome::Rewarded },
        offered: vec!["red".into(), "blue".into()],
        baseline: None,
        decided: "alone".into(),
        model: number,
        features: vec![0.5, -1.0],
        context,
    }
}

fn tables(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut tables: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "parquet")).collect();
    tables.sort();
    tables
}

/// The decisions of a table, and its columns.
fn read(path: &Path) -> (Vec<String>, Vec<String>) {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let columns: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
    let at = columns.iter().position(|name| name == "decision").unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    (rows.map(|row| row.unwrap().get_string(at).unwrap().clone()).collect(), columns)
}

fn config(folder: &Path) -> DecisionLogConfig {
    DecisionLogConfig { rotate_rows: 4, ..DecisionLogConfig::new(folder.join("kept")) }
}

fn write(config: &DecisionLogConfig, numbers: std::ops::RangeInclusive<u64>) {
    let log = DecisionLog::open(config, 3).unwrap();
    for number in numbers {
        log.push(row(number));
    }
}

#[test]
fn rows_become_tables_when_there_are_enough_and_wait_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    write(&config, 1..=3);
    assert_eq!(tables(&config.folder).len(), 0);
    // A process that was killed in the middle of a line.
    let spool = config.folder.join("client-3.rows");
    fs::OpenOptions::new().append(true).open(&spool).unwrap().write_all(b"{\"time\": 1, \"cl").unwrap();
    write(&config, 4..=4);
    // It is turned when it is looked at again.
    write(&config, 5..=5);
    let tables = tables(&config.folder);
    assert_eq!(tables.len(), 1, "{tables:?}");
    let (decisions, columns) = read(&tables[0]);
    assert_eq!(decisions[..4], ["77-1", "77-2", "77-3", "77-4"]);
    let expected = "time closed client user decision event arm propensity reward outcome offered baseline decided model \
                    context_arm evening x0 x1";
    assert_eq!(columns.join(" "), expected);
}

#[test]
fn a_table_that_was_written_and_not_acted_upon_is_written_again_and_nothing_is_twice() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path());
    write(&config, 1..=3);
    // Killed between the table and the end of the rows.
    table::write(&config.folder, 3, &config.folder.join("client-3.rows")).unwrap();
    write(&config, 4..=4);
    write(&config, 5..=5);
    let all: Vec<String> = tables(&config.folder).iter().flat_map(|path| read(path).0).collect();
    assert_eq!(all[..4], ["77-1", "77-2", "77-3", "77-4"]);
}

#[test]
fn old_tables_go_and_what_is_not_ours_stays() {
    let folder = tempfile::tempdir().unwrap();
    let config = DecisionLogConfig { rotate_rows: 1, ..config(folder.path()) };
    for number in 1..=4 {
        write(&config, number..=number);
    }
    let spool = Spool::open(&config.folder, 3).unwrap();
    assert!(spool.rows() <= 1);
    let foreign = config.folder.join("decisions-30-20200101T000000Z-1-1.parquet");
    fs::write(&foreign, "another client's").unwrap();
    let before = tables(&config.folder).len() as u64 - 1;
    assert!(before >= 3);
    let size = fs::metadata(&tables(&config.folder)[0]).unwrap().len();
    let few = DecisionLogConfig { keep_bytes: Some(2 * size + size / 2), ..config.clone() };
    assert_eq!(keep::keep(&config.folder, 3, &few).unwrap(), 2);
    assert!(foreign.exists());
    let kept = tables(&config.folder);
    assert_eq!(kept.len(), 3, "the youngest two, and the foreign one: {kept:?}");
    let none = DecisionLogConfig { keep_days: Some(1e-9), ..config.clone() };
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(keep::keep(&config.folder, 3, &none).unwrap(), 0);
    assert!(foreign.exists());
}

#[test]
fn files_are_their_owners_alone_and_a_folder_that_is_none_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let config = DecisionLogConfig { rotate_rows: 1, ..config(folder.path()) };
    write(&config, 1..=1);
    write(&config, 2..=2);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&config.folder), 0o700);
    assert!(!tables(&config.folder).is_empty());
    for path in tables(&config.folder) {
        assert_eq!(mode(&path), 0o600);
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = DecisionLog::open(&DecisionLogConfig::new(&file), 3).unwrap_err();
    assert!(refused.contains("[decisions] folder"), "{refused}");
}
