//! Fitting a text into a width: breaking it into lines, or leaving out its middle.

use super::width;

/// Breaks `text` into at most `lines` lines of at most `room`; what does not fit is elided.
pub(crate) fn wrap(text: &str, size: f64, room: f64, lines: usize) -> Vec<String> {
    let mut words = text.split_whitespace();
    let mut done: Vec<String> = Vec::new();
    let mut line = String::new();
    while let Some(word) = words.next() {
        let longer = match line.is_empty() {
            true => word.to_owned(),
            false => format!("{line} {word}"),
        };
        if width(&longer, size) <= room {
            line = longer;
        } else if done.len() + 1 >= lines {
            let rest = words.fold(longer, |rest, word| format!("{rest} {word}"));
            line = elide(&rest, size, room);
            break;
        } else {
            if !line.is_empty() {
                done.push(std::mem::take(&mut line));
            }
            line = word.to_owned();
            while width(&line, size) > room && done.len() + 1 < lines {
                let rest = line.split_off(fitting(&line, size, room));
                done.push(std::mem::replace(&mut line, rest));
            }
            if width(&line, size) > room {
                let rest = words.fold(line, |rest, word| format!("{rest} {word}"));
                line = elide(&rest, size, room);
                break;
            }
        }
    }
    if !line.is_empty() {
        done.push(line);
    }
    done
}

/// Leaves out the middle of a text that is too wide: labels often differ only at their ends.
pub(crate) fn elide(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let shortened = |kept: usize| {
        let tail = kept * 2 / 5;
        let head: String = characters[..kept - tail].iter().collect();
        let tail: String = characters[characters.len() - tail..].iter().collect();
        format!("{}…{}", whole_words_before(&head), whole_words_after(&tail))
    };
    let (mut low, mut high) = (0, characters.len() - 1);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if width(&shortened(middle), size) <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    shortened(low)
}

/// Without a cut-off last word, unless that would lose much.
fn whole_words_before(head: &str) -> &str {
    match head.trim_end().rfind(' ') {
        Some(end) if end >= head.len() / 2 => &head[..=end],
        _ => head.trim_end(),
    }
}

/// Without a cut-off first word, unless that would lose much.
fn whole_words_after(tail: &str) -> &str {
    match tail.find(' ') {
        Some(start) if start <= tail.len() / 2 => &tail[start..],
        _ => tail,
    }
}

/// How many bytes of `word` fit into `room`, at least one character; preferably up to a hyphen
/// or the like.
fn fitting(word: &str, size: f64, room: f64) -> usize {
    let mut most = word.chars().next().map_or(0, char::len_utf8);
    let mut natural = 0;
    for (start, character) in word.char_indices() {
        let end = start + character.len_utf8();
        if width(&word[..end], size) > room {
            break;
        }
        most = most.max(end);
        if "-_/,;:=|".contains(character) {
            natural = end;
        }
    }
    match natural >= most / 2 && natural > 0 {
        true => natural,
        false => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_left_alone() {
        assert_eq!(wrap("mean  over 10\nseeds", 12.0, 300.0, 2), ["mean over 10 seeds"]);
        assert!(wrap("  ", 12.0, 300.0, 2).is_empty());
        assert_eq!(elide("short", 12.0, 300.0), "short");
    }

    #[test]
    fn long_text_breaks_at_spaces() {
        let lines = wrap("asynchronous federated linear bandit", 12.0, 120.0, 5);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), "asynchronous federated linear bandit");
        assert!(lines.iter().all(|line| width(line, 12.0) <= 120.0));
    }

    #[test]
    fn too_long_text_keeps_both_ends() {
        let text = "asynchronous federated linear bandit with threshold C = 0.01";
        let lines = wrap(text, 12.0, 130.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("asynchronous"));
        assert!(lines[1].contains('…') && lines[1].ends_with("0.01"), "{lines:?}");
        assert!(lines.iter().all(|line| width(line, 12.0) <= 130.0));
    }

    #[test]
    fn a_single_huge_word_is_cut() {
        for lines in 1..5 {
            let cut = wrap(&"ab".repeat(500), 12.0, 100.0, lines);
            assert_eq!(cut.len(), lines);
            assert!(cut.iter().all(|line| width(line, 12.0) <= 100.0));
        }
    }

    #[test]
    fn no_room_at_all_still_ends() {
        assert_eq!(elide("abc", 12.0, 0.0), "…");
        assert!(!wrap("abc def", 12.0, 0.0, 3).is_empty());
    }
}
