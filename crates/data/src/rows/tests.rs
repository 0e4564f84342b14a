use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::basic::{Compression, GzipLevel, LogicalType, Repetition, Type as Physical, ZstdLevel};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use proptest::prelude::*;

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Three columns: a text, a number and a truth, any of which may be missing, in groups of two rows.
fn parquet_bytes(rows: &[(Option<&str>, Option<f64>, Option<bool>)], compression: Compression) -> Vec<u8> {
    let column = |name: &str, physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        Arc::new(column.with_repetition(Repetition::OPTIONAL).build().unwrap())
    };
    let fields = vec![
        column("who", Physical::BYTE_ARRAY, Some(LogicalType::String)),
        column("much", Physical::DOUBLE, None),
        column("liked", Physical::BOOLEAN, None),
    ];
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build().unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for rows in rows.chunks(2) {
        let mut group = writer.next_row_group().unwrap();
        let levels = |held: Vec<bool>| held.into_iter().map(i16::from).collect::<Vec<_>>();
        let texts: Vec<ByteArray> = rows.iter().filter_map(|row| row.0.map(ByteArray::from)).collect();
        let numbers: Vec<f64> = rows.iter().filter_map(|row| row.1).collect();
        let truths: Vec<bool> = rows.iter().filter_map(|row| row.2).collect();
        let mut next = group.next_column().unwrap().unwrap();
        let held = levels(rows.iter().map(|row| row.0.is_some()).collect());
        next.typed::<ByteArrayType>().write_batch(&texts, Some(&held), None).unwrap();
        next.close().unwrap();
        let mut next = group.next_column().unwrap().unwrap();
        let held = levels(rows.iter().map(|row| row.1.is_some()).collect());
        next.typed::<DoubleType>().write_batch(&numbers, Some(&held), None).unwrap();
        next.close().unwrap();
        let mut next = group.next_column().unwrap().unwrap();
        let held = levels(rows.iter().map(|row| row.2.is_some()).collect());
        next.typed::<BoolType>().write_batch(&truths, Some(&held), None).unwrap();
        next.close().unwrap();
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

type Record = (Option<String>, Option<f64>, Option<f64>);

fn all(path: &Path, format: &Format) -> Result<Vec<Record>, RowError> {
    let mut rows = Rows::open(path, format)?.select(&["who", "much", "liked"])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next_row()? {
        records.push((row.text(0)?.map(|text| text.into_owned()), row.number(1)?, row.number(2)?));
    }
    Ok(records)
}

fn problem(path: &Path, format: &Format) -> String {
    let error = all(path, format).unwrap_err().to_string();
    error.rsplit_once('/').map_or(error.clone(), |(_, tail)| tail.to_owned())
}

#[test]
fn one_table_is_the_same_in_every_format() {
    let folder = Folder::new();
    let expected: Vec<Record> = vec![
        (Some("Zoë".into()), Some(1.5), Some(1.0)),
        (Some("a, \"b\"\nc; d".into()), Some(-2e-3), Some(0.0)),
        (None, None, None),
        (Some("x|y".into()), Some(7.0), Some(1.0)),
        (Some("last".into()), Some(0.0), None),
    ];
    let comma =
        "who,much,liked\nZoë,1.5,true\n\"a, \"\"b\"\"\nc; d\",-2e-3,FALSE\n,NA,null\nx|y,7,1\nlast,0,NaN";
    let other = |delimiter: &str| {
        let text = "who,much,liked\nZoë,1.5,true\n\"a* \"\"b\"\"\nc; d\",-2e-3,FALSE\n,NA,null\n\"x|y\",7,1\nlast,0,NaN";
        text.replace(',', delimiter).replace('*', ",")
    };
    let latin = |text: &str| -> Vec<u8> { text.chars().map(|letter| letter as u32 as u8).collect() };
    let table: Vec<(Option<&str>, Option<f64>, Option<bool>)> = vec![
        (Some("Zoë"), Some(1.5), Some(true)),
        (Some("a, \"b\"\nc; d"), Some(-2e-3), Some(false)),
        (None, None, None),
        (Some("x|y"), Some(7.0), Some(true)),
        (Some("last"), Some(0.0), None),
    ];
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("plain.csv", comma.into()),
        ("ends.csv", format!("{comma}\n\n").into()),
        ("mark.csv", [b"\xef\xbb\xbf", comma.as_bytes()].concat()),
        ("tab.tsv", other("\t").into()),
        ("semicolon.csv", other(";").into()),
        ("pipe.csv", other("|").into()),
        ("latin.csv", latin(comma)),
        ("packed.csv.gz", gzip(comma.as_bytes())),
        ("twice.csv.gz", [gzip(&comma.as_bytes()[..20]), gzip(&comma.as_bytes()[20..])].concat()),
        ("snappy.parquet", parquet_bytes(&table, Compression::SNAPPY)),
        ("gzip.parquet", parquet_bytes(&table, Compression::GZIP(GzipLevel::default()))),
        ("zstd.parquet", parquet_bytes(&table, Compression::ZSTD(ZstdLevel::default()))),
        ("none.parquet", parquet_bytes(&table, Compression::UNCOMPRESSED)),
    ];
    for (name, bytes) in files {
        let path = folder.file(name, &bytes);
        assert_eq!(all(&path, &Format::default()).unwrap(), expected, "{name}");
    }
    // Line ends of other systems, in cells too.
    let path = folder.file("windows.csv", comma.replace('\n', "\r\n").as_bytes());
    let mut windows = expected.clone();
    windows[1].0 = Some("a, \"b\"\r\nc; d".into());
    assert_eq!(all(&path, &Format::default()).unwrap(), windows);
    let stated = Format { encoding: Some(Encoding::Latin1), ..Format::default() };
    assert_eq!(all(&folder.file("l.csv", &latin(comma)), &stated).unwrap(), expected);
    let mangled = all(&folder.file("u.csv", comma.as_bytes()), &stated).unwrap();
    assert_eq!(mangled[0].0.as_deref(), Some("ZoÃ«"));
}

