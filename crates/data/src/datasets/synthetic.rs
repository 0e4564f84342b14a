//! Small made-up sets in the format of each known one, for tests and for a first try: nothing in them is anyone's.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use cahoots_sim::draw::{Draw, Purpose};

use super::kind::Kind;

const USERS: u32 = 12;
const ITEMS: u32 = 90;
/// Items, tags and users belong to one taste each, by their number.
const TASTES: u32 = 3;
const TAGS: [&str; 12] = [
    "rock",
    "jazz",
    "folk",
    "hard rock",
    "free_jazz",
    "neo-folk",
    "80's",
    "café",
    "banjo",
    "loud",
    "smoky",
    "campfire",
];

/// What a user took: (user, item, number of the moment), user by user.
fn taken() -> Vec<(u32, u32, u32)> {
    let mut draw = Draw::keyed(1, Purpose::World, 0, 0);
    let mut all = Vec::new();
    for user in 1..=USERS {
        for moment in 0..8 + 2 * user {
            // Nine of ten times what is to the user's taste.
            let any = draw.below(u64::from(ITEMS / TASTES)) as u32 * TASTES;
            let taste = if draw.uniform() < 0.9 { user % TASTES } else { draw.below(3) as u32 };
            all.push((user * 7, 1 + any + taste, moment));
        }
    }
    all
}

/// The tags of an item: two of its taste.
fn tags_of(item: u32) -> [usize; 2] {
    let taste = ((item - 1) % TASTES) as usize;
    [taste + 3 * (item as usize % 4), taste + 3 * ((item as usize / 4) % 4)]
}

/// Writes a set into a folder.
pub fn write(kind: Kind, folder: &Path) -> io::Result<()> {
    let mut files: Vec<(&str, String)> = Vec::new();
    let tags = |header: &str| {
        TAGS.iter().zip(1..).fold(header.to_string(), |text, (tag, id)| format!("{text}{id}\t{tag}\n"))
    };
    let assignments = |header: &str, when: &dyn Fn(u32) -> String| {
        let mut text = header.to_string();
        for (user, item, moment) in taken() {
            for tag in tags_of(item) {
                let _ = writeln!(text, "{user}\t{item}\t{}{}", tag + 1, when(moment));
            }
        }
        text
    };
    match kind {
        Kind::Lastfm => {
            let when = |moment: u32| format!("\t1\t{}\t{}", 1 + moment % 12, 2005 + moment / 12);
            let header = "userID\tartistID\ttagID\tday\tmonth\tyear\n";
            files.push(("user_taggedartists.dat", assignments(header, &when)));
            files.push(("tags.dat", tags("tagID\ttagValue\n")));
        }
        Kind::Delicious => {
            let when = |moment: u32| format!("\t1\t{}\t{}\t23\t59\t{}", 1 + moment % 12, 2005, moment % 60);
            let header = "userID\tbookmarkID\ttagID\tday\tmonth\tyear\thour\tminute\tsecond\n";
            files.push(("user_taggedbookmarks.dat", assignments(header, &when)));
            files.push(("tags.dat", tags("id\tvalue\n")));
        }
        Kind::DeliciousReduced => {
            let mut pairs = taken().into_iter().map(|(user, item, _)| (user, item)).collect::<Vec<_>>();
            pairs.sort_unstable();
            pairs.dedup();
            let mut text = "userID\tbookmarkID\thas_tags\n".to_string();
            let mut tagged = "userID\tbookmarkID\ttagID\n".to_string();
            for (number, (user, item)) in pairs.into_iter().enumerate() {
                let known = number % 5 != 4;
                let _ = writeln!(text, "{user}\t{item}\t{}", u8::from(known));
                for tag in tags_of(item).into_iter().filter(|_| known) {
                    let _ = writeln!(tagged, "{user}\t{item}\t{}", tag + 1);
                }
            }
            files.push(("user_bookmarks_pairs.tsv", text));
            files.push(("user_taggedbookmarks_reduced.tsv", tagged));
            files.push(("tags.dat", tags("id\tvalue\n")));
        }
        Kind::HetrecMovielens => {
            let mut ratings =
                "userID\tmovieID\trating\tdate_day\tdate_month\tdate_year\tdate_hour\tdate_minute\tdate_second\n"
                    .to_string();
            for (user, item, moment) in taken() {
                let _ = writeln!(ratings, "{user}\t{item}\t3.5\t1\t{}\t2006\t23\t17\t16", 1 + moment % 12);
            }
            let (mut movies, mut genres) =
                ("id\ttitle\timdbID\n".to_string(), "movieID\tgenre\n".to_string());
            for movie in 1..=ITEMS {
                let _ = writeln!(movies, "{movie}\tMovie {movie}\t{}", 100 + movie);
                let _ = writeln!(genres, "{movie}\t{}", TAGS[tags_of(movie)[0]]);
            }
            let header = "userID\tmovieID\ttagID\ttimestamp\n";
            let when = |moment: u32| format!("\t{}", 1_000_000 * moment);
            files.push(("user_ratedmovies.dat", ratings));
            files.push(("user_taggedmovies-timestamps.dat", assignments(header, &when)));
            files.push(("movies.dat", movies));
            files.push(("movie_genres.dat", genres));
            files.push(("tags.dat", tags("id\tvalue\n")));
        }
        Kind::MlLatestSmall | Kind::Ml20m | Kind::Ml25m | Kind::Movielens => {
            let mut ratings = "userId,movieId,rating,timestamp\n".to_string();
            let mut tags = "userId,movieId,tag,timestamp\n".to_string();
            let mut movies = "movieId,title,genres\n".to_string();
            for (user, item, moment) in taken() {
                let _ = writeln!(ratings, "{user},{item},4.0,{}", 964_982_703 + 3600 * moment);
                let _ = writeln!(tags, "{user},{item},\"{}\",964982703", TAGS[tags_of(item)[0]]);
            }
            for movie in 1..=ITEMS {
                let genres = if movie % 9 == 0 { "(no genres listed)" } else { "Comedy|Film-Noir" };
                let _ = writeln!(movies, "{movie},\"Movie, \"\"The\"\" {movie} (1995)\",{genres}");
            }
            files.extend([("ratings.csv", ratings), ("tags.csv", tags), ("movies.csv", movies)]);
        }
        Kind::OpenBandit => {
            let mut items = ",item_id,item_feature_0\n".to_string();
            for item in 0..5 {
                let _ = writeln!(items, "{item},{item},0.{item}");
            }
            let mut log =
                ",timestamp,item_id,position,click,propensity_score,user_feature_0,user-item_affinity_0\n"
                    .to_string();
            for row in 0..40 {
                let (item, click) = (row % 5, u8::from(row % 13 == 0));
                let _ = writeln!(
                    log,
                    "{row},2019-11-24 00:00:{row:02},{item},{},{click},0.2,ab{item},0.0",
                    1 + row % 3
                );
            }
            files.extend([("random/all/item_context.csv", items), ("random/all/all.csv", log)]);
        }
    }
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}
