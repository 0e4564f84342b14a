//! The sets that are known: what they are called, how many of everything they have, under which licence, and from where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A public dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// HetRec 2011 Last.fm: tags that users gave to artists.
    Lastfm,
    /// HetRec 2011 Delicious: bookmarks with their tags.
    Delicious,
    /// The same without rare tags and without times, as some repositories keep it.
    DeliciousReduced,
    /// HetRec 2011 MovieLens: ratings and tags of movies.
    HetrecMovielens,
    /// MovieLens ml-latest-small of September 2018.
    MlLatestSmall,
    /// MovieLens 20M.
    #[serde(rename = "ml-20m")]
    Ml20m,
    /// MovieLens 25M.
    #[serde(rename = "ml-25m")]
    Ml25m,
    /// Any other MovieLens set of the same files: ratings.csv, movies.csv, tags.csv.
    Movielens,
    /// The Open Bandit Dataset: logged decisions with propensities.
    OpenBandit,
}

impl Kind {
    /// All there are.
    pub const ALL: [Kind; 9] = [
        Kind::Lastfm,
        Kind::Delicious,
        Kind::DeliciousReduced,
        Kind::HetrecMovielens,
        Kind::MlLatestSmall,
        Kind::Ml20m,
        Kind::Ml25m,
        Kind::Movielens,
        Kind::OpenBandit,
    ];

    /// As experiment files and commands name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lastfm => "lastfm",
            Kind::Delicious => "delicious",
            Kind::DeliciousReduced => "delicious-reduced",
            Kind::HetrecMovielens => "hetrec-movielens",
            Kind::MlLatestSmall => "ml-latest-small",
            Kind::Ml20m => "ml-20m",
            Kind::Ml25m => "ml-25m",
            Kind::Movielens => "movielens",
            Kind::OpenBandit => "open-bandit",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What it is, in a few words.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Lastfm => "HetRec 2011 Last.fm (hetrec2011-lastfm-2k)",
            Kind::Delicious => "HetRec 2011 Delicious (hetrec2011-delicious-2k)",
            Kind::DeliciousReduced => "HetRec 2011 Delicious, reduced: without rare tags and without times",
            Kind::HetrecMovielens => "HetRec 2011 MovieLens (hetrec2011-movielens-2k)",
            Kind::MlLatestSmall => "MovieLens ml-latest-small (September 2018)",
            Kind::Ml20m => "MovieLens 20M",
            Kind::Ml25m => "MovieLens 25M",
            Kind::Movielens => "a MovieLens set of ratings.csv, movies.csv and tags.csv",
            Kind::OpenBandit => "Open Bandit Dataset",
        }
    }

    /// Its licence in one line.
    pub fn licence(self) -> &'static str {
        match self {
            Kind::Lastfm => "non-commercial use; cite last.fm; for anything else ask Last.fm (readme.txt)",
            Kind::Delicious | Kind::DeliciousReduced => {
                "non-commercial use; cite delicious.com; for anything else ask Delicious (readme.txt)"
            }
            Kind::HetrecMovielens => "non-commercial use; cite GroupLens and IMDb (readme.txt)",
            Kind::MlLatestSmall => {
                "research use, cite Harper and Konstan 2015; may be passed on under the same terms (README.txt)"
            }
            Kind::Ml20m | Kind::Ml25m | Kind::Movielens => {
                "research use, cite Harper and Konstan 2015; not to be passed on unless its README.txt allows it"
            }
            Kind::OpenBandit => {
                "CC BY 4.0 (the sample in the package obp: Apache 2.0); cite Saito et al. 2020"
            }
        }
    }

    /// Where to obtain it.
    pub fn source(self) -> &'static str {
        match self {
            Kind::Lastfm => "https://files.grouplens.org/datasets/hetrec2011/hetrec2011-lastfm-2k.zip",
            Kind::Delicious | Kind::DeliciousReduced => {
                "https://files.grouplens.org/datasets/hetrec2011/hetrec2011-delicious-2k.zip"
            }
            Kind::HetrecMovielens => {
                "https://files.grouplens.org/datasets/hetrec2011/hetrec2011-movielens-2k-v2.zip"
            }
            Kind::MlLatestSmall => "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip",
            Kind::Ml20m => "https://files.grouplens.org/datasets/movielens/ml-20m.zip",
            Kind::Ml25m => "https://files.grouplens.org/datasets/movielens/ml-25m.zip",
            Kind::Movielens => "https://grouplens.org/datasets/movielens/",
            Kind::OpenBandit => "https://research.zozo.com/data.html",
        }
    }

    /// How many there are of what, as its authors say; of what is computed here, as published papers say.
    pub fn known(self) -> &'static [(&'static str, u64)] {
        match self {
            Kind::Lastfm => &[
                ("users", 1892),
                ("tag assignments", 186_479),
                ("tags", 11_946),
                ("tagged artists", 12_523),
                ("events", 96_733),
                ("artists", 17_632),
                ("listens", 92_834),
                ("friend pairs", 25_434),
            ],
            Kind::Delicious => &[
                ("users", 1867),
                ("tag assignments", 437_593),
                ("tags", 53_388),
                ("URLs", 69_226),
                ("events", 104_799),
                ("contact pairs", 15_328),
            ],
            Kind::DeliciousReduced => &[
                ("users", 1843),
                ("tag assignments", 271_417),
                ("tags", 53_388),
                ("URLs", 65_877),
                ("tagged URLs", 56_431),
                ("pairs", 97_351),
                ("events", 77_881),
                ("contact pairs", 15_328),
            ],
            Kind::HetrecMovielens => &[
                ("users", 2113),
                ("movies", 10_197),
                ("events", 855_598),
                ("tags", 13_222),
                ("tag assignments", 47_957),
            ],
            Kind::MlLatestSmall => {
                &[("users", 610), ("movies", 9742), ("events", 100_836), ("tag assignments", 3683)]
            }
            Kind::Ml20m => &[
                ("users", 138_493),
                ("movies", 27_278),
                ("events", 20_000_263),
                ("tag assignments", 465_564),
            ],
            Kind::Ml25m => &[
                ("users", 162_541),
                ("movies", 62_423),
                ("events", 25_000_095),
                ("tag assignments", 1_093_360),
            ],
            Kind::Movielens | Kind::OpenBandit => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_experiment_files_say() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named("last.fm"), None);
    }
}