#[test]
fn a_header_is_found_where_there_is_one() {
    let folder = Folder::new();
    let columns = |text: &str, header: Option<bool>| {
        let rows =
            Rows::open(&folder.file("a.csv", text.as_bytes()), &Format { header, ..Format::default() });
        let mut rows = rows.unwrap();
        let names = rows.columns().join(" ");
        let mut count = 0;
        while rows.next_row().unwrap().is_some() {
            count += 1;
        }
        (names, count)
    };
    assert_eq!(columns("a,b\n1,2\n3,4\n", None), ("a b".into(), 2));
    assert_eq!(columns("1,2\n3,4\n", None), ("c1 c2".into(), 2));
    assert_eq!(columns("1,x\n3,y\n", None), ("c1 c2".into(), 2));
    assert_eq!(columns("2019,2020\n3,4\n", Some(true)), ("2019 2020".into(), 1));
    assert_eq!(columns("a,b\nc,d\n", Some(false)), ("c1 c2".into(), 2));
    assert_eq!(columns("red,red\nblue,green\n", None), ("c1 c2".into(), 2));
    assert_eq!(columns(",b\n0,2\n", None), ("c1 b".into(), 1), "an index without a name");
    assert_eq!(columns("b\n1\n2\n", None), ("b".into(), 2), "one column");
    assert_eq!(columns("a,b", None), ("a b".into(), 0), "only a header");
    assert_eq!(columns("a,b,\n1,2,\n3,4,\n", None).1, 2, "a comma at the end of every line");
    let same = Rows::open(&folder.file("same.csv", b"a,b,b\nx,1,2\ny,3,4\n"), &Format::default());
    assert!(same.err().unwrap().to_string().contains('b'), "two names above numbers are two names");
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_the_fix() {
    let folder = Folder::new();
    let say = |text: &str| problem(&folder.file("f.csv", text.as_bytes()), &Format::default());
    assert_eq!(say(""), "f.csv: there is nothing in it");
    assert_eq!(say("\n\n\n"), "f.csv: there is nothing in it");
    assert_eq!(say("who,mcuh,liked\na,1,1\n"), "f.csv: there is no column `much`; did you mean `mcuh`?");
    assert_eq!(say("x,y,z\na,1,1\n"), "f.csv: there is no column `who`; there are: x, y, z");
    assert_eq!(
        say("who,much,liked\n\"a\nb\",1,1\nc,one,1\n"),
        "f.csv, line 4: column `much` is \"one\", which is no number"
    );
    assert_eq!(
        say("who,much,liked\na,-inf,1\n"),
        "f.csv, line 2: column `much` is -inf, and only finite numbers can be used: mend the cell or leave it empty"
    );
    let ragged = "who,much,liked\na,1,1\nb,2\nc,3,1\nd,4,1,9\n";
    assert!(
        say(ragged).starts_with("f.csv, line 3: 2 cells, where the first line has 3: quote"),
        "{}",
        say(ragged)
    );
    let path = folder.file("r.csv", ragged.as_bytes());
    let mut rows = Rows::open(&path, &Format { ragged: Ragged::Skip, ..Format::default() }).unwrap();
    let mut who = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        who.push(row.needed_text(0).unwrap().into_owned());
    }
    assert_eq!((who.join(""), rows.skipped()), ("ac".into(), 2));
    let stated = Format { header: Some(true), ..Format::default() };
    let twice = problem(&folder.file("f.csv", b"who,much,much\na,1,1\n"), &stated);
    assert!(twice.starts_with("f.csv, line 1: columns 2 and 3 are both called `much`"), "{twice}");
    let stated = Format { encoding: Some(Encoding::Utf8), ..Format::default() };
    let latin = problem(&folder.file("f.csv", b"who,much,liked\nZo\xeb,1,1\n"), &stated);
    assert_eq!(
        latin,
        "f.csv, line 2: column `who` holds bytes that are no UTF-8: say encoding = \"latin-1\", or save it as UTF-8"
    );
    for (bytes, says) in [
        (b"PK\x03\x04whatever".as_slice(), "zip archive"),
        (b"\xff\xfew\0h\0o\0", "UTF-16"),
        (&gzip(&gzip(b"a,b\n1,2\n")), "compressed twice"),
        (&gzip(b"PAR1PAR1"), "Parquet inside gzip"),
    ] {
        let said = problem(&folder.file("f.csv", bytes), &Format::default());
        assert!(said.contains(says), "{said}");
    }
    let missing = Rows::open(Path::new("no/such.csv"), &Format::default()).err().unwrap().to_string();
    assert!(missing.starts_with("no/such.csv: No such file"), "{missing}");
}

