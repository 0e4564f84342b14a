//! "Did you mean ...?"

/// The remedy for an unknown name: the nearest known one, or all of them.
pub fn remedy<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(name, &known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("there are: {}", known.join(", ")),
    }
}

/// The known name that a wrong one most likely stands for: the shortest that begins with it, and otherwise the most
/// similar.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let name = plain(name);
    let begun = known.iter().filter(|candidate| name.len() >= 2 && plain(candidate).starts_with(&name));
    if let Some(longer) = begun.min_by_key(|candidate| candidate.len()) {
        return Some(longer);
    }
    known
        .iter()
        .map(|candidate| (score(&name, &plain(candidate)), *candidate))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// From 0 to 1: the better of two measures. Edit distance catches slips of the
/// keyboard, a common beginning catches names that were cut short.
fn score(a: &str, b: &str) -> f64 {
    let shorter = a.len().min(b.len());
    let cut_short = shorter >= 3 && (a.starts_with(b) || b.starts_with(a));
    let edits =
        1.0 - strsim::osa_distance(a, b) as f64 / a.chars().count().max(b.chars().count()).max(1) as f64;
    if cut_short {
        edits.max(0.8)
    } else if edits >= 0.5 {
        strsim::jaro_winkler(a, b).max(edits)
    } else {
        edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["upload_ratio", "download_ratio", "ratio", "ridge", "failure_prob", "radius"];
        assert_eq!(nearest("upload_ration", &known), Some("upload_ratio"));
        assert_eq!(nearest("uplaod_ratio", &known), Some("upload_ratio"));
        assert_eq!(nearest("failure-prob", &known), Some("failure_prob"));
        assert_eq!(nearest("failure", &known), Some("failure_prob"));
        assert_eq!(nearest("Ridge", &known), Some("ridge"));
        // What was cut short comes first, however similar another is.
        assert_eq!(nearest("ra", &known), Some("ratio"));
        assert_eq!(nearest("fail", &known), Some("failure_prob"));
        let algorithms =
            ["hetofed", "hetofed-pq", "linucb-alone", "lints-alone", "sclub", "club", "fclub", "fclub-dc"];
        assert_eq!(nearest("linucb", &algorithms), Some("linucb-alone"));
        assert_eq!(nearest("fclub-", &algorithms), Some("fclub-dc"));
        assert_eq!(nearest("hetofed-pg", &algorithms), Some("hetofed-pq"));
        assert_eq!(nearest("temperature", &known), None);
        assert_eq!(nearest("x", &known), None);
        assert_eq!(remedy("zzz", ["a", "b"]), "there are: a, b");
    }
}
