//! The text of an experiment file, and complaints that point into it.

use std::fmt::{self, Write as _};
use std::ops::Range;

/// A stretch of the text, in bytes.
pub(super) type Span = Range<usize>;

/// Columns of a source line that a complaint shows at most.
const WIDEST: usize = 100;

/// The text of an experiment file and what to call it.
#[derive(Clone, Debug)]
pub struct Source {
    /// How messages call the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Something wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub problem: String,
    /// What would be right; may be empty.
    pub help: String,
}

impl Complaint {
    /// A complaint with its remedy.
    pub fn new(span: &Span, problem: impl Into<String>, help: impl Into<String>) -> Self {
        Complaint { span: span.clone(), problem: problem.into(), help: help.into() }
    }
}

/// All complaints about one file, rendered with the lines they are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaints(String);

impl fmt::Display for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Complaints {}

impl Source {
    /// Renders complaints in the order of the file, each once.
    pub fn render(&self, mut complaints: Vec<Complaint>) -> Complaints {
        complaints.sort_by_key(|complaint| (complaint.span.start, complaint.span.end));
        complaints.dedup();
        let rendered: Vec<String> = complaints.iter().map(|complaint| self.render_one(complaint)).collect();
        Complaints(rendered.join("\n\n"))
    }

    fn render_one(&self, complaint: &Complaint) -> String {
        let start = self.floor(complaint.span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let number = self.text[..line_start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count();
        let end =
            self.floor(complaint.span.end.clamp(start, line_start + line.len().max(start - line_start)));
        let marked = self.text[start..end].chars().count().max(1);

        let mut out = format!("{}:{number}:{}: {}", self.name, column + 1, complaint.problem);
        let gutter = " ".repeat(number.to_string().len());
        let (shown, offset) = clip(line, column);
        let marked = marked.min(shown.chars().count().saturating_sub(offset).max(1));
        let _ = write!(
            out,
            "\n{gutter} |\n{number} | {shown}\n{gutter} | {}{}",
            " ".repeat(offset),
            "^".repeat(marked)
        );
        if !complaint.help.is_empty() {
            let _ = write!(out, " {}", complaint.help);
        }
        out
    }

    /// The nearest character boundary at or before `index`.
    fn floor(&self, index: usize) -> usize {
        let index = index.min(self.text.len());
        (0..=index).rev().find(|&i| self.text.is_char_boundary(i)).unwrap_or(0)
    }
}

/// The part of a long line around a column, and the column's place in it. Tabs become spaces.
fn clip(line: &str, column: usize) -> (String, usize) {
    let characters: Vec<char> = line.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    if characters.len() <= WIDEST {
        return (characters.into_iter().collect::<String>().trim_end().to_string(), column);
    }
    let first = column.saturating_sub(WIDEST / 2).min(characters.len() - WIDEST);
    let shown = characters[first..first + WIDEST].iter().collect();
    (shown, column - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source { name: "x.toml".into(), text: text.into() }
    }

    #[test]
    fn points_at_the_offending_characters() {
        let source = source("name = \"é\"\nhorizont = 5\n");
        let complaint = Complaint::new(&(12..20), "unknown key `horizont`", "did you mean `horizon`?");
        assert_eq!(
            source.render(vec![complaint]).to_string(),
            "x.toml:2:1: unknown key `horizont`\n  |\n2 | horizont = 5\n  | ^^^^^^^^ did you mean `horizon`?"
        );
    }

    #[test]
    fn survives_spans_beyond_the_text_and_inside_a_character() {
        for (span, text) in [(0..0, ""), (5..9, ""), (1..2, "é"), (2..40, "a\n\nb"), (0..4, "a\nb\n")] {
            let rendered = source(text).render(vec![Complaint::new(&span, "p", "")]).to_string();
            assert!(rendered.starts_with("x.toml:"), "{rendered}");
        }
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let text = format!("list = [{}oops]", "1, ".repeat(100));
        let at = text.find("oops").unwrap();
        let rendered = source(&text).render(vec![Complaint::new(&(at..at + 4), "p", "h")]).to_string();
        let lines: Vec<&str> = rendered.lines().collect();
        let mark = lines[3].find('^').unwrap();
        assert_eq!(&lines[2][mark..mark + 4], "oops");
        assert!(lines[2].len() < 120);
    }
}
