use std::fs;
use std::io::Write as _;
use std::path::Path;

use cahoots_sim::files::{Files, Here, Located};
use tempfile::TempDir;

use super::*;

/// Sets whose events can be replayed.
const REPLAYED: [Kind; 5] =
    [Kind::Lastfm, Kind::Delicious, Kind::DeliciousReduced, Kind::HetrecMovielens, Kind::Movielens];

fn tiny(kind: Kind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(kind, folder.path()).unwrap();
    folder
}

fn load_from(folder: &Path) -> Result<Arc<Dataset>, DataError> {
    load(&Folder::new(&Here, folder.to_str().unwrap()), None)
}

/// What is said of a tiny set in which one file was changed.
fn complaint(kind: Kind, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    let folder = tiny(kind);
    let path = folder.path().join(file);
    let changed = change(fs::read(&path).unwrap());
    fs::write(&path, changed).unwrap();
    let said = check(&Folder::new(&Here, folder.path().to_str().unwrap())).unwrap_err().to_string();
    said.replace(folder.path().to_str().unwrap(), "DIR")
}

fn text(change: impl FnOnce(String) -> String) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    |bytes| change(String::from_utf8(bytes).unwrap()).into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(bytes).unwrap();
    zipped.finish().unwrap()
}

#[test]
fn every_format_is_recognised_and_read() {
    for kind in REPLAYED {
        let folder = tiny(kind);
        let set = load_from(folder.path()).unwrap();
        assert_eq!(set.kind, kind);
        assert_eq!(set.users, (1..=12).map(|user| 7 * user).collect::<Vec<u32>>());
        assert!(set.events.len() > 140, "{kind:?}: {} events", set.events.len());
        assert!(set.events.iter().all(|event| (event.item as usize) < set.items.len()));
        assert_eq!(set.documents.starts.len(), set.items.len() + 1);
        assert!(set.documents.words.contains(&"rock".to_string()), "{:?}", set.documents.words);
        assert_eq!(set.timed, kind != Kind::DeliciousReduced);
    }
}

#[test]
fn events_are_as_the_papers_count_them() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("tags.dat", "tagID\ttagValue\n1\trock\n2\tpop\n");
    let row =
        |user, artist, tag, day, month, year| format!("{user}\t{artist}\t{tag}\t{day}\t{month}\t{year}\n");
    let rows = [
        row(2, 9, 1, 1, 4, 2009),
        row(2, 9, 2, 1, 4, 2009), // a second tag at once
        row(2, 9, 1, 1, 5, 2009), // another time
        row(2, 8, 1, 1, 5, 2009), // another artist
        row(2, 9, 1, 1, 5, 2009), // the first one again, not in a row
        row(3, 9, 1, 5, 5, 2011),
        row(3, 9, 2, 5, 5, 2011), // on these days times were finer than dates
        row(3, 9, 2, 9, 5, 2011),
        row(3, 9, 1, 9, 5, 2011),
        row(3, 9, 1, 1, 5, 2011),
        row(3, 9, 2, 1, 5, 2011), // not on this one
    ];
    write("user_taggedartists.dat", &format!("userID\tartistID\ttagID\tday\tmonth\tyear\n{}", rows.concat()));
    let set = load_from(folder.path()).unwrap();
    let events: Vec<(u32, u32)> = set.events.iter().map(|event| (event.user, event.item)).collect();
    assert_eq!(events, [(0, 1), (0, 1), (0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]);
    // Artist 9: six times rock, four times pop.
    assert_eq!(set.documents.of(1), [(0, 4), (1, 6)]);
    assert_eq!(set.documents.words, ["pop", "rock"]);
    assert_eq!((set.count("tag assignments"), set.count("events")), (Some(11), Some(9)));
}

#[test]
fn whatever_it_is_packed_in_is_the_same_content() {
    for kind in REPLAYED {
        let folder = tiny(kind);
        let plain = load_from(folder.path()).unwrap();
        for name in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let bytes = fs::read(&name).unwrap();
            let crlf = String::from_utf8(bytes).unwrap().replace('\n', "\r\n");
            let latin: Vec<u8> = crlf.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
            fs::write(format!("{}.gz", name.display()), gzip(&latin)).unwrap();
            fs::remove_file(&name).unwrap();
        }
        let packed = load_from(folder.path()).unwrap();
        assert_eq!(packed.content, plain.content, "{kind:?}");
        assert_eq!(packed, plain);
    }
}

