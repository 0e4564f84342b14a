//! The three sets of the HetRec 2011 workshop: files of fields between tabs.

use std::collections::{BTreeMap, BTreeSet};

use super::dataset::{Dataset, Gathering};
use super::error::DataError;
use super::folder::Folder;
use super::kind::Kind;
use super::movielens::genres;
use super::records::{Dialect, Records, Row};
use super::time;

/// Last.fm. An event is a row of user_taggedartists.dat whose user, artist and time are not those of the row before:
/// someone gives an artist several tags at once. Rows of 5, 6 and 9 May 2011 are all events: there the original times,
/// in milliseconds, differ, which dates do not show.
pub(super) fn lastfm(folder: &Folder<'_>) -> Result<Dataset, DataError> {
    let mut set = Gathering::default();
    tags(folder, &mut set, ["tagID", "tagValue"])?;
    let mut rows = dated(folder, "user_taggedartists", ["userID", "artistID", "tagID"])?;
    let (mut assignments, mut before) = (0, None);
    while let Some((row, time)) = rows.next()? {
        let (user, artist, tag) = assignment(&row, &set, "tags.dat")?;
        assignments += 1;
        let here = (user, artist, time.unit);
        if before != Some(here) || time.apart {
            set.event(user, artist, time.unit);
        }
        before = Some(here);
        set.assign(artist, tag);
    }
    let mut counts = vec![
        ("users", set.count_users()),
        ("tag assignments", assignments),
        ("tags", set.count_tags()),
        ("tagged artists", set.count_items()),
        ("events", set.count_events()),
    ];
    for (what, file, header) in [
        ("artists", "artists.dat", &["id", "name", "url", "pictureURL"][..]),
        ("listens", "user_artists.dat", &["userID", "artistID", "weight"]),
        ("friend pairs", "user_friends.dat", &["userID", "friendID"]),
    ] {
        counts.extend(count(folder, file, header)?.map(|rows| (what, rows)));
    }
    set.finish(Kind::Lastfm, true, counts)
}

/// Delicious. An event is a pair of a user and a URL, where it first appears.
pub(super) fn delicious(folder: &Folder<'_>) -> Result<Dataset, DataError> {
    let mut set = Gathering::default();
    tags(folder, &mut set, ["id", "value"])?;
    let mut rows = dated(folder, "user_taggedbookmarks", ["userID", "bookmarkID", "tagID"])?;
    let (mut assignments, mut pairs) = (0, BTreeSet::new());
    while let Some((row, time)) = rows.next()? {
        let (user, url, tag) = assignment(&row, &set, "tags.dat")?;
        assignments += 1;
        if pairs.insert((user, url)) {
            set.event(user, url, time.unit);
        }
        set.assign(url, tag);
    }
    let mut counts = vec![
        ("users", set.count_users()),
        ("tag assignments", assignments),
        ("tags", set.count_tags()),
        ("URLs", set.count_items()),
        ("events", set.count_events()),
    ];
    counts.extend(contacts(folder)?);
    set.finish(Kind::Delicious, true, counts)
}

