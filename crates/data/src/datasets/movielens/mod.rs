//! MovieLens as files of commas: ml-latest-small, 20M, 25M and others of the same form.

pub(super) mod genres;

use std::collections::BTreeMap;

use super::dataset::{Dataset, Gathering};
use super::error::DataError;
use super::folder::Folder;
use super::hetrec::known_item;
use super::kind::Kind;
use super::records::{Dialect, Records, Row};

/// An event is a rating above 0, in the order of ratings.csv. The words of a movie are those of its tags and genres.
pub(super) fn load(folder: &Folder<'_>) -> Result<Dataset, DataError> {
    let mut set = Gathering::default();
    let path = folder.need("movies.csv")?;
    let mut rows = Records::open_with(&path, Dialect::Commas, &["movieId", "title", "genres"])?;
    let mut all = genres::Genres::default();
    let mut movies = 0;
    while let Some(row) = rows.next()? {
        let movie = row.id(0)?;
        if set.has_item(movie) {
            return Err(row.complain(format!("movie {movie} is there twice")));
        }
        set.item(movie);
        movies += 1;
        for genre in row.text(2).split('|').filter(|genre| *genre != "(no genres listed)") {
            all.give(&mut set, movie, genre);
        }
    }
    let header = &["userId", "movieId", "rating", "timestamp"];
    let mut rows = Records::open_with(&folder.need("ratings.csv")?, Dialect::Commas, header)?;
    while let Some(row) = rows.next()? {
        let (user, movie) = (row.id(0)?, row.id(1)?);
        known_item(&row, &set, movie, "movies.csv")?;
        let time = row.number(3, "a time in seconds")?;
        if rating(&row, 2)? > 0.0 {
            set.event(user, movie, time);
        }
    }
    let header = &["userId", "movieId", "tag", "timestamp"];
    let mut rows = Records::open_with(&folder.need("tags.csv")?, Dialect::Commas, header)?;
    let (mut tags, mut assignments) = (BTreeMap::new(), 0);
    while let Some(row) = rows.next()? {
        let movie = row.id(1)?;
        known_item(&row, &set, movie, "movies.csv")?;
        let next = tags.len() as u64;
        let tag = *tags.entry(row.text(2).into_owned()).or_insert(next);
        if tag == next {
            set.tag(tag, &row.text(2));
        }
        set.assign(movie, tag);
        assignments += 1;
    }
    let counts = vec![
        ("users", set.count_users()),
        ("movies", movies),
        ("events", set.count_events()),
        ("tag assignments", assignments),
    ];
    let known = [Kind::MlLatestSmall, Kind::Ml20m, Kind::Ml25m];
    let kind = known.into_iter().find(|kind| kind.known() == counts.as_slice()).unwrap_or(Kind::Movielens);
    set.finish(kind, true, counts)
}

/// A rating, in stars.
pub(super) fn rating(row: &Row<'_>, column: usize) -> Result<f64, DataError> {
    let stars: f64 = row.number(column, "a number of stars")?;
    if (0.0..=5.0).contains(&stars) {
        return Ok(stars);
    }
    Err(row.complain(format!("rating: a number of stars from 0 to 5 was expected, not {stars}")))
}
