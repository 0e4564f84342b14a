//! Labels that are cut short and still tell their entries apart.

/// Labels as `cut` shortens them. Where something is cut off, what all labels share is left out before; where two still
/// come out the same, what those share; and where even that does not help, they are numbered.
pub(super) fn distinct(labels: &[&str], cut: impl Fn(&str) -> Vec<String>) -> Vec<Vec<String>> {
    let plain: Vec<Vec<String>> = labels.iter().map(|label| cut(label)).collect();
    let whole =
        |cut: &[String], label: &str| cut.iter().all(|line| !line.contains('…')) || label.contains('…');
    if plain.iter().zip(labels).all(|(cut, label)| whole(cut, label)) && clashing(labels, &plain).is_empty() {
        return plain;
    }
    let mut short: Vec<String> = telling(labels);
    let mut shown: Vec<Vec<String>> = short.iter().map(|label| cut(label)).collect();
    for group in clashing(labels, &shown) {
        let own: Vec<&str> = group.iter().map(|index| labels[*index]).collect();
        for (index, label) in group.iter().zip(telling(&own)) {
            shown[*index] = cut(&label);
            short[*index] = label;
        }
    }
    for index in clashing(labels, &shown).into_iter().flatten() {
        shown[index] = cut(&format!("({}) {}", index + 1, short[index]));
    }
    shown
}

/// Groups of different labels that look the same.
fn clashing(labels: &[&str], shown: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..shown.len() {
        match groups.iter_mut().find(|group| shown[group[0]] == shown[index]) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups.retain(|group| group.iter().any(|index| labels[*index] != labels[group[0]]));
    groups
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
    fn labels_that_clash_lose_what_they_share_and_no_others() {
        let labels = ["first of all ratio=1 (x)", "first of all ratio=2 (x)", "alone"];
        let ends = |label: &str| match label.chars().count() > 12 {
            true => {
                vec![format!("{}…{}", label.chars().take(5).collect::<String>(), &label[label.len() - 3..])]
            }
            false => vec![label.to_string()],
        };
        let short = distinct(&labels, ends);
        assert_eq!(short[2], ["alone"]);
        assert_eq!((short[0][0].as_str(), short[1][0].as_str()), ("… ratio=1 …", "… ratio=2 …"));
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