/// Delicious as it was reduced: the pairs in one file, what is left of their tags in another, no times. An event is a
/// pair whose tags are there (those of every fifth were taken away), and only URLs with tags are items: nothing can be
/// learned of the others.
pub(super) fn delicious_reduced(folder: &Folder<'_>) -> Result<Dataset, DataError> {
    let mut set = Gathering::default();
    tags(folder, &mut set, ["id", "value"])?;
    let path = folder.need("user_bookmarks_pairs.tsv")?;
    let mut rows = Records::open_with(&path, Dialect::Tabs, &["userID", "bookmarkID", "has_tags"])?;
    let (mut pairs, mut users, mut urls) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    while let Some(row) = rows.next()? {
        let (user, url, tagged) = (row.id(0)?, row.id(1)?, row.id(2)?);
        if tagged > 1 {
            return Err(row.complain(format!("has_tags: 0 or 1 was expected, not {tagged}")));
        }
        if pairs.insert((user, url), tagged == 1).is_some() {
            return Err(row.complain(format!("user {user} and URL {url} are there twice")));
        }
        users.insert(user);
        urls.insert(url);
        if tagged == 1 {
            set.event(user, url, 0);
        }
    }
    let path = folder.need("user_taggedbookmarks_reduced.tsv")?;
    let mut rows = Records::open_with(&path, Dialect::Tabs, &["userID", "bookmarkID", "tagID"])?;
    let mut assignments = 0;
    while let Some(row) = rows.next()? {
        let (user, url, tag) = assignment(&row, &set, "tags.dat")?;
        if pairs.get(&(user, url)) != Some(&true) {
            let problem = format!("user {user} and URL {url} are not in user_bookmarks_pairs.tsv with tags");
            return Err(row.complain(problem));
        }
        assignments += 1;
        set.assign(url, tag);
    }
    let mut counts = vec![
        ("users", users.len() as u64),
        ("tag assignments", assignments),
        ("tags", set.count_tags()),
        ("URLs", urls.len() as u64),
        ("tagged URLs", set.count_items()),
        ("pairs", pairs.len() as u64),
        ("events", set.count_events()),
    ];
    counts.extend(contacts(folder)?);
    set.finish(Kind::DeliciousReduced, false, counts)
}

/// MovieLens with tags and genres of its own. An event is a rating above 0.
pub(super) fn movielens(folder: &Folder<'_>) -> Result<Dataset, DataError> {
    let mut set = Gathering::default();
    tags(folder, &mut set, ["id", "value"])?;
    let tags = set.count_tags();
    let path = folder.need("movies.dat")?;
    let mut rows = Records::open(&path, Dialect::Tabs)?;
    begins(&rows, &["id", "title"], 2)?;
    while let Some(row) = rows.next()? {
        set.item(row.id(0)?);
    }
    let mut rows = dated(folder, "user_ratedmovies", ["userID", "movieID", "rating"])?;
    while let Some((row, time)) = rows.next()? {
        let (user, movie) = (row.id(0)?, row.id(1)?);
        known_item(&row, &set, movie, "movies.dat")?;
        if super::movielens::rating(&row, 2)? > 0.0 {
            set.event(user, movie, time.unit);
        }
    }
    let mut assignments = 0;
    let mut rows = dated(folder, "user_taggedmovies", ["userID", "movieID", "tagID"])?;
    while let Some((row, _)) = rows.next()? {
        let (_, movie, tag) = assignment(&row, &set, "tags.dat")?;
        known_item(&row, &set, movie, "movies.dat")?;
        assignments += 1;
        set.assign(movie, tag);
    }
    let path = folder.need("movie_genres.dat")?;
    let mut rows = Records::open_with(&path, Dialect::Tabs, &["movieID", "genre"])?;
    let mut all = genres::Genres::default();
    while let Some(row) = rows.next()? {
        let movie = row.id(0)?;
        known_item(&row, &set, movie, "movies.dat")?;
        all.give(&mut set, movie, &row.text(1));
    }
    let counts = vec![
        ("users", set.count_users()),
        ("movies", set.count_items()),
        ("events", set.count_events()),
        ("tags", tags),
        ("tag assignments", assignments),
    ];
    set.finish(Kind::HetrecMovielens, true, counts)
}

fn contacts(folder: &Folder<'_>) -> Result<Option<(&'static str, u64)>, DataError> {
    let header = &["userID", "contactID", "timestamp"];
    Ok(count(folder, "user_contacts-timestamps.dat", header)?.map(|rows| ("contact pairs", rows)))
}

