//! Labels that are cut short and still tell their entries apart.

/// Labels as `cut` shortens them. Where two come out the same, what all labels share is left out first.
pub(super) fn distinct(labels: &[&str], cut: impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
    let plain: Vec<Vec<String>> = labels.iter().map(|label| cut(label)).collect();
    let clashes = |cut: &[Vec<String>]| {
        (0..cut.len()).any(|one| (0..one).any(|other| cut[one] == cut[other] && labels[one] != labels[other]))
    };
    if !clashes(&plain) {
        return plain;
    }
    let shared: Vec<String> = telling(labels);
    let without: Vec<Vec<String>> = shared.iter().map(|label| cut(label)).collect();
    if !clashes(&without) {
        return without;
    }
    // Only a number still fits.
    let numbered = shared.iter().enumerate();
    numbered.map(|(number, label)| cut(&format!("({}) {label}", number + 1))).collect()
}

/// Each label without the words that all of them have; three dots stand for what is left out.
fn telling(labels: &[&str]) -> Vec<String> {
    let words = |label: &str| label.split_whitespace().map(String::from).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = labels.iter().map(|label| words(label)).collect();
    let shared = |word: &String| all.iter().all(|words| words.contains(word));
    let short = |words: &Vec<String>| {
        let mut kept: Vec<&str> = Vec::new();
        for word in words {
            match shared(word) {
                false => kept.push(word),
                true if kept.last() != Some(&"…") => kept.push("…"),
                true => {}
            }
        }
        if kept.iter().all(|word| *word == "…") { words.join(" ") } else { kept.join(" ") }
    };
    all.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the two ends of what is longer than twelve characters.
    fn cut(label: &str) -> Vec<String> {
        let letters: Vec<char> = label.chars().collect();
        if letters.len() <= 12 {
            return vec![label.into()];
        }
        let part = |letters: &[char]| letters.iter().collect::<String>();
        vec![format!("{}…{}", part(&letters[..6]), part(&letters[letters.len() - 5..]))]
    }

    #[test]
    fn what_differs_in_the_middle_survives() {
        let labels: Vec<String> = (1..=4).map(|n| format!("private-linucb epsilon={n} ridge=0.1")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let plain: Vec<Vec<String>> = labels.iter().map(|label| cut(label)).collect();
        assert_eq!(plain[0], plain[1], "otherwise this shows nothing");
        let short = distinct(&labels, |label| vec![label.chars().take(14).collect()]);
        assert_eq!(short[2], ["… epsilon=3 …"]);
    }

    #[test]
    fn hopeless_labels_are_numbered_and_short_ones_left_alone() {
        let long = ["x".repeat(30) + "1" + &"x".repeat(30), "x".repeat(30) + "2" + &"x".repeat(30)];
        let short = distinct(&[&long[0], &long[1]], cut);
        assert_ne!(short[0], short[1]);
        assert_eq!(distinct(&["a", "b"], cut), [["a"], ["b"]]);
        assert_eq!(distinct(&["a", "a"], cut), [["a"], ["a"]]);
    }
}
