//! Papers, their tables and figures, and the names by which they are asked for.

use cahoots_lab::LabError;
use cahoots_lab::experiment::nearest;

use super::Item;
use crate::PAPERS;

/// A paper and what of it can be reproduced.
#[derive(Debug)]
pub struct Paper {
    /// What it is called here.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// When it appeared.
    pub year: u16,
    /// Its tables and figures.
    pub items: &'static [Item],
}

/// The numbers that papers once went by here.
const FORMER: [(&str, &str); 5] =
    [("000", "hetofed"), ("001", "fclub"), ("002", "dp-mab"), ("003", "pf-ucb"), ("004", "async-linucb")];

/// Every table and figure there is.
pub fn items() -> impl Iterator<Item = &'static Item> {
    PAPERS.iter().flat_map(|paper| paper.items)
}

/// The items that names stand for: `async-linucb/figure-2a`, `async-linucb/figure-2` for all its panels,
/// `async-linucb` for all of a paper. None for all there are.
pub fn select(names: &[String]) -> Result<Vec<&'static Item>, LabError> {
    if names.is_empty() {
        return Ok(items().collect());
    }
    let mut selected: Vec<&'static Item> = Vec::new();
    for name in names {
        let found: Vec<&'static Item> = items().filter(|item| stands_for(name, item.name)).collect();
        if found.is_empty() {
            return Err(unknown(name));
        }
        for item in found {
            if !selected.iter().any(|there| there.name == item.name) {
                selected.push(item);
            }
        }
    }
    Ok(selected)
}

/// Whether a name stands for an item: its own, its paper's, or its figure's without the panel's letter.
fn stands_for(name: &str, item: &str) -> bool {
    match item.strip_prefix(name) {
        Some(rest) => {
            rest.is_empty()
                || rest.starts_with('/')
                || (rest.len() == 1 && rest.chars().all(char::is_alphabetic))
        }
        None => false,
    }
}

fn unknown(name: &str) -> LabError {
    let (paper, item) = name.split_once('/').map_or((name, None), |(paper, item)| (paper, Some(item)));
    let problem = match FORMER.iter().find(|(number, _)| *number == paper) {
        Some((_, now)) => {
            let now = item.map_or((*now).to_string(), |item| format!("{now}/{item}"));
            format!("papers go by name: {name} is now {now}")
        }
        None => {
            let known: Vec<&str> =
                items().map(|item| item.name).chain(PAPERS.iter().map(|paper| paper.name)).collect();
            let remedy =
                nearest(name, &known).map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no table or figure {name}{remedy}")
        }
    };
    LabError::Input(format!("{problem}\n`cahoots reproduce --list` shows them all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &str) -> Vec<&'static str> {
        select(&[of.into()]).unwrap().iter().map(|item| item.name).collect()
    }

    fn refused(name: &str) -> String {
        select(&[name.into()]).unwrap_err().to_string()
    }

    #[test]
    fn items_are_named_after_their_paper_and_once() {
        let mut seen = std::collections::BTreeSet::new();
        for paper in PAPERS {
            assert!(!paper.items.is_empty());
            for item in paper.items {
                let (folder, name) = item.name.split_once('/').unwrap();
                assert_eq!(folder, paper.name);
                assert!(!name.contains('/'));
                assert!(seen.insert(item.name), "{} twice", item.name);
            }
        }
    }

    #[test]
    fn names_select_items_panels_or_whole_papers() {
        let all = names("async-linucb");
        assert!(
            all.contains(&"async-linucb/figure-2a")
                && all.iter().all(|name| name.starts_with("async-linucb/"))
        );
        let twice = select(&["async-linucb".into(), "async-linucb/figure-2a".into()]).unwrap();
        assert_eq!(twice.len(), all.len());
        assert_eq!(names("async-linucb/figure-2"), ["async-linucb/figure-2a", "async-linucb/figure-2b"]);
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_one() {
        assert!(refused("async-linucb/figur-3").contains("did you mean async-linucb/figure-3?"));
        assert!(refused("hetofd").contains("did you mean hetofed?"));
        assert!(refused("004/figure-3").contains("004/figure-3 is now async-linucb/figure-3"));
        assert!(refused("002").contains("002 is now dp-mab\n"));
        for (_, paper) in FORMER {
            assert!(PAPERS.iter().any(|known| known.name == paper));
        }
    }
}