#[test]
fn other_data_is_other_content() {
    let folder = tiny(Kind::Lastfm);
    let before = load_from(folder.path()).unwrap();
    for (name, from, to) in [
        ("tags.dat", "smoky", "smoke"),
        ("tags.dat", "smoky", "smoki"),
        ("user_taggedartists.dat", "\t2005\n", "\t2004\n"),
        ("user_taggedartists.dat", "\n7\t", "\n6\t"),
    ] {
        let path = folder.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        assert_ne!(load_from(folder.path()).unwrap().content, before.content, "{name}");
        fs::write(&path, text).unwrap();
        assert_eq!(load_from(folder.path()).unwrap().content, before.content);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let folder = tiny(Kind::Movielens);
    let path = folder.path().join("ratings.csv");
    let text = fs::read_to_string(&path).unwrap();
    let before = load_from(folder.path()).unwrap();
    fs::write(&path, format!("\u{feff}{text}")).unwrap();
    assert_eq!(load_from(folder.path()).unwrap().content, before.content);
}

#[test]
fn what_is_damaged_is_said_with_file_and_line() {
    let lastfm = "user_taggedartists.dat";
    let said = |file, change: fn(String) -> String| complaint(Kind::Lastfm, file, text(change));
    assert_eq!(
        complaint(Kind::Lastfm, lastfm, |bytes| {
            let zipped = gzip(&bytes);
            zipped[..zipped.len() / 2].to_vec()
        })
        .split_once(": ")
        .unwrap()
        .1,
        "is cut short: its gzip stream ends too early"
    );
    assert_eq!(
        complaint(Kind::Lastfm, "tags.dat", |bytes| {
            let mut zipped = gzip(&bytes);
            let at = zipped.len() - 6;
            zipped[at] ^= 1;
            zipped
        })
        .split_once(": ")
        .unwrap()
        .1,
        "is damaged: its gzip stream cannot be read"
    );
    assert_eq!(
        said("tags.dat", |text| text.trim_end().to_string()),
        "tags.dat, line 13: the last line has no end: the file may be cut short (if it is whole, add a line end)"
    );
    assert_eq!(
        said(lastfm, |text| text.replacen("\t2005\n", "\n", 1)),
        "user_taggedartists.dat, line 2: 6 columns were expected, not 5"
    );
    assert_eq!(
        said("tags.dat", |text| text.replacen("3\tfolk", "3\tfolk\tmore", 1)),
        "tags.dat, line 4: 2 columns were expected, not 3"
    );
    assert_eq!(
        said(lastfm, |text| text.replacen("\n7\t", "\nseven\t", 1)),
        "user_taggedartists.dat, line 2: userID: a whole number below 4294967296 was expected, not \"seven\""
    );
    assert_eq!(
        said(lastfm, |text| text.replacen("\n7\t", "\n99999999999999999999999\t", 1)),
        "user_taggedartists.dat, line 2: userID: a whole number below 4294967296 was expected, \
         not \"99999999999999999999999\""
    );
    assert_eq!(
        said("tags.dat", |text| text.replacen("1\trock", "tagID\ttagValue\n1\trock", 1)),
        "tags.dat, line 2: tagID: a whole number below 4294967296 was expected, not \"tagID\" \
         (is the header there twice?)"
    );
    assert_eq!(
        said("tags.dat", |text| text.replacen("2\tjazz", "1\tjazz", 1)),
        "tags.dat, line 3: tag 1 is there twice"
    );
    assert!(
        said("tags.dat", |text| text.replacen("12\tcampfire\n", "", 1))
            .ends_with("tag 12 is not in tags.dat")
    );
    assert_eq!(said("tags.dat", |_| String::new()), "tags.dat is empty: a header was expected");
    assert_eq!(
        said(lastfm, |text| text.lines().next().unwrap().to_string() + "\n"),
        "there are no events: only headers"
    );
    assert_eq!(
        said("tags.dat", |text| text.replacen("tagValue", "tag", 1)),
        "tags.dat, line 1: expected the header \"tagID\\ttagValue\", not \"tagID\\ttag\""
    );
    assert_eq!(
        said(lastfm, |text| text.replacen("\t1\t1\t2005\n", "\t1\t13\t2005\n", 1)),
        "user_taggedartists.dat, line 2: column 5: a whole number from 1 to 12 was expected, not 13"
    );
    assert_eq!(
        complaint(Kind::Lastfm, "tags.dat", |bytes| {
            String::from_utf8(bytes).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect()
        }),
        "tags.dat is in an encoding of two bytes per character: UTF-8 or Latin-1 was expected"
    );
}

#[test]
fn other_sets_are_as_strict() {
    let csv = |file, change: fn(String) -> String| complaint(Kind::Movielens, file, text(change));
    assert_eq!(
        csv("ratings.csv", |text| text.replacen("\n7,", "\n7,4711,4.0,9\n7,", 1)),
        "ratings.csv, line 2: movie 4711 is not in movies.csv"
    );
    assert_eq!(
        csv("ratings.csv", |text| text.replacen(",4.0,", ",5.5,", 1)),
        "ratings.csv, line 2: rating: a number of stars from 0 to 5 was expected, not 5.5"
    );
    assert_eq!(
        csv("movies.csv", |text| text.replacen("\n2,", "\n1,", 1)),
        "movies.csv, line 3: movie 1 is there twice"
    );
    let reduced = |file, change: fn(String) -> String| complaint(Kind::DeliciousReduced, file, text(change));
    assert!(
        reduced("user_bookmarks_pairs.tsv", |text| text.replacen("\t1\n", "\t0\n", 1))
            .starts_with("user_taggedbookmarks_reduced.tsv, line 2: user 7 and URL ")
    );
    assert_eq!(
        reduced("user_bookmarks_pairs.tsv", |text| text.replacen("\t1\n", "\t2\n", 1)),
        "user_bookmarks_pairs.tsv, line 2: has_tags: 0 or 1 was expected, not 2"
    );
    let bandit =
        |change: fn(String) -> String| complaint(Kind::OpenBandit, "random/all/all.csv", text(change));
    assert_eq!(
        bandit(|text| text.replacen(",0.2,", ",0,", 1)),
        "all.csv, line 2: propensity_score: a probability above 0 was expected"
    );
    assert_eq!(
        bandit(|text| text.replacen(":04,4,", ":04,5,", 1)),
        "all.csv, line 6: item_id: 5 is not in item_context.csv"
    );
    assert_eq!(
        bandit(|text| text.replacen("propensity_score", "pscore", 1)),
        "all.csv, line 1: a column propensity_score was expected in the header"
    );
}

#[test]
fn a_quote_left_open_does_not_swallow_the_memory() {
    let said = complaint(
        Kind::Movielens,
        "movies.csv",
        text(|text| text + "91,\"left open,Comedy\n" + &"1,x,y\n".repeat(400_000)),
    );
    assert!(said.contains("a row is longer than 1048576 bytes (is a quote left open?)"), "{said}");
}

#[test]
fn a_folder_is_one_set_or_none() {
    let folder = tiny(Kind::Lastfm);
    let said = |folder: &Path| {
        let error = recognise(&Folder::new(&Here, folder.to_str().unwrap())).unwrap_err();
        error.to_string().replace(folder.to_str().unwrap(), "DIR")
    };
    fs::copy(folder.path().join("tags.dat"), folder.path().join("tags.dat.gz")).unwrap();
    assert_eq!(
        load_from(folder.path()).unwrap_err().to_string(),
        "there are both tags.dat and tags.dat.gz: move one of them away"
    );
    fs::remove_file(folder.path().join("tags.dat.gz")).unwrap();
    fs::write(folder.path().join("ratings.csv"), "").unwrap();
    assert_eq!(
        said(folder.path()),
        "DIR holds more than one set: lastfm (user_taggedartists.dat) and movielens (ratings.csv): \
         give each a folder of its own"
    );
    let path = folder.path().to_str().unwrap();
    assert!(load(&Folder::new(&Here, path), Some(Kind::Lastfm)).is_ok(), "whoever says which one is heard");
    assert!(said(&folder.path().join("none")).starts_with("there is no folder "));
    let empty = tempfile::tempdir().unwrap();
    assert!(
        said(empty.path()).starts_with("DIR is no dataset that is known: none of user_taggedartists.dat, ")
    );
    let missing = tiny(Kind::Movielens);
    fs::remove_file(missing.path().join("tags.csv")).unwrap();
    let error = load_from(missing.path()).unwrap_err().to_string();
    assert!(error.starts_with("there is no tags.csv or tags.csv.gz in "), "{error}");
}

#[test]
fn a_set_that_is_another_than_was_said_is_refused() {
    let folder = tiny(Kind::Movielens);
    let folder = Folder::new(&Here, folder.path().to_str().unwrap());
    let error = load(&folder, Some(Kind::Ml20m)).unwrap_err().to_string();
    assert!(error.ends_with("that is not ml-20m, which has 20000263"), "{error}");
    assert!(load(&folder, Some(Kind::Movielens)).is_ok());
    let bandit = tiny(Kind::OpenBandit);
    assert!(load_from(bandit.path()).unwrap_err().to_string().contains("a log of decisions"));
}

#[test]
fn a_check_says_what_is_there_and_what_is_known() {
    let folder = tiny(Kind::Lastfm);
    let report = check(&Folder::new(&Here, folder.path().to_str().unwrap())).unwrap();
    assert_eq!((report.dataset, report.missing.len()), ("lastfm", 3));
    let users = Count { what: "users".into(), found: 12, known: Some(1892) };
    assert!(report.counts.contains(&users) && report.differing().any(|count| *count == users));
    let bandit = tiny(Kind::OpenBandit);
    let report = check(&Folder::new(&Here, bandit.path().to_str().unwrap())).unwrap();
    let counts: Vec<(&str, u64)> =
        report.counts.iter().map(|count| (count.what.as_str(), count.found)).collect();
    let expected = [("random/all: impressions", 40), ("random/all: items", 5), ("random/all: clicks", 4)];
    assert_eq!(counts, expected);
    assert_eq!(report.missing.len(), 5);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Whatever is done to a file, it is read or refused, and the same bytes give the same answer.
    #[test]
    fn damage_is_answered_and_not_died_of(
        kind in 0..6usize,
        file in 0..5usize,
        at in 0.0..1.0f64,
        cut in proptest::bool::ANY,
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..12),
    ) {
        let kinds = [&REPLAYED[..], &[Kind::OpenBandit]].concat();
        let folder = tiny(kinds[kind]);
        let inside = if kinds[kind] == Kind::OpenBandit { "random/all" } else { "" };
        let entries = fs::read_dir(folder.path().join(inside)).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        let path = &names[file % names.len()];
        let mut content = fs::read(path).unwrap();
        let at = (at * content.len() as f64) as usize;
        let end = if cut { content.len() } else { (at + bytes.len() / 2).min(content.len()) };
        content.splice(at..end, bytes);
        fs::write(path, content).unwrap();
        let said = || check(&Folder::new(&Here, folder.path().to_str().unwrap()));
        proptest::prop_assert_eq!(said(), said());
    }
}

/// Files of which one may not be used.
struct Refusing(&'static str);

impl Files for Refusing {
    fn text(&self, path: &str) -> Result<String, String> {
        Here.text(path)
    }

    fn has(&self, path: &str) -> bool {
        Here.has(path)
    }

    fn locate(&self, path: &str) -> Result<Located, String> {
        if path.ends_with(self.0) { Err("it has changed since that run".into()) } else { Here.locate(path) }
    }
}

#[test]
fn a_file_that_may_not_be_used_is_not_called_absent() {
    let folder = tiny(Kind::Lastfm);
    let said = load(&Folder::new(&Refusing("tags.dat"), folder.path().to_str().unwrap()), None).unwrap_err();
    assert_eq!(said.to_string(), "tags.dat: it has changed since that run");
}