#[test]
fn quotes_are_letters_where_that_is_said() {
    let folder = Folder::new();
    let path = folder.file("f.tsv", b"id\tname\n1\t\"Heroes\" (12\" mix\n2\t\"open\n");
    let mut rows = Rows::open(&path, &Format { quotes: false, ..Format::default() }).unwrap();
    let mut names = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        names.push(row.raw(1).unwrap().into_owned());
    }
    assert_eq!(names, ["\"Heroes\" (12\" mix", "\"open"]);
}

#[test]
fn what_was_cut_short_is_refused_with_what_was_found() {
    let folder = Folder::new();
    let mut text = "who,much,liked\n".to_owned();
    (0..5000).for_each(|row| text += &format!("client {},{},{}\n", row % 7, row * 37 % 1009, row % 2));
    let packed = gzip(text.as_bytes());
    let cut = problem(&folder.file("f.csv.gz", &packed[..packed.len() * 3 / 4]), &Format::default());
    let (line, rest) = cut.strip_prefix("f.csv.gz, line ").unwrap().split_once(':').unwrap();
    assert!(line.parse::<u64>().unwrap() > 1000, "{cut}");
    assert!(
        rest.contains("compressed bytes end in the middle, after ") && rest.contains("fetch it again"),
        "{cut}"
    );
    let without_sum = problem(&folder.file("f.csv.gz", &packed[..packed.len() - 4]), &Format::default());
    assert!(without_sum.contains("end in the middle, after 5000 whole rows"), "{without_sum}");
    let mut flipped = packed.clone();
    let sum = packed.len() - 6;
    flipped[sum] ^= 0x55;
    let flipped = problem(&folder.file("f.csv.gz", &flipped), &Format::default());
    assert!(flipped.contains("damaged"), "{flipped}");

    let open = problem(&folder.file("f.csv", b"who,much,liked\na,1,1\nb,2,\"3\nc,4,5\n"), &Format::default());
    assert!(
        open.starts_with("f.csv, line 3: a quote (\") is opened in this row and never closed, 1 rows"),
        "{open}"
    );
    // Whatever follows: it is not held in memory.
    let mut long = b"who,much,liked\na,\"1,1\n".to_vec();
    long.resize(20 << 20, b'x');
    let open = problem(&folder.file("f.csv", &long), &Format::default());
    assert!(open.starts_with("f.csv, line 2: a row of more than 16 MiB begins here"), "{open}");

    let table: Vec<_> = (0..100).map(|row| (Some("abc"), Some(f64::from(row)), Some(true))).collect();
    let whole = parquet_bytes(&table, Compression::SNAPPY);
    let cut = problem(&folder.file("f.parquet", &whole[..whole.len() - 9]), &Format::default());
    assert!(cut.contains("its end does not tell what is in it") && cut.contains("cut short"), "{cut}");
    // The bytes of the first pages are other ones: the footer is there, and what it says is not.
    let mut damaged = whole.clone();
    damaged[4..400].fill(0xa5);
    let damaged = problem(&folder.file("f.parquet", &damaged), &Format::default());
    assert!(damaged.contains("row group 1") && damaged.contains("damaged"), "{damaged}");
}

