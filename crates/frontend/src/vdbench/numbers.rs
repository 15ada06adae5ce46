//! Numbers and lists as Vdbench writes them: binary suffixes, percentages, ranges. Knows no keyword.

/// Values of one list, at most: more than any run goes through.
const VALUES_MAX: usize = 10_000;

/// A number: `4k`, `1.5g`, `2h`; `m` is a minute where `is_time`, else a mebi. There is no suffix for seconds.
pub(super) fn number(text: &str, is_time: bool) -> Result<f64, String> {
    let wrong = || {
        let seconds = if is_time && text.ends_with(['s', 'S']) { "; seconds have no suffix" } else { "" };
        format!("\"{text}\" is no number{seconds}")
    };
    let lower = text.to_ascii_lowercase();
    let body = lower.strip_suffix('b').filter(|body| body.ends_with(['k', 'm', 'g', 't'])).unwrap_or(&lower);
    let factor = match body.chars().last() {
        Some('k') => 1024.0,
        Some('m') if is_time => 60.0,
        Some('m') => 1024.0 * 1024.0,
        Some('g') => 1024.0 * 1024.0 * 1024.0,
        Some('t') => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        Some('h') => 3600.0,
        _ => 1.0,
    };
    let digits = if factor > 1.0 { &body[..body.len() - 1] } else { body };
    // Rust reads "inf" and "nan" as numbers, which are none here.
    let is_plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let value = digits.parse::<f64>().ok().filter(|value| is_plain && value.is_finite());
    value.map(|value| value * factor).ok_or_else(wrong)
}

/// The numbers of a list: `(1,2,4)`, `(1-9,2)`, `(1-64,d)` or `(64-1,d)`.
pub(super) fn numbers(values: &[String]) -> Result<Vec<f64>, String> {
    let range = |text: &str| {
        let at = text.char_indices().skip(1).find(|&(_, c)| c == '-')?.0;
        Some((text[..at].to_owned(), text[at + 1..].to_owned()))
    };
    let Some((from, to)) = values.first().and_then(|first| range(first)) else {
        return values.iter().map(|value| number(value, false)).collect();
    };
    let [_, step] = values else {
        return Err(format!("the range {from}-{to} has no step; write ({from}-{to},d) or ({from}-{to},N)"));
    };
    let (from, to) = (number(&from, false)?, number(&to, false)?);
    let doubles = step.eq_ignore_ascii_case("d");
    let step = if doubles { 1.0 } else { number(step, false)? };
    if step <= 0.0 || (doubles && (from <= 0.0 || to <= 0.0)) || (!doubles && from > to) {
        return Err("the range never comes to its end".to_owned());
    }
    let next = |value: f64| match (doubles, from > to) {
        (false, _) => value + step,
        (true, false) => value * 2.0,
        (true, true) => value / 2.0,
    };
    let goes_on = |value: &f64| if from > to { *value >= to } else { *value <= to };
    let all: Vec<f64> = std::iter::successors(Some(from), |&value| Some(next(value)))
        .take_while(goes_on)
        .take(VALUES_MAX + 1)
        .collect();
    if all.len() > VALUES_MAX { Err(format!("the range has more than {VALUES_MAX} values")) } else { Ok(all) }
}

/// The places, in `known`, of the names that a list means: each by itself, `sd1-sd9`, or with a `*` at its end.
pub(super) fn chosen(values: &[String], known: &[&str]) -> Result<Vec<usize>, String> {
    let mut all = Vec::new();
    for value in values {
        let place = |name: &str| known.iter().position(|one| *one == name);
        let before = all.len();
        if let Some(head) = value.strip_suffix('*') {
            all.extend((0..known.len()).filter(|&at| known[at].starts_with(head)));
        } else if let Some(at) = place(value) {
            all.push(at);
        } else if let Some((head, numbers)) = value.split_once('-').and_then(|(from, to)| between(from, to)) {
            let known = known.iter().enumerate().filter_map(|(at, name)| Some((at, headed(name)?)));
            let meant = known.filter(|(_, (own, number))| *own == head && numbers.contains(number));
            let mut meant: Vec<(u64, usize)> = meant.map(|(at, (_, number))| (number, at)).collect();
            meant.sort_unstable();
            all.extend(meant.into_iter().map(|(_, at)| at));
        }
        if all.len() == before {
            return Err(format!("nothing is called {value}"));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|at| seen.insert(*at));
    Ok(all)
}

/// The head of `sd1` and `sd9`, which is one, and their numbers.
fn between<'a>(from: &'a str, to: &str) -> Option<(&'a str, std::ops::RangeInclusive<u64>)> {
    let ((head, from), (same, to)) = (headed(from)?, headed(to)?);
    (head == same && from <= to).then_some((head, from..=to))
}

/// A name up to the digits at its end, and their number. In ranges none begins with a zero.
fn headed(name: &str) -> Option<(&str, u64)> {
    let (head, digits) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    if digits.len() > 1 && digits.starts_with('0') { None } else { Some((head, digits.parse().ok()?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_binary_suffixes() {
        for (text, is_time, expect) in [
            ("4k", false, Some(4096.0)),
            ("1.5KB", false, Some(1536.0)),
            ("2m", true, Some(120.0)),
            ("2m", false, Some(2_097_152.0)),
            ("1h", true, Some(3600.0)),
            ("-1", false, Some(-1.0)),
            ("60s", true, None),
            ("", false, None),
            ("inf", false, None),
            ("k", false, None),
        ] {
            assert_eq!(number(text, is_time).ok(), expect, "{text}");
        }
    }

    #[test]
    fn ranges_are_gone_through() {
        for (values, expect) in [
            (&["1-8", "d"][..], Some(vec![1.0, 2.0, 4.0, 8.0])),
            (&["8-1", "d"], Some(vec![8.0, 4.0, 2.0, 1.0])),
            (&["10-100", "30"], Some(vec![10.0, 40.0, 70.0, 100.0])),
            (&["4k", "8k"], Some(vec![4096.0, 8192.0])),
            (&["1-4"], None),
            (&["0-4", "d"], None),
            (&["4-1", "1"], None),
            (&["1-1000000", "1"], None),
            (&["64", "1", "d"], None),
        ] {
            let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
            assert_eq!(numbers(&values).ok(), expect, "{values:?}");
        }
    }

    #[test]
    fn names_are_chosen() {
        let known = ["sd1", "sd2", "sd10", "x"];
        for (value, expect) in [
            ("*", Some(vec![0, 1, 2, 3])),
            ("sd*", Some(vec![0, 1, 2])),
            ("sd1-sd9", Some(vec![0, 1])),
            ("sd10", Some(vec![2])),
            ("s*1", None),
            ("y", None),
        ] {
            assert_eq!(chosen(&[value.to_owned()], &known).ok(), expect, "{value}");
        }
        assert_eq!(chosen(&["x".to_owned(), "*".to_owned()], &known), Ok(vec![3, 0, 1, 2]));
        // The head of a range ends where its last digits begin, and not at the first.
        let known = ["sd1", "sd2", "sd1_3", "sd1_2", "sd1_1", "sd2_1", "sd01", "sd20000"];
        for (value, expect) in [
            ("sd1_1-sd1_4", Some(vec![4, 3, 2])),
            ("sd1-sd30000", Some(vec![0, 1, 7])),
            ("sd1_1-sd2_4", None),
            ("sd01-sd09", None),
        ] {
            assert_eq!(chosen(&[value.to_owned()], &known).ok(), expect, "{value}");
        }
    }
}
