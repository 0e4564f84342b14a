//! What the beginning of a text says about the rest.

use csv::{ByteRecord, ReaderBuilder};

use super::format::{Delimiter, Encoding};
use super::row::{decode, is_missing, number};

/// Lines that are looked at.
const LINES: usize = 20;

/// What stands between cells: the candidate that cuts the first lines into the same number of cells most often, and
/// of those the one that makes most of them.
pub(super) fn delimiter(head: &[u8], quotes: bool) -> Delimiter {
    let score = |delimiter: Delimiter| {
        let widths: Vec<usize> = records(head, delimiter, quotes)
            .iter()
            .map(|record| record.len())
            .filter(|width| *width > 1)
            .collect();
        let width = widths.iter().copied().max_by_key(|width| (count(&widths, *width), *width)).unwrap_or(0);
        (count(&widths, width), width)
    };
    let best = Delimiter::FOUND.into_iter().rev().max_by_key(|delimiter| score(*delimiter));
    best.unwrap_or(Delimiter::Comma)
}

fn count(widths: &[usize], width: usize) -> usize {
    widths.iter().filter(|other| **other == width).count()
}

/// Whether the first line names columns: no cell of it is a number, none is missing but perhaps the first (a table
/// with an unnamed index), and no two are the same.
pub(super) fn header(head: &[u8], delimiter: Delimiter, quotes: bool, encoding: Option<Encoding>) -> bool {
    let records = records(head, delimiter, quotes);
    let Some(first) = records.first() else { return false };
    let mut names = Vec::new();
    for (index, cell) in first.iter().enumerate() {
        let text = decode(cell, encoding).unwrap_or_default().trim().to_owned();
        if number(&text).is_some() || (is_missing(&text) && (index > 0 || first.len() == 1)) {
            return false;
        }
        names.push(text);
    }
    names.sort();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

/// The first records of a text that may be cut anywhere; the last of them only if nothing else is there.
fn records(head: &[u8], delimiter: Delimiter, quotes: bool) -> Vec<ByteRecord> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(quotes)
        .delimiter(delimiter.byte())
        .from_reader(head);
    let mut records: Vec<ByteRecord> = reader.byte_records().take(LINES + 1).map_while(Result::ok).collect();
    if records.len() > 1 {
        records.pop();
    }
    records
}
