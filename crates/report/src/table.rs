//! Tables in plain text: columns aligned, cut to a width, control characters made visible. Knows nothing of what the
//! cells mean.

use std::borrow::Cow;

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its heading.
    pub(crate) title: Cow<'static, str>,
    /// Numbers stand right, names left.
    pub(crate) right: bool,
    /// Columns with a higher number go first when the table is too wide; 0 never goes.
    pub(crate) dispensable: u8,
}

/// A column that never goes.
pub(crate) const fn left(title: &'static str) -> Column {
    Column { title: Cow::Borrowed(title), right: false, dispensable: 0 }
}

/// A column of numbers that never goes.
pub(crate) const fn right(title: &'static str) -> Column {
    Column { title: Cow::Borrowed(title), right: true, dispensable: 0 }
}

/// A column of numbers with a heading that is found out.
pub(crate) fn right_of(title: String) -> Column {
    Column { title: Cow::Owned(title), right: true, dispensable: 0 }
}

/// A column of numbers that goes when there is no room.
pub(crate) const fn spare(title: &'static str, dispensable: u8) -> Column {
    Column { title: Cow::Borrowed(title), right: true, dispensable }
}

/// Between two columns.
const GAP: usize = 2;
/// A last column of words is wrapped to no less than this.
const WORDS_MIN: usize = 16;
/// The first column is cut to no less than this.
const NAME_MIN: usize = 8;

/// The table's lines, heading first, each indented by two and at most `width` wide where the cells allow it: first
/// dispensable columns go, then words in the last column are wrapped; else the table is broken into parts under one another, each
/// beginning with the columns that name the rows, and the first column is cut where that leaves fewer parts. A column empty in all rows is left out.
pub(crate) fn lines(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let full = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0).max(columns[at].title.chars().count())
    };
    let mut kept: Vec<usize> =
        (0..columns.len()).filter(|&at| rows.iter().any(|row| !row[at].is_empty())).collect();
    let total = |kept: &[usize]| kept.iter().map(|&at| full(at) + GAP).sum::<usize>();
    while total(&kept) > width {
        let Some(&goes) =
            kept.iter().filter(|&&at| columns[at].dispensable > 0).max_by_key(|&&at| columns[at].dispensable)
        else {
            break;
        };
        kept.retain(|&at| at != goes);
    }
    let (Some(&first), Some(&last)) = (kept.first(), kept.last()) else { return Vec::new() };
    // Words at the end of a row go on below: cutting the names would not make room for a sentence.
    let room = width.saturating_sub(total(&kept[..kept.len() - 1]) + GAP);
    let wraps = !columns[last].right && last != first && total(&kept) > width && room >= WORDS_MIN;
    if wraps {
        let width_of = |at: usize| if at == last { room } else { full(at) };
        let heading = line(columns, &kept, &width_of, &|at| &columns[at].title);
        let cells = rows.iter().flat_map(|row| {
            let parts = wrap(&row[last], room).into_iter().enumerate();
            parts.map(|(part, words)| {
                line(columns, &kept, &width_of, &|at| match (at == last, part) {
                    (true, _) => &words,
                    (false, 0) => &row[at],
                    (false, _) => "",
                })
            })
        });
        return std::iter::once(heading).chain(cells.collect::<Vec<_>>()).collect();
    }
    // As much of the names as leaves the table in as few parts as any cut does.
    let parts_with = |name: usize| {
        let width_of = |at: usize| if at == first { name } else { full(at) };
        let parts = broken(columns, &kept, &width_of, width);
        let wide = |part: &Vec<usize>| part.iter().map(|&at| width_of(at) + GAP).sum::<usize>();
        let widest = parts.iter().map(wide).max().unwrap_or(0);
        (parts, widest)
    };
    let least = NAME_MIN.min(full(first));
    let (fewest, widest) = parts_with(least);
    let is_as_good = |name: &usize| {
        let (parts, widest_of) = parts_with(*name);
        parts.len() == fewest.len() && widest_of <= width.max(widest)
    };
    let name = (least..=full(first)).rev().find(is_as_good).unwrap_or(least);
    let width_of = |at: usize| if at == first { name } else { full(at) };
    let parts = broken(columns, &kept, &width_of, width);
    let part_lines = |part: &Vec<usize>| {
        let heading = line(columns, part, &width_of, &|at| &columns[at].title);
        let cells = rows.iter().map(|row| line(columns, part, &width_of, &|at| &row[at]));
        std::iter::once(heading).chain(cells).collect::<Vec<_>>()
    };
    parts.iter().flat_map(part_lines).collect()
}

/// The columns of each part of a table: one part where all fit.
fn broken(
    columns: &[Column],
    kept: &[usize],
    width_of: &dyn Fn(usize) -> usize,
    width: usize,
) -> Vec<Vec<usize>> {
    let names: Vec<usize> = kept.iter().copied().take_while(|&at| !columns[at].right).collect();
    let wide = |part: &[usize]| part.iter().map(|&at| width_of(at) + GAP).sum::<usize>();
    let mut parts = vec![names.clone()];
    for &at in &kept[names.len()..] {
        let last = parts.last_mut().expect("there is always a part");
        if last.len() > names.len() && wide(last) + width_of(at) + GAP > width {
            parts.push([names.as_slice(), &[at]].concat());
        } else {
            last.push(at);
        }
    }
    parts
}