#[test]
fn a_small_file_of_long_texts_is_refused_before_they_fill_memory() {
    let folder = Folder::new();
    let said = |length: usize, rows: usize| {
        let text = "x".repeat(length);
        let column =
            Type::primitive_type_builder("c", Physical::BYTE_ARRAY).with_repetition(Repetition::REQUIRED);
        let fields = vec![Arc::new(column.build().unwrap())];
        let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build().unwrap());
        // One text in a dictionary, and rows that point to it.
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder()
            .set_compression(zstd)
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(::parquet::file::properties::EnabledStatistics::None)
            .build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut next = group.next_column().unwrap().unwrap();
        let values = vec![ByteArray::from(text.as_str()); rows];
        next.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        next.close().unwrap();
        group.close().unwrap();
        let bytes = writer.into_inner().unwrap();
        assert!(bytes.len() < 20_000, "{}", bytes.len());
        let mut rows = Rows::open(&folder.file("long.parquet", &bytes), &Format::default()).unwrap();
        let mut count = 0;
        loop {
            match rows.next_row() {
                Ok(Some(row)) => assert_eq!(row.raw(0).unwrap().len(), length),
                Ok(None) => return Ok(count),
                Err(error) => return Err(error.to_string()),
            }
            count += 1;
        }
    };
    assert_eq!(said(1 << 18, 256), Ok(256));
    let one = said((1 << 24) + 1, 1).unwrap_err();
    assert!(
        one.ends_with(
            "column `c`: Parquet error: texts that are too long: a cell of more than 16 MiB; leave the column out"
        ),
        "{one}"
    );
    let many = said(1 << 18, 257).unwrap_err();
    assert!(many.contains("too long: 64 MiB in less than 1024 rows; leave the column out"), "{many}");
    assert_eq!(said(60_000, 3000), Ok(3000), "of so many rows it is those together that count");
}

