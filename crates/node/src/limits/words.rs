//! What others say, before it is logged or said back.

use std::borrow::Cow;

/// Characters of a name that are repeated.
pub const NAME: usize = 100;

/// Characters of a reason that are repeated: ours are shorter.
pub const REASON: usize = 600;

/// At most `most` characters, on one line.
///
/// ```
/// use cahoots_node::limits::cut;
///
/// assert_eq!(cut("no such client", 100), "no such client");
/// assert_eq!(cut("all is well\nERROR disk\u{1b}[31m", 100), "all is well\\nERROR disk\\u{1b}[31m");
/// assert_eq!(cut(&"a".repeat(1000), 3), "aaa... (1000 bytes)");
/// ```
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    let kept = &text[..end];
    if end == text.len() && !kept.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(kept.len() + 24);
    for c in kept.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    if end < text.len() {
        shown.push_str(&format!("... ({} bytes)", text.len()));
    }
    Cow::Owned(shown)
}

/// A number as people read it: 1,204,331.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_read_them() {
        assert_eq!([0, 999, 1000, 1_204_331].map(thousands), ["0", "999", "1,000", "1,204,331"]);
    }
}
