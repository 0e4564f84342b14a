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
/// with an unnamed index), and no two are the same. Where names are missing or the same, but stand above numbers, they
/// are names all the same, for whoever reads them to complain of.
pub(super) fn header(head: &[u8], delimiter: Delimiter, quotes: bool, encoding: Option<Encoding>) -> bool {
    let records = records(head, delimiter, quotes);
    let Some(first) = records.first() else { return false };
    let text = |cell: &[u8]| decode(cell, encoding).unwrap_or_default().trim().to_owned();
    let mut names: Vec<String> = first.iter().map(text).collect();
    if names.iter().any(|name| number(name).is_some()) {
        return false;
    }
    let above_numbers = |index: usize| {
        let below = records[1..].iter().filter_map(|record| record.get(index)).map(text);
        let mut below = below.filter(|cell| !is_missing(cell)).peekable();
        below.peek().is_some() && below.all(|cell| number(&cell).is_some())
    };
    if (0..names.len()).any(|index| !is_missing(&names[index]) && above_numbers(index)) {
        return true;
    }
    if names.iter().enumerate().any(|(index, name)| is_missing(name) && (index > 0 || names.len() == 1)) {
        return false;
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
