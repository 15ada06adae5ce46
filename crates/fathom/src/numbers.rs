//! Tables of numbers from files: comma, semicolon or tab between cells, a heading or none, remarks after `#`. Faults name
//! file and line. Does not know what the columns mean.

mod unit;

use crate::diagnose::printable;
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

/// Characters of a title that a message shows at most.
const TITLE_SHOWN_MAX: usize = 60;
/// Largest magnitude of a number, and the inverse of the smallest above 0 where none may be 0: nanoseconds of thirty years,
/// bytes of a second of a million devices. Squares and products of such numbers are still numbers.
const MAGNITUDE_MAX: f64 = 1e18;
/// Largest file that is read: ten times a million rounds with all their columns.
const BYTES_MAX: u64 = 1 << 30;

/// Units of time that a title may name, in nanoseconds.
pub(crate) const UNITS_NS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A table as text, with the line every row stands in.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    /// The heading, when there is one.
    titles: Option<Vec<String>>,
    rows: Vec<(u64, Vec<String>)>,
    /// Number of columns that have a title, or a cell in any row.
    width: usize,
}

impl Table {
    /// Reads a file; `-` is standard input. The reason in words when that cannot be done.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let is_standard_input = path == Path::new("-");
        let name = if is_standard_input {
            "standard input".to_owned()
        } else {
            printable(&path.display().to_string())
        };
        let fail = |error: std::io::Error| {
            format!(
                "cannot read {name}: {error}; name a file of comma-separated numbers, or - for standard input"
            )
        };
        let mut bytes = Vec::new();
        if is_standard_input {
            std::io::stdin().lock().take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
        } else {
            std::fs::File::open(path)
                .map_err(fail)?
                .take(BYTES_MAX + 1)
                .read_to_end(&mut bytes)
                .map_err(fail)?;
        }
        if bytes.len() as u64 > BYTES_MAX {
            return Err(format!(
                "{name} is larger than {} MiB, which no table of measurements is; name a file of comma-separated numbers",
                BYTES_MAX >> 20
            ));
        }
        Self::of(name, &bytes)
    }

    fn of(name: String, bytes: &[u8]) -> Result<Self, String> {
        let text = in_utf_8(&name, bytes)?;
        // A byte order mark, which spreadsheets write.
        let bytes = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(bytes))
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(bytes);
        let mut rows = Vec::new();
        let (mut line, mut seen) = (1_u64, 0);
        for record in reader.byte_records() {
            let record = record.map_err(|error| format!("{name}: {error}"))?;
            // A record's own position may be that of an empty line before it.
            let at = record.position().and_then(|place| usize::try_from(place.byte()).ok()).unwrap_or(seen);
            let blank = bytes[at..].iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            line += bytes[seen..at + blank].split(|&byte| byte == b'\n').count() as u64 - 1;
            seen = at + blank;
            let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
            rows.push((line, without_remark(cells)));
        }
        rows.retain(|(_, cells)| cells.iter().any(|cell| !cell.is_empty()));
        let has_titles = rows.first().is_some_and(|(_, cells)| cells.iter().any(|cell| is_title(cell)));
        let titles = has_titles.then(|| rows.remove(0).1);
        if rows.is_empty() {
            return Err(format!(
                "{name} has no row of numbers; write one in a line, its cells parted by commas"
            ));
        }
        // More numbers than titles, or than the first row has: which is whose is not known, and a decimal comma makes two of one.
        let (first, columns) = (rows[0].0, titles.as_ref().map_or(rows[0].1.len(), Vec::len));
        let mut counts = rows.iter().map(|(line, cells)| (*line, filled(cells)));
        if let Some((line, cells)) = counts.find(|(_, cells)| *cells > columns) {
            let has = format!("{name}:{line}: has {cells} cells");
            let point = "write numbers with a decimal point, such as 1234.5";
            return Err(if has_titles {
                let plural = if columns == 1 { "" } else { "s" };
                format!("{has} below {columns} title{plural}; {point}, or give each column a title")
            } else {
                format!(
                    "{has}, but the first row, in line {first}, has {columns}; {point}, and a cell for each column in every row"
                )
            });
        }
        let of_rows = rows.iter().map(|(_, cells)| filled(cells)).max().unwrap_or(0);
        let width = titles.as_deref().map_or(0, filled).max(of_rows);
        Ok(Self { name, titles, rows, width })
    }

    /// File name, printable.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Number of columns that have a title, or a cell in any row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Index of the column whose title is one of these, without regard to case.
    pub(crate) fn column(&self, names: &[&str]) -> Option<usize> {
        let titles = self.titles.as_ref()?;
        names.iter().find_map(|name| titles.iter().position(|title| title.eq_ignore_ascii_case(name)))
    }

    /// As [`Table::column`], of one name that the user gave; a number is a position from 1.
    pub(crate) fn named(&self, name: &str) -> Result<usize, String> {
        let position =
            name.parse::<usize>().ok().filter(|at| (1..=self.width()).contains(at)).map(|at| at - 1);
        self.column(&[name]).or(position).ok_or_else(|| {
            let columns = match &self.titles {
                Some(titles) => printable(&titles.join(", ")),
                None => format!("1 to {}, without a heading", self.width()),
            };
            format!("{} has no column {}; its columns are {columns}", self.name, printable(name))
        })
    }

    /// Title of a column, or its number.
    pub(crate) fn title(&self, at: usize) -> String {
        let title = self.titles.as_ref().and_then(|titles| titles.get(at));
        title.map_or_else(|| format!("column {}", at + 1), |title| printable(title))
    }

    /// The unit that a column's title names: its name and its nanoseconds. `None` where it names none and no time either, or
    /// nothing but a time. A title that leaves doubt is refused.
    pub(crate) fn unit(&self, at: usize) -> Result<Option<(&'static str, f64)>, String> {
        let Some(title) = self.titles.as_ref().and_then(|titles| titles.get(at)) else { return Ok(None) };
        unit::of(title).map_err(|said| format!("{}: the title {} {said}", self.name, self.short_title(at)))
    }

    /// Title of a column as a message shows it, or its number.
    pub(crate) fn short_title(&self, at: usize) -> String {
        let title = self.title(at);
        let shown: String = title.chars().take(TITLE_SHOWN_MAX).collect();
        if shown.len() < title.len() { shown + "…" } else { shown }
    }

    /// Whether a column has a title.
    pub(crate) fn has_title(&self, at: usize) -> bool {
        self.titles.as_ref().and_then(|titles| titles.get(at)).is_some_and(|title| !title.is_empty())
    }

    /// Whether a column's title says that it is a time: it names a unit of one, or a word for one.
    pub(crate) fn is_time(&self, at: usize) -> bool {
        self.has_title(at) && unit::is_time_by_title(&self.title(at))
    }

    /// Whether no cell of a column looks like a number.
    pub(crate) fn is_of_words(&self, at: usize) -> bool {
        self.rows.iter().all(|(_, cells)| cells.get(at).is_none_or(|cell| cell.is_empty() || is_title(cell)))
    }

    /// A column as text, with the lines.
    pub(crate) fn words(&self, at: usize) -> Result<Vec<(u64, &str)>, String> {
        self.rows
            .iter()
            .map(|(line, cells)| match cells.get(at) {
                Some(cell) => Ok((*line, cell.as_str())),
                None => Err(self.fault(
                    *line,
                    &format!("has {} cells, none for {}", cells.len(), self.title(at)),
                    "complete the row or remove it",
                )),
            })
            .collect()
    }

    /// A column as numbers, with the lines.
    pub(crate) fn numbers(&self, at: usize) -> Result<Vec<(u64, f64)>, String> {
        let number = |(line, cell): (u64, &str)| {
            let fault = |what: &str, remedy: &str| {
                Err(self.fault(line, &format!("{}: {what}", self.title(at)), remedy))
            };
            match parse(cell) {
                Some(number) if number.abs() <= MAGNITUDE_MAX => Ok((line, number)),
                Some(_) => fault(
                    &format!("{} is beyond {MAGNITUDE_MAX:e}, the largest that is taken", shown(cell)),
                    "use a larger unit, or remove the row",
                ),
                None if has_decimal_comma(cell) => fault(
                    &format!("\"{}\" has a decimal comma", shown(cell)),
                    "write numbers with a point, such as 1234.5",
                ),
                None => fault(
                    &format!("\"{}\" is no number", shown(cell)),
                    "write it as 1234.5, or remove the row",
                ),
            }
        };
        self.words(at)?.into_iter().map(number).collect()
    }

    /// As [`Table::numbers`], above 0.
    pub(crate) fn positive(&self, at: usize) -> Result<Vec<f64>, String> {
        let numbers = self.numbers(at)?;
        if let Some((line, number)) = numbers.iter().find(|(_, number)| *number <= 0.0) {
            let what = format!("{}: {number} is not above 0", self.title(at));
            return Err(self.fault(*line, &what, "remove the row: it measured nothing"));
        }
        if let Some((line, number)) = numbers.iter().find(|(_, number)| *number < 1.0 / MAGNITUDE_MAX) {
            let what = format!(
                "{}: {number:e} is below {:e}, the smallest that is taken",
                self.title(at),
                1.0 / MAGNITUDE_MAX
            );
            return Err(self.fault(*line, &what, "use a smaller unit, or remove the row"));
        }
        Ok(numbers.into_iter().map(|(_, number)| number).collect())
    }

    /// `FILE:LINE: what; remedy`.
    pub(crate) fn fault(&self, line: u64, what: &str, remedy: &str) -> String {
        format!("{}:{line}: {what}; {remedy}", self.name)
    }
}

