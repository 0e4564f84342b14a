//! Dates of the sets' files as one number.

use super::error::DataError;
use super::records::Row;

/// Days since 1 January 1970 of a date in three columns, the first of which is the day.
pub(super) fn days(row: &Row<'_>, first: usize) -> Result<i64, DataError> {
    let day = within(row, first, 1, 31)?;
    let month = within(row, first + 1, 1, 12)?;
    let year = within(row, first + 2, 1900, 2100)?;
    Ok(days_from_civil(year, month, day))
}

/// Seconds since then, with hour, minute and second in the columns behind.
pub(super) fn seconds(row: &Row<'_>, first: usize) -> Result<i64, DataError> {
    let (hour, minute, second) =
        (within(row, first + 3, 0, 23)?, within(row, first + 4, 0, 59)?, within(row, first + 5, 0, 60)?);
    Ok(((days(row, first)? * 24 + hour) * 60 + minute) * 60 + second)
}

fn within(row: &Row<'_>, column: usize, least: i64, most: i64) -> Result<i64, DataError> {
    let expected = format!("a whole number from {least} to {most}");
    let value: i64 = row.number(column, &expected)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(row.complain(format!("column {}: {expected} was expected, not {value}", column + 1)))
}

/// Howard Hinnant's days_from_civil: years that begin in March have their leap day last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::days_from_civil;

    #[test]
    fn days_are_counted_as_calendars_do() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2011, 5, 9), 15_103),
        ] {
            assert_eq!(days_from_civil(date.0, date.1, date.2), days, "{date:?}");
        }
    }
}