fn line<'a>(
    columns: &[Column],
    part: &[usize],
    width_of: &dyn Fn(usize) -> usize,
    cell: &dyn Fn(usize) -> &'a str,
) -> String {
    let mut line = String::new();
    for &at in part {
        let width = width_of(at);
        let text = shorten(cell(at), width);
        let padding = " ".repeat(width - text.chars().count());
        line.push_str(&" ".repeat(GAP));
        let (before, after) = if columns[at].right { (padding.as_str(), "") } else { ("", padding.as_str()) };
        line.extend([before, &text, after]);
    }
    line.truncate(line.trim_end().len());
    line
}

/// `text` with control characters and those that nobody sees written as escapes, so that a name from a job file cannot steer a
/// terminal, nor pass for another.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|c| {
            // Bidirectional overrides (U+202A–E, U+2066–9) reorder a line just as a control character would.
            let steers = c.is_control()
                || ('\u{202A}'..='\u{202E}').contains(&c)
                || ('\u{2066}'..='\u{2069}').contains(&c)
                // Of no width: spaces, joiners and marks of direction.
                || matches!(c, '\u{AD}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}');
            if steers { c.escape_unicode().to_string() } else { c.to_string() }
        })
        .collect()
}

/// `text` in lines of at most `width` characters, broken at blanks; a longer word stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn columns_are_aligned_and_fit() {
        let columns = [left("name"), right("IOPS"), spare("p95", 1), right("empty")];
        let cells = rows(&[&["a rather long name", "1000", "1 ms", ""], &["b", "9", "2 ms", ""]]);
        let check = |width: usize, expect: &[&str]| {
            let found = lines(&columns, &cells, width);
            assert_eq!(found, expect);
            assert!(found.iter().all(|line| line.chars().count() <= width));
        };
        check(
            40,
            &[
                "  name                IOPS   p95",
                "  a rather long name  1000  1 ms",
                "  b                      9  2 ms",
            ],
        );
        check(
            28,
            &["  name                IOPS", "  a rather long name  1000", "  b                      9"],
        );
        check(18, &["  name        IOPS", "  a rather …  1000", "  b              9"]);
    }

    #[test]
    fn words_at_the_end_of_a_row_go_on_below() {
        let columns = [left("figure"), left("value")];
        let cells = rows(&[&["peak", "12k/s at load 30, beyond it"], &["knee", "load 7"]]);
        assert_eq!(
            lines(&columns, &cells, 28),
            ["  figure  value", "  peak    12k/s at load 30,", "          beyond it", "  knee    load 7",]
        );
    }

    #[test]
    fn a_table_too_wide_for_the_page_is_broken_into_parts_that_name_their_rows() {
        let columns = [left("name"), left("kind"), right("IOPS"), right("mean"), right("max")];
        let cells =
            rows(&[&["log", "read", "1.00M", "1.00 ms", "10.0 ms"], &["", "write", "9", "2 ms", "4 s"]]);
        assert_eq!(
            lines(&columns, &cells, 24),
            [
                "  name  kind    IOPS",
                "  log   read   1.00M",
                "        write      9",
                "  name  kind      mean",
                "  log   read   1.00 ms",
                "        write     2 ms",
                "  name  kind       max",
                "  log   read   10.0 ms",
                "        write      4 s",
            ]
        );
    }

    #[test]
    fn long_names_break_no_table() {
        let columns = [left("stream"), right("mean"), right("p50"), right("p99")];
        let cells =
            rows(&[&["a-rather-long-name-of-a-stream-that-tells-all", "1.00 ms", "1.00 ms", "10.0 ms"]]);
        let found = lines(&columns, &cells, 50);
        assert_eq!(
            found,
            [
                "  stream                    mean      p50      p99",
                "  a-rather-long-name-o…  1.00 ms  1.00 ms  10.0 ms"
            ]
        );
    }

    #[test]
    fn names_are_whole_where_the_table_is_broken_all_the_same() {
        let columns = [left("limit"), right("worst"), right("together")];
        let cells = rows(&[&["p99.9 < 1.25 ms", "n/a, largest 7.39 ms", "5.31 ms"]]);
        assert_eq!(
            lines(&columns, &cells, 40),
            [
                "  limit                           worst",
                "  p99.9 < 1.25 ms  n/a, largest 7.39 ms",
                "  limit            together",
                "  p99.9 < 1.25 ms   5.31 ms",
            ]
        );
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\nd"), "a\\u{1b}[2Jb\\u{202e}c\\u{a}d");
        assert_eq!(visible("größe µs"), "größe µs");
    }

    #[test]
    fn text_wraps_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable x", 4), ["unbreakable", "x"]);
        assert_eq!(wrap("", 4), [""]);
    }

    proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(words in prop::collection::vec("[a-zé]{1,12}", 0..40), width in 12_usize..50) {
            let lines = wrap(&words.join(" "), width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            prop_assert_eq!(lines.join(" "), words.join(" "));
        }

        #[test]
        fn tables_fit_whatever_is_in_them(
            cells in prop::collection::vec(prop::collection::vec("[a-zé0-9]{0,30}", 3), 1..10), width in 50_usize..120,
        ) {
            let columns = [left("name"), spare("b", 1), spare("c", 2)];
            let lines = lines(&columns, &cells, width);
            prop_assert_eq!(lines.len(), cells.len() + 1);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
        }

        #[test]
        fn visible_text_has_no_control_character(text in any::<String>()) {
            prop_assert!(!visible(&text).chars().any(char::is_control));
        }
    }
}