#[test]
fn whole_numbers_of_any_size_are_texts_without_loss() {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let column = |name: &str, physical, logical| {
        let column = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        Arc::new(column.with_repetition(Repetition::REQUIRED).build().unwrap())
    };
    let decimal = Type::primitive_type_builder("price", Physical::INT32)
        .with_logical_type(Some(LogicalType::decimal(2, 9)))
        .with_precision(9)
        .with_scale(2)
        .with_repetition(Repetition::REQUIRED);
    let fields = vec![
        column("id", Physical::INT64, None),
        column("big", Physical::INT64, unsigned(64)),
        Arc::new(decimal.build().unwrap()),
    ];
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build().unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for values in [[i64::MAX, i64::MIN], [-1, 5]] {
        let mut next = group.next_column().unwrap().unwrap();
        next.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        next.close().unwrap();
    }
    let mut next = group.next_column().unwrap().unwrap();
    next.typed::<Int32Type>().write_batch(&[1999, -5], None, None).unwrap();
    next.close().unwrap();
    group.close().unwrap();
    let folder = Folder::new();
    let path = folder.file("f.parquet", &writer.into_inner().unwrap());
    let mut rows = Rows::open(&path, &Format::default()).unwrap();
    let mut texts = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        texts.extend((0..2).map(|column| row.needed_text(column).unwrap().into_owned()));
        texts.push(row.needed_number(2).unwrap().to_string());
    }
    let expected =
        ["9223372036854775807", "18446744073709551615", "19.99", "-9223372036854775808", "5", "-0.05"];
    assert_eq!(texts, expected);
}

/// Reads all of a file in every way, whatever it is; errors are fine.
fn exhaust(path: &Path, format: &Format) {
    let Ok(mut rows) = Rows::open(path, format) else { return };
    let width = rows.columns().len();
    while let Ok(Some(row)) = rows.next_row() {
        for column in 0..width {
            let _ = (row.raw(column), row.text(column), row.cell(column), row.number(column));
        }
    }
}

fn formats() -> impl Strategy<Value = Format> {
    let delimiters = prop_oneof![Just(None), Just(Some(Delimiter::Tab)), Just(Some(Delimiter::Space))];
    let encodings = prop_oneof![Just(None), Just(Some(Encoding::Utf8)), Just(Some(Encoding::Latin1))];
    let header = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    let ragged = prop_oneof![Just(Ragged::Refuse), Just(Ragged::Skip)];
    (delimiters, encodings, header, any::<bool>(), ragged).prop_map(
        |(delimiter, encoding, header, quotes, ragged)| Format {
            delimiter,
            encoding,
            header,
            quotes,
            ragged,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), format in formats()) {
        let folder = Folder::new();
        exhaust(&folder.file("f", &bytes), &format);
        exhaust(&folder.file("f", &[b"PAR1", bytes.as_slice(), b"PAR1"].concat()), &format);
        exhaust(&folder.file("f", &gzip(&bytes)), &format);
    }

    #[test]
    fn any_cells_are_read_or_refused(
        cells in prop::collection::vec(prop_oneof!["[ab0-9.,;\"\n\r\t-]{0,6}", Just("NaN".to_owned())], 0..60),
        format in formats(),
    ) {
        let folder = Folder::new();
        exhaust(&folder.file("f", cells.join(",").as_bytes()), &format);
    }

    #[test]
    fn what_was_written_is_read(
        rows in prop::collection::vec(("[a-c,;\"\n\t ]{0,5}z", -1e6..1e6f64), 1..20),
    ) {
        let folder = Folder::new();
        let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
        writer.write_record(["name", "value"]).unwrap();
        rows.iter().for_each(|(name, value)| writer.write_record([name.as_str(), &value.to_string()]).unwrap());
        let path = folder.file("f.csv", &writer.into_inner().unwrap());
        let format = Format { delimiter: Some(Delimiter::Comma), ..Format::default() };
        let mut read = Rows::open(&path, &format).unwrap();
        for (name, value) in &rows {
            let row = read.next_row().unwrap().unwrap();
            prop_assert_eq!(&row.raw(0).unwrap(), name);
            prop_assert_eq!(row.number(1).unwrap(), Some(*value));
        }
        prop_assert!(read.next_row().unwrap().is_none());
    }

    #[test]
    fn a_parquet_file_with_other_bytes_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let table: Vec<_> = (0..6).map(|row| (Some("abc"), Some(f64::from(row)), Some(true))).collect();
        let whole = parquet_bytes(&table, Compression::SNAPPY);
        let folder = Folder::new();
        let mut changed = whole.clone();
        changes.iter().for_each(|(at, byte)| changed[at.index(whole.len())] = *byte);
        exhaust(&folder.file("f", &changed), &Format::default());
        exhaust(&folder.file("f", &whole[..cut.index(whole.len())]), &Format::default());
    }
}
