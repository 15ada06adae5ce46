//! The document of an answer as rows for a spreadsheet: one per figure, whatever was asked. Owns the form; which figures there are
//! and what they are called is the document's.

use crate::rows::cell;
use serde_json::Value;

/// The columns, described at [`figures_csv`].
const HEADER: [&str; 4] = ["table", "row", "column", "value"];
/// The table of what stands in no list.
const TOP: &str = "answer";

/// A document as CSV (RFC 4180, CRLF line ends, a header row). Columns: `table` (where the list stands in the document, such as
/// `points` or `parts[0].cells[2].rounds`; `answer` for what is in no list), `row` (index in it, from 0), `column` (the field's
/// name; of a field within a field `peak.n`, of a value in a list of values `n_interval[0]`) and `value` (a number as JSON has it,
/// `true` or `false`, a text; empty for null). Texts that a spreadsheet would take for a formula are preceded by an apostrophe.
pub fn figures_csv(document: &Value) -> String {
    let mut out = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let mut write = |row: [&str; 4]| out.write_record(row).expect("memory takes everything");
    write(HEADER);
    figures(document, &Place { list: "", row: 0, column: String::new() }, &mut write);
    let bytes = out.into_inner().expect("memory takes everything");
    String::from_utf8(bytes).expect("all cells are texts")
}

/// Where a value stands.
struct Place<'a> {
    /// The list that it is in; empty for none.
    list: &'a str,
    /// Index of the object in that list.
    row: usize,
    /// The field of that object.
    column: String,
}

fn figures(value: &Value, place: &Place<'_>, write: &mut impl FnMut([&str; 4])) {
    let Place { list, row, column } = place;
    let field = |name: &str| match column.as_str() {
        "" => name.to_owned(),
        column => format!("{column}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                figures(value, &Place { list, row: *row, column: field(name) }, write);
            }
        }
        Value::Array(all) if all.iter().any(Value::is_object) => {
            let own = if list.is_empty() { column.clone() } else { format!("{list}[{row}].{column}") };
            let own = if own.is_empty() { TOP.to_owned() } else { own };
            for (at, value) in all.iter().enumerate() {
                figures(value, &Place { list: &own, row: at, column: String::new() }, write);
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                figures(value, &Place { list, row: *row, column: format!("{column}[{at}]") }, write);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => cell(text),
                other => other.to_string(),
            };
            let table = if list.is_empty() { TOP } else { list };
            write([table, &row.to_string(), column, &text]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::figures_csv;
    use serde_json::json;

    #[test]
    fn every_figure_is_a_row() {
        let document = json!({
            "sentence": "a, \"b\"",
            "peak": { "n": 4.5, "n_interval": [4.0, -5.5] },
            "knee": null,
            "points": [{ "n": 1, "ok": true }, { "n": 2, "name": "=1+2" }],
            "parts": [{ "cells": [{ "rounds": [{ "iops": 7 }] }] }],
        });
        let text = figures_csv(&document);
        assert!(text.lines().next().is_some_and(|line| line == "table,row,column,value"), "{text}");
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());
        for line in [
            "answer,0,sentence,\"a, \"\"b\"\"\"",
            "answer,0,peak.n,4.5",
            "answer,0,peak.n_interval[1],-5.5",
            "answer,0,knee,",
            "points,0,ok,true",
            "points,1,name,'=1+2",
            "parts[0].cells[0].rounds,0,iops,7",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
        }
        assert_eq!(text.lines().count(), 11);
    }
}
