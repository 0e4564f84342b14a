//! Tables that users bring.

use std::io::Write as _;

use cahoots_data::rows::{Format, Rows};
use tempfile::NamedTempFile;

/// A table of any format, read to its end, every cell in every way. Bytes that begin like Parquet are left to a test
/// of the reader: its library panics over some of them, which is caught there and would end a fuzzer.
pub fn rows(bytes: &[u8]) {
    if bytes.starts_with(b"PAR1") {
        return;
    }
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for it");
    let Ok(mut rows) = Rows::open(file.path(), &Format::default()) else { return };
    let width = rows.columns().len();
    while let Ok(Some(row)) = rows.next_row() {
        for column in 0..width {
            let number = row.number(column);
            assert!(number.is_err() || number.is_ok_and(|number| number.is_none_or(f64::is_finite)));
            let _ = (row.raw(column), row.text(column));
        }
    }
}
