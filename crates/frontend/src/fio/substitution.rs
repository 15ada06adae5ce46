//! What fio replaces in a line before it reads it: `${VARIABLE}`, `$ncpus`, `$pagesize`, `$mb_memory`, and arithmetic on the
//! latter. fio pipes that through `bc`; here it is reckoned in place, in whole numbers as `bc` does.

use super::Surroundings;

/// The line with `${VARIABLE}` replaced; an unknown variable is empty, as in fio.
pub(crate) fn variables(line: &str, surroundings: &Surroundings<'_>) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        text.push_str(&rest[..at]);
        text.push_str(&(surroundings.variable)(&rest[at + 2..at + length]).unwrap_or_default());
        rest = &rest[at + length + 1..];
    }
    text + rest
}

/// The value with fio's keywords replaced and, where one was, reckoned. Fails when that is no arithmetic.
pub(crate) fn keywords(value: &str, surroundings: &Surroundings<'_>) -> Result<String, String> {
    let mut text = value.to_owned();
    let keywords = [
        ("$pagesize", surroundings.page_size_bytes),
        ("$mb_memory", surroundings.memory_mib),
        ("$ncpus", u64::from(surroundings.cpus)),
    ];
    for (keyword, number) in keywords {
        text = text.replace(keyword, &number.to_string());
    }
    if text == value || text.contains('\'') || !text.contains(['+', '-', '*', '/']) {
        return Ok(text);
    }
    let mut reckoner = Reckoner { text: text.as_bytes(), at: 0, depth: 0 };
    match reckoner.sum() {
        Some(result) if reckoner.next().is_none() => Ok(result.to_string()),
        _ => Err(format!("\"{text}\" cannot be reckoned: whole numbers with + - * / and parentheses can")),
    }
}

/// Recursion of parentheses, at most: a line is at most 8 KiB of them otherwise.
const DEPTH_MAX: u32 = 64;

struct Reckoner<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

impl Reckoner<'_> {
    fn next(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|&b| b == b' ' || b == b'\t') {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn sum(&mut self) -> Option<i64> {
        let mut total = self.product()?;
        while let Some(operator @ (b'+' | b'-')) = self.next() {
            self.at += 1;
            let term = self.product()?;
            total = if operator == b'+' { total.checked_add(term)? } else { total.checked_sub(term)? };
        }
        Some(total)
    }

    fn product(&mut self) -> Option<i64> {
        let mut total = self.factor()?;
        while let Some(operator @ (b'*' | b'/')) = self.next() {
            self.at += 1;
            let factor = self.factor()?;
            total = if operator == b'*' { total.checked_mul(factor)? } else { total.checked_div(factor)? };
        }
        Some(total)
    }

    fn factor(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let value = match self.next()? {
            b'-' => {
                self.at += 1;
                self.factor()?.checked_neg()?
            }
            b'(' => {
                self.at += 1;
                let inner = self.sum()?;
                if self.next()? != b')' {
                    return None;
                }
                self.at += 1;
                inner
            }
            _ => {
                let start = self.at;
                while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
                    self.at += 1;
                }
                std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()?
            }
        };
        self.depth -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expect: Option<&str>) {
        let variable = |name: &str| (name == "DISK").then(|| "/dev/sdb".to_owned());
        let surroundings = Surroundings {
            variable: &variable,
            cpus: 4,
            page_size_bytes: 4096,
            memory_mib: 1000,
            ..Surroundings::empty()
        };
        let got = keywords(&variables(value, &surroundings), &surroundings).ok();
        assert_eq!(got.as_deref(), expect, "{value}");
    }

    #[test]
    fn lines_are_filled_in() {
        check("filename=${DISK}p1", Some("filename=/dev/sdbp1"));
        check("x${NONE}y${", Some("xy${"));
        check("$ncpus", Some("4"));
        check("$ncpus*2+1", Some("9"));
        check("2*($ncpus - 1)/4", Some("1"));
        check("-$ncpus+10", Some("6"));
        check("$mb_memory*1024", Some("1024000"));
        check("$pagesize", Some("4096"));
        check("4k-8k", Some("4k-8k"));
        check("$ncpus/0", None);
        check("$ncpus*2k", None);
        check(&format!("{}$ncpus+1", "(".repeat(500)), None);
    }
}
