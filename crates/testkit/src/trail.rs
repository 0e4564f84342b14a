//! A long sequence of records in a few lines of text that tell where two
//! sequences part.

/// Records per line.
const LINE: usize = 50;

/// A running checksum over records, and two digits of each one.
#[derive(Default)]
pub struct Trail {
    running: crc32fast::Hasher,
    marks: Vec<u8>,
    checksums: Vec<u32>,
}

impl Trail {
    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) {
        self.running.update(&(record.len() as u64).to_le_bytes());
        self.running.update(record);
        self.marks.push(crc32fast::hash(record) as u8);
        self.checksums.push(self.running.clone().finalize());
    }

    /// Records so far.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// No records?
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// For every fifty records: the checksum of all up to there, then two digits of each.
    pub fn lines(&self) -> Vec<String> {
        let line = |(marks, checksums): (&[u8], &[u32])| {
            let digits: String = marks.iter().map(|mark| format!("{mark:02x}")).collect();
            format!("{:08x} {digits}", checksums.last().copied().unwrap_or_default())
        };
        self.marks.chunks(LINE).zip(self.checksums.chunks(LINE)).map(line).collect()
    }
}

/// The first record (from 0) in which two trails differ, as far as their lines tell; exact, unless two
/// different records share their two digits.
pub fn parting(one: &[String], other: &[String]) -> Option<usize> {
    for (number, (a, b)) in one.iter().zip(other).enumerate() {
        if a != b {
            let digits = |line: &str| line.split(' ').nth(1).unwrap_or_default().as_bytes().to_vec();
            let (a, b) = (digits(a), digits(b));
            let equal = a.chunks(2).zip(b.chunks(2)).take_while(|(a, b)| a == b).count();
            return Some(number * LINE + equal.min(LINE - 1));
        }
    }
    (one.len() != other.len()).then(|| one.len().min(other.len()) * LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(records: impl IntoIterator<Item = u64>) -> Vec<String> {
        let mut trail = Trail::default();
        records.into_iter().for_each(|record| trail.push(&record.to_le_bytes()));
        trail.lines()
    }

    #[test]
    fn a_changed_swapped_or_missing_record_is_found() {
        let whole = trail(0..120);
        assert_eq!((whole.len(), parting(&whole, &whole)), (3, None));
        assert_eq!(parting(&whole, &trail((0..120).map(|i| if i == 73 { 500 } else { i }))), Some(73));
        let swapped = (0..120).map(|i| [i, 12, 11][usize::from(i == 11) + 2 * usize::from(i == 12)]);
        assert_eq!(parting(&whole, &trail(swapped)), Some(11));
        assert_eq!(parting(&whole, &trail(0..100)), Some(100));
        assert_eq!(parting(&whole, &trail(0..60)), Some(60));
        assert_eq!(parting(&whole, &trail((0..120).filter(|i| *i != 4))), Some(4));
    }

    #[test]
    fn how_bytes_are_cut_into_records_matters() {
        let lines = |records: [&[u8]; 2]| {
            let mut trail = Trail::default();
            records.into_iter().for_each(|record| trail.push(record));
            trail.lines()
        };
        assert_ne!(lines([b"ab", b"c"]), lines([b"a", b"bc"]));
    }
}