/// The bytes of a text in UTF-8, also where it is UTF-16, as spreadsheets save "Unicode text"; its byte order mark says which.
fn in_utf_8<'a>(name: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
    let decoded = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    let text =
        match decoded {
            Some((rest, unit)) => {
                let units = rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
                let text: Result<String, _> = char::decode_utf16(units).collect();
                let whole = text.ok().filter(|_| rest.len() % 2 == 0);
                Cow::Owned(whole.map(String::into_bytes).ok_or_else(|| {
                    format!("{name} begins as UTF-16 and is none further on; save it as UTF-8")
                })?)
            }
            None => Cow::Borrowed(bytes),
        };
    if text.contains(&0) {
        return Err(format!(
            "{name} has zero bytes, as UTF-16 without a byte order mark, UTF-32 and what is no text have; save it as UTF-8"
        ));
    }
    Ok(text)
}

/// Number of cells up to the last one that is not empty.
fn filled(cells: &[String]) -> usize {
    cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1)
}

/// Cells up to a remark behind a number, which begins with a `#` after a blank. In a word it is a part of it: `disk #2`.
fn without_remark(cells: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    for cell in cells {
        let behind = cell.split_once('#').filter(|(before, _)| before.ends_with([' ', '\t']));
        let number = behind.map(|(before, _)| before.trim_end()).filter(|before| parse(before).is_some());
        if let Some(number) = number {
            kept.push(number.to_owned());
            break;
        }
        kept.push(cell);
    }
    kept
}

