//! How pages look: one file, its styles and its script inside.

use std::fmt::Write as _;

use super::html::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A page that needs nothing beside it.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    subtitle: String,
    sections: Vec<(String, String, String)>,
}

impl Page {
    /// A page with a title, and a line below it.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Page {
        Page { title: title.into(), subtitle: subtitle.into(), sections: Vec::new() }
    }

    /// Adds a section: its anchor, its heading, its contents as HTML.
    pub fn section(&mut self, id: &str, heading: impl Into<String>, html: impl Into<String>) {
        self.sections.push((id.into(), heading.into(), html.into()));
    }

    /// The whole file.
    pub fn html(&self) -> String {
        let (title, subtitle) = (escape(&self.title), escape(&self.subtitle));
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n<p class=\"subtitle\">{subtitle}</p>\n\
             <button type=\"button\" id=\"theme\" hidden>dark</button>\n<nav aria-label=\"sections\">"
        );
        for (id, heading, _) in &self.sections {
            let _ = write!(out, "<a href=\"#{}\">{}</a> ", escape(id), escape(heading));
        }
        out += "</nav>\n</header>\n<main>\n";
        for (id, heading, html) in &self.sections {
            let _ = write!(
                out,
                "<section id=\"{}\">\n<h2>{}</h2>\n{html}</section>\n",
                escape(id),
                escape(heading)
            );
        }
        let _ = write!(
            out,
            "</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        );
        out
    }
}
