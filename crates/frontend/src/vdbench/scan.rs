//! Lines to statements: lists of `keyword=value`, with their places. Knows comments, continuation and quotes, and no
//! keyword.

use super::{NOT_IMPORTED, SYNTAX};
use fathom_model::{Diagnostics, Span};

/// One `keyword=value`.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// In lower case, as it is written.
    pub key: String,
    /// One, or those of a list in parentheses; without quotes.
    pub values: Vec<String>,
    /// Whether it is in parentheses.
    pub is_list: bool,
    pub span: Span,
}

/// A statement, over as many lines as it has; it has items.
pub(super) type Statement = Vec<Item>;

/// Characters with their places in the text.
type Placed = Vec<(usize, char)>;

/// All statements up to a line `eof`.
pub(super) fn statements(source: u32, text: &str, found: &mut Diagnostics) -> Vec<Statement> {
    let mut all = Vec::new();
    let mut open = Placed::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start + (line.len() - line.trim_start().len());
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with(['/', '#', '*']) {
            continue;
        }
        if line.get(..3).is_some_and(|head| head.eq_ignore_ascii_case("eof")) {
            break;
        }
        // What follows the first blank is a comment.
        let mut is_quoted = false;
        let end = line.find(|c: char| {
            is_quoted ^= c == '"';
            c.is_whitespace() && !is_quoted
        });
        open.extend(line[..end.unwrap_or(line.len())].char_indices().map(|(place, c)| (at + place, c)));
        if open.last().is_some_and(|&(_, c)| c == ',') {
            continue;
        }
        all.extend(statement(source, &std::mem::take(&mut open), found));
    }
    all.extend(statement(source, &open, found));
    all
}

fn statement(source: u32, text: &[(usize, char)], found: &mut Diagnostics) -> Option<Statement> {
    let items: Vec<Item> = split(text).into_iter().filter_map(|part| item(source, part, found)).collect();
    (!items.is_empty()).then_some(items)
}

/// The parts between commas that are neither in parentheses nor in quotes.
fn split(text: &[(usize, char)]) -> Vec<&[(usize, char)]> {
    let (mut depth, mut is_quoted) = (0_usize, false);
    let parts = text.split(|&(_, c)| {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && !is_quoted
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn item(source: u32, part: &[(usize, char)], found: &mut Diagnostics) -> Option<Item> {
    let (&(start, _), &(last, end)) = (part.first()?, part.last()?);
    let span = Span { source, start, end: last + end.len_utf8() };
    let written: String = part.iter().map(|&(_, c)| c).collect();
    let Some(sign) = part.iter().position(|&(_, c)| c == '=').filter(|&sign| sign > 0) else {
        let message = format!("\"{written}\" is not keyword=value");
        found.error(SYNTAX, span, message, "let lines of text begin with *; a list is in parentheses");
        return None;
    };
    let key: String = part[..sign].iter().map(|&(_, c)| c.to_ascii_lowercase()).collect();
    let value = &part[sign + 1..];
    let is_list = value.first().is_some_and(|&(_, c)| c == '(');
    let inner = match value {
        [(_, '('), inner @ .., (_, ')')] => inner,
        _ if is_list => {
            found.error(SYNTAX, span, format!("the list of {key} has no end"), "close it with )");
            return None;
        }
        bare => bare,
    };
    let text =
        |part: &[(usize, char)]| part.iter().map(|&(_, c)| c).filter(|&c| c != '"').collect::<String>();
    let values: Vec<String> =
        if is_list { split(inner).into_iter().map(text).collect() } else { vec![text(inner)] };
    if let Some(variable) = values.iter().find(|value| value.starts_with(['$', '!'])) {
        let message = format!("nothing stands for {variable}: variables of a command line are not imported");
        found.error(NOT_IMPORTED, span, message, "write its value in its place");
    } else if values.iter().all(String::is_empty) {
        found.error(SYNTAX, span, format!("{key} has no value"), "write keyword=value");
        return None;
    }
    Some(Item { key, values, is_list, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements as `key=value|value`, and the codes of what was found.
    fn check(text: &str, expect: &[&[&str]], codes: &[&str]) {
        let mut found = Diagnostics::default();
        let all = statements(0, text, &mut found);
        let shown: Vec<Vec<String>> = all
            .iter()
            .map(|items| items.iter().map(|item| format!("{}={}", item.key, item.values.join("|"))).collect())
            .collect();
        assert_eq!(shown, expect, "{text}");
        assert_eq!(found.all().iter().map(|one| one.code).collect::<Vec<_>>(), codes, "{text}");
        for item in all.iter().flatten() {
            assert!(text[item.span.start..item.span.end].to_lowercase().starts_with(&item.key), "{item:?}");
        }
    }

    #[test]
    fn lines_become_statements() {
        check("* x\nsd=a,LUN=/dev/b rest\n/ y\n# z\n", &[&["sd=a", "lun=/dev/b"]], &[]);
        check("sd=a, on\n  size=1g\nwd=w", &[&["sd=a", "size=1g"], &["wd=w"]], &[]);
        check("rd=r,forx=(4k-8k,d),x=(1,\n 2)\neof\nrd=s", &[&["rd=r", "forx=4k-8k|d", "x=1|2"]], &[]);
        check("sd=a,lun=\"/tmp/my file,1=2\"", &[&["sd=a", "lun=/tmp/my file,1=2"]], &[]);
        check("some prose\nsd=$x,lun=(a\nsd=", &[&["sd=$x"]], &[SYNTAX, NOT_IMPORTED, SYNTAX, SYNTAX]);
    }
}