/// The separator of which the first line that is no remark has most; a comma when it has none.
fn delimiter(bytes: &[u8]) -> u8 {
    let line =
        bytes.split(|&b| b == b'\n').find(|line| !line.is_empty() && line[0] != b'#').unwrap_or_default();
    let count = |separator: u8| line.split(|&b| b == separator).count();
    // As many of both: commas beside semicolons or tabs are decimal ones.
    let most = [b',', b';', b'\t'].into_iter().max_by_key(|&separator| count(separator));
    most.filter(|&separator| count(separator) > 1).unwrap_or(b',')
}

/// Whether it would be a number with a point in place of its comma.
fn has_decimal_comma(cell: &str) -> bool {
    cell.matches(',').count() == 1 && parse(&cell.replace(',', ".")).is_some()
}

/// Whether a cell can be the title of a column: words, and no number that is not one (NaN, 1OO, 1e400), which is a fault.
fn is_title(cell: &str) -> bool {
    let begins_as_number = cell.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    !cell.is_empty() && !begins_as_number && cell.parse::<f64>().is_err()
}

/// A finite number.
fn parse(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Most characters of a cell that a message repeats.
const SHOWN_MAX: usize = 60;

/// A cell as messages have it.
fn shown(cell: &str) -> String {
    let mut text: String = cell.chars().take(SHOWN_MAX).collect();
    if text.len() < cell.len() {
        text.push('…');
    }
    printable(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_as_people_write_them() {
        for text in [
            "n,x\n1,100\n2,190.5\n",
            "\u{feff}n;x\r\n1;100\r\n2;190.5\r\n",
            "# measured in May\nn\tx\n\n1\t100\n# a remark\n2\t190.5",
            "1,100\n2, 190.5\n",
            "\"n\",\"x\"\n\"1\",\"1e2\"\n2,190.5,\n",
            // Cells at the end that are empty are none.
            "1,100\n2,190.5,,\n",
            "1,100,\n2,190.5,\n",
            "n,x,\n1,100,\n2,190.5\n",
        ] {
            let table = Table::of("t".to_owned(), text.as_bytes()).expect(text);
            let column = |at| table.numbers(at).expect(text).into_iter().map(|(_, v)| v).collect::<Vec<_>>();
            assert_eq!((column(0), column(1)), (vec![1.0, 2.0], vec![100.0, 190.5]), "{text:?}");
            assert_eq!(table.width(), 2, "{text:?}");
        }
    }

    #[test]
    fn tables_in_utf_16_are_read_by_their_byte_order_mark() {
        let text = "n,lat (µs)\n1,100\n2,190.5\n";
        let units = |of: fn(u16) -> [u8; 2]| -> Vec<u8> {
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(of).collect()
        };
        for bytes in [units(u16::to_le_bytes), units(u16::to_be_bytes)] {
            let table = Table::of("t".to_owned(), &bytes).expect("two columns");
            assert_eq!(
                (table.title(1), table.numbers(1)),
                ("lat (µs)".to_owned(), Ok(vec![(2, 100.0), (3, 190.5)]))
            );
            for (wrong, expect) in [
                (&bytes[2..], "t has zero bytes, as UTF-16 without a byte order mark"),
                (&bytes[..bytes.len() - 1], "t begins as UTF-16 and is none further on; save it as UTF-8"),
            ] {
                let said = Table::of("t".to_owned(), wrong).expect_err("no text");
                assert!(said.starts_with(expect), "{said}");
            }
        }
    }

    #[test]
    fn a_title_names_its_unit_or_is_refused() {
        let unit = |title: &str| {
            let table = Table::of("t".to_owned(), format!("{title}\n1\n").as_bytes()).expect(title);
            table.unit(0)
        };
        assert_eq!((unit("latency (ms)"), unit("latency")), (Ok(Some(("ms", 1e6))), Ok(None)));
        for (title, expect) in [("mean latency", "end it with _ns"), ("requests per second", "into brackets")]
        {
            let said = unit(title).expect_err(title);
            assert!(
                said.starts_with(&format!("t: the title {title} names ")) && said.contains(expect),
                "{said}"
            );
        }
    }

    #[test]
    fn faults_name_their_line() {
        let check = |text: &str, at: usize, expect: &str| {
            let found =
                Table::of("t".to_owned(), text.as_bytes()).and_then(|table| table.positive(at).map(|_| ()));
            assert_eq!(found.unwrap_err(), expect);
        };
        let empty = "t has no row of numbers; write one in a line, its cells parted by commas";
        check("", 0, empty);
        check("n,x\n", 0, empty);
        // What looks like a number and is none is no title.
        for wrong in ["NaN", "1OO", "1e400"] {
            let said =
                format!("t:1: column 1: \"{wrong}\" is no number; write it as 1234.5, or remove the row");
            check(&format!("{wrong}\n3\n4\n"), 0, &said);
        }
        check("n,x\n1,2\n\n3,4k\n", 1, "t:4: x: \"4k\" is no number; write it as 1234.5, or remove the row");
        check("1,2\n3\n", 1, "t:2: has 1 cells, none for column 2; complete the row or remove it");
        check("n,x\n1,2\n2,inf\n", 1, "t:3: x: \"inf\" is no number; write it as 1234.5, or remove the row");
        check("n,x\n0,2\n", 0, "t:2: n: 0 is not above 0; remove the row: it measured nothing");
        check(
            "n,x\n1,2\n2,1e308\n",
            1,
            "t:3: x: 1e308 is beyond 1e18, the largest that is taken; use a larger unit, or remove the row",
        );
        check(
            "n,x\n1,1e-300\n",
            1,
            "t:2: x: 1e-300 is below 1e-18, the smallest that is taken; use a smaller unit, or remove the row",
        );
        // Decimal commas: beside semicolons, and where they take one number for two.
        let comma = "\"10,5\" has a decimal comma; write numbers with a point, such as 1234.5";
        check("n;x\n1;10,5\n", 1, &format!("t:2: x: {comma}"));
        check("1;10,5\n2;11\n", 1, &format!("t:1: column 2: {comma}"));
        check("n,x\n1,\"10,5\"\n", 1, &format!("t:2: x: {comma}"));
        check(
            "n,x\n1,10\n2,10,5\n",
            1,
            "t:3: has 3 cells below 2 titles; write numbers with a decimal point, such as 1234.5, or give each column a title",
        );
        check(
            "lat\n10\n10,5\n",
            0,
            "t:3: has 2 cells below 1 title; write numbers with a decimal point, such as 1234.5, or give each column a title",
        );
        let table = Table::of("t".to_owned(), b"a,b\n1,2\n").expect("two columns");
        assert_eq!(table.named("c").unwrap_err(), "t has no column c; its columns are a, b");
        assert_eq!((table.named("B"), table.named("1")), (Ok(1), Ok(0)));
    }

    /// The first row has all columns: neither a decimal comma in a later one nor a value that it lacks passes in silence.
    #[test]
    fn rows_without_titles_have_no_more_cells_than_the_first() {
        for (text, line, cells, columns) in [
            ("250\n251,5\n249,75\n", 2, 2, 1),
            ("100\n101,5\n99,2\n100\n100\n150,7\n", 2, 2, 1),
            ("1\n2,3\n3,3\n", 2, 2, 1),
            ("# rounds\n\n1,100\n2,200\n4,400,5,\n", 5, 3, 2),
            ("1\t100\n2\t200\t3\n", 2, 3, 2),
        ] {
            let said = Table::of("t".to_owned(), text.as_bytes()).expect_err(text);
            let expect = format!("t:{line}: has {cells} cells, but the first row, in line ");
            assert!(said.starts_with(&expect) && said.contains(&format!(", has {columns}; write")), "{said}");
        }
        // Titles name a column that the first row lacks.
        let table = Table::of("t".to_owned(), b"a,b\n1\n2,3\n").expect("two columns");
        let lacks = "t:2: has 1 cells, none for b; complete the row or remove it".to_owned();
        assert_eq!((table.width(), table.numbers(1)), (2, Err(lacks)));
    }
}