/// Rows of a file that may be there and is only counted.
fn count(folder: &Folder<'_>, file: &str, header: &[&str]) -> Result<Option<u64>, DataError> {
    let Some(path) = folder.find(file)? else { return Ok(None) };
    let mut rows = Records::open_with(&path, Dialect::Tabs, header)?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(Some(count))
}

fn tags(folder: &Folder<'_>, set: &mut Gathering, header: [&str; 2]) -> Result<(), DataError> {
    let mut rows = Records::open_with(&folder.need("tags.dat")?, Dialect::Tabs, &header)?;
    while let Some(row) = rows.next()? {
        let tag = row.id(0)?.into();
        if !set.tag(tag, &row.text(1)) {
            return Err(row.complain(format!("tag {tag} is there twice")));
        }
    }
    Ok(())
}

/// User, item and tag of a row.
fn assignment(row: &Row<'_>, set: &Gathering, tags: &str) -> Result<(u32, u32, u64), DataError> {
    let (user, item, tag) = (row.id(0)?, row.id(1)?, u64::from(row.id(2)?));
    if !set.has_tag(tag) {
        return Err(row.complain(format!("tag {tag} is not in {tags}")));
    }
    Ok((user, item, tag))
}

pub(super) fn known_item(row: &Row<'_>, set: &Gathering, item: u32, file: &str) -> Result<(), DataError> {
    if set.has_item(item) { Ok(()) } else { Err(row.complain(format!("movie {item} is not in {file}"))) }
}

/// A file that is there with dates in columns, or as `-timestamps` with milliseconds in one.
struct Dated {
    records: Records,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Days,
    Seconds,
    Milliseconds,
}

/// When a row was written.
struct When {
    /// In the unit of the file.
    unit: i64,
    /// Whether rows of that day are moments of their own, which its date does not show.
    apart: bool,
}

/// 5, 6 and 9 May 2011.
const APART: [i64; 3] = [15_099, 15_100, 15_103];

fn dated(folder: &Folder<'_>, stem: &str, columns: [&str; 3]) -> Result<Dated, DataError> {
    let (name, other) = (format!("{stem}.dat"), format!("{stem}-timestamps.dat"));
    let (path, timestamps) = match folder.find(&name)? {
        Some(path) => (path, false),
        None => match folder.find(&other)? {
            Some(path) => (path, true),
            None => (folder.need(&name)?, false),
        },
    };
    let records = Records::open(&path, Dialect::Tabs)?;
    let form = match (timestamps, records.header().len()) {
        (true, _) => Form::Milliseconds,
        (false, 6) => Form::Days,
        (false, _) => Form::Seconds,
    };
    begins(
        &records,
        &columns,
        if timestamps {
            4
        } else if matches!(form, Form::Days) {
            6
        } else {
            9
        },
    )?;
    Ok(Dated { records, form })
}

/// Refuses a header that begins otherwise, or is not so wide; `columns` of 2 is "at least".
fn begins(records: &Records, names: &[&str], columns: usize) -> Result<(), DataError> {
    let header = records.header();
    let wide = if columns == names.len() { header.len() >= columns } else { header.len() == columns };
    if wide && header.iter().zip(names).all(|(found, expected)| found == expected) {
        return Ok(());
    }
    let problem = format!(
        "expected a header of {columns} columns that begins with {:?}, not {:?}",
        names.join("\t"),
        header.join("\t").chars().take(80).collect::<String>()
    );
    Err(DataError::at(records.file(), 1, problem))
}

impl Dated {
    fn next(&mut self) -> Result<Option<(Row<'_>, When)>, DataError> {
        let form = self.form;
        let Some(row) = self.records.next()? else { return Ok(None) };
        let unit = match form {
            Form::Days => time::days(&row, 3)?,
            Form::Seconds => time::seconds(&row, 3)?,
            Form::Milliseconds => row.number(3, "a time in milliseconds")?,
        };
        let apart = matches!(form, Form::Days) && APART.contains(&unit);
        Ok(Some((row, When { unit, apart })))
    }
}
