//! What operations are: access, sizes, the lines of a mix.

use super::{Access, BlockSizes, MixLine, text};
use crate::check::BLOCK_SIZE_MAX;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Ratio};

impl OptionValue for Access {
    /// `sequential`, `random`, or `55% random`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        if let Literal::Integer(_) | Literal::Float(_) = literal {
            let what = literal.describe();
            return Err(format!("{what} is not sequential or random; did you mean \"{what}% random\"?"));
        }
        let text = text(literal)?;
        let random = match text.trim() {
            "sequential" => Ratio::ZERO,
            "random" => Ratio::ONE,
            other => match other.strip_suffix("random").map(str::trim_end) {
                Some(share) => share.parse().map_err(|error| format!("{error}"))?,
                None => return Err(format!("\"{text}\" is not sequential, random or \"N% random\"")),
            },
        };
        Ok(Self { random })
    }
    fn print(&self) -> String {
        match self.random {
            Ratio::ZERO => "\"sequential\"".to_owned(),
            Ratio::ONE => "\"random\"".to_owned(),
            share => format!("\"{share} random\""),
        }
    }
}

/// One entry of a list of sizes: its share, where it has one, then smallest, largest and step.
type Entry = (Option<f64>, Bytes, Bytes, Bytes);

impl BlockSizes {
    /// `8KiB`, `4KiB..64KiB`, `4KiB..64KiB step 4KiB`, each optionally followed by `N%`.
    fn read_one(text: &str) -> Result<Entry, String> {
        let (sizes, weight) = match text.trim().strip_suffix('%').and_then(|rest| rest.rsplit_once(' ')) {
            Some((sizes, percent)) => {
                let weight = percent.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
                (sizes, Some(weight.ok_or_else(|| format!("\"{percent}%\" is no share"))?))
            }
            None => (text.trim(), None),
        };
        let size = |text: &str| text.parse::<Bytes>().map_err(|error| error.to_string());
        let Some((min, rest)) = sizes.split_once("..") else {
            let fixed = size(sizes)?;
            return Ok((weight, fixed, fixed, fixed));
        };
        let min = size(min)?;
        let (max, step) = match rest.split_once("step") {
            Some((max, step)) => (size(max)?, size(step)?),
            None => (size(rest)?, min),
        };
        if min.0 == 0 || step.0 == 0 {
            return Err(format!("\"{text}\" begins, or goes on, by no byte"));
        }
        if max < min {
            return Err(format!("\"{text}\" ends below where it begins; write the smaller size first"));
        }
        Ok((weight, min, max, step))
    }
}

impl OptionValue for BlockSizes {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let one = |literal: &Literal| match literal {
            Literal::Integer(_) => Bytes::read(literal, kind).map(|size| (None, size, size, size)),
            other => Self::read_one(text(other)?),
        };
        let sizes = match literal {
            Literal::List(items) => {
                items.iter().map(|item| one(&item.value)).collect::<Result<Vec<_>, _>>()?
            }
            single => vec![one(single)?],
        };
        if sizes.is_empty() {
            return Err("the list of sizes is empty".to_owned());
        }
        let ends = sizes.iter().flat_map(|&(_, min, max, _)| [min, max]);
        if let Some(size) = ends.into_iter().find(|&size| size.0 == 0 || size > BLOCK_SIZE_MAX) {
            return Err(format!("size {size} is outside 1 B to {BLOCK_SIZE_MAX}"));
        }
        let shares: Vec<Option<f64>> = sizes.iter().map(|size| size.0).collect();
        let shares = shares_of_all(&shares)?;
        let sizes = shares.into_iter().zip(sizes);
        Ok(Self { sizes: sizes.map(|(share, (_, min, max, step))| (share, min, max, step)).collect() })
    }
    /// Shares are left out where none was said, and otherwise printed so that they add up to what reading asks for.
    fn print(&self) -> String {
        let sum: f64 = self.sizes.iter().map(|size| size.0).sum();
        let scale = if is_all(sum) { 1.0 } else { 100.0 / sum };
        let are_equal = self.sizes.iter().all(|size| size.0.total_cmp(&EQUAL_PART).is_eq());
        let one = |&(weight, min, max, step): &(f64, Bytes, Bytes, Bytes)| {
            let mut text = min.to_string().replace(' ', "");
            if max != min {
                text += &format!("..{max}").replace(' ', "");
                if step != min {
                    text += &format!(" step {}", step.to_string().replace(' ', ""));
                }
            }
            if !are_equal {
                text += &format!(" {}%", weight * scale);
            }
            format!("{text:?}")
        };
        match self.sizes.as_slice() {
            [only] => one(only),
            many => format!("[{}]", many.iter().map(one).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// The shares of a list's entries, per cent: those that say none divide what the others leave, and where none says one all
/// are equal parts. Scaled silently, a slip of the pen would be measured as other sizes than were written.
fn shares_of_all(given: &[Option<f64>]) -> Result<Vec<f64>, String> {
    let silent = given.iter().filter(|share| share.is_none()).count();
    if silent == given.len() {
        return Ok(vec![EQUAL_PART; given.len()]);
    }
    let sum: f64 = given.iter().flatten().sum();
    let shown = (sum * 1e6).round() / 1e6;
    if silent > 0 && sum >= 100.0 - SHARES_OFF_MAX {
        let which = if silent == 1 { "the size".to_owned() } else { format!("the {silent} sizes") };
        return Err(format!(
            "the shares of the sizes add up to {shown} %, which leaves nothing of 100 % for {which} without a share; \
             lower the shares, or give each size its own"
        ));
    }
    if silent == 0 && !is_all(sum) {
        return Err(format!(
            "the shares of the sizes add up to {shown} %, and have to be 100 % together; correct them, or leave out the \
             share of the size that takes the rest"
        ));
    }
    if given.len() == 1 {
        return Ok(vec![EQUAL_PART]);
    }
    #[expect(clippy::cast_precision_loss, reason = "entries of a list that somebody wrote")]
    let rest = (100.0 - sum) / silent as f64;
    Ok(given.iter().map(|share| share.unwrap_or(rest)).collect())
}

/// The weight of each size of a list that says no shares.
const EQUAL_PART: f64 = 1.0;

/// Whether shares are all there is together.
fn is_all(sum: f64) -> bool {
    (sum - 100.0).abs() <= SHARES_OFF_MAX
}

impl OptionValue for Vec<MixLine> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let Literal::List(items) = literal else {
            return Err(format!("{} is not a list of lines", literal.describe()));
        };
        if items.is_empty() {
            return Err("the mix has no lines".to_owned());
        }
        let lines: Vec<MixLine> =
            items.iter().map(|item| mix_line(&item.value, kind)).collect::<Result<_, _>>()?;
        // Scaled silently, a slip of the pen would be measured as another mix than was written.
        let sum: f64 = lines.iter().map(|line| line.share).sum();
        if !is_all(sum) {
            let sum = (sum * 1e6).round() / 1e6;
            return Err(format!("the shares of the lines add up to {sum} %, and have to be 100 % together"));
        }
        Ok(lines)
    }
    fn print(&self) -> String {
        let lines: Vec<String> = self
            .iter()
            .map(|MixLine { share, block_size, read, trim, access, align, reply }| {
                let trim =
                    if *trim == Ratio::ZERO { String::new() } else { format!(", trim = {}", trim.print()) };
                let align =
                    align.as_ref().map_or_else(String::new, |align| format!(", align = {}", align.print()));
                let reply =
                    reply.as_ref().map_or_else(String::new, |reply| format!(", reply = {}", reply.print()));
                format!(
                    "{{ share = \"{share}%\", block_size = {}, read = {}{trim}, access = {}{align}{reply} }}",
                    block_size.print(),
                    read.print(),
                    access.print()
                )
            })
            .collect();
        format!("[{}]", lines.join(", "))
    }
}

/// What the shares of a mix may be off by, per cent: what binary fractions and printed ones leave.
const SHARES_OFF_MAX: f64 = 1e-4;

/// Bytes of a reply, at most: those of the largest block.
const REPLY_MAX: u64 = 1 << 30;

fn mix_line(literal: &Literal, kind: Kind) -> Result<MixLine, String> {
    let Literal::Table(entries) = literal else {
        return Err(format!("{} is not a line", literal.describe()));
    };
    let mut share = None;
    let mut block_size = None;
    let mut line = MixLine {
        share: 0.0,
        block_size: BlockSizes::fixed(Bytes::kib(4)),
        read: Ratio::ONE,
        trim: Ratio::ZERO,
        access: Access { random: Ratio::ZERO },
        align: None,
        reply: None,
    };
    for (key, value) in entries {
        let value = &value.value;
        match key.value.as_str() {
            "share" => share = Some(Ratio::read(value, kind)?.as_percent()),
            "block_size" => block_size = Some(BlockSizes::read(value, kind)?),
            "read" => line.read = Ratio::read(value, kind)?,
            "trim" => line.trim = Ratio::read(value, kind)?,
            "access" => line.access = Access::read(value, kind)?,
            "align" => line.align = Some(Bytes::read(value, kind)?),
            "reply" => line.reply = Some(Bytes::read(value, kind)?),
            other => {
                return Err(format!(
                    "a line has no \"{other}\"; it has share, block_size, read, trim, access, align, reply"
                ));
            }
        }
    }
    line.share = share.ok_or("a line needs a share, e.g. share = \"10%\"")?;
    line.block_size = block_size.ok_or("a line needs a block_size")?;
    if let Some(align) = line.align
        && !(1..=u64::from(u32::MAX)).contains(&align.0)
    {
        return Err(format!("align {align} is not from 1 byte to below 4 GiB"));
    }
    if let Some(reply) = line.reply
        && !(1..=REPLY_MAX).contains(&reply.0)
    {
        return Err(format!("reply {reply} is not from 1 byte to 1 GiB"));
    }
    if line.read.value() + line.trim.value() > 1.0 + 1e-9 {
        return Err(format!("read {} and trim {} are more than all", line.read, line.trim));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Span, Spanned};

    /// The rest goes to who says none, as in fio's `bssplit`; what is not 100 % is never scaled in silence.
    #[test]
    fn shares_of_sizes_add_up_or_are_told() {
        fn list(texts: &[&str]) -> Result<BlockSizes, String> {
            let item = |text: &&str| Spanned { value: Literal::from(*text), span: Span::default() };
            BlockSizes::read(&Literal::List(texts.iter().map(item).collect()), Kind::Text)
        }
        fn check(texts: &[&str], expect: Result<&[f64], &str>, printed: &str) {
            match (list(texts), expect) {
                (Ok(sizes), Ok(expect)) => {
                    let shares: Vec<f64> = sizes.sizes.iter().map(|size| size.0).collect();
                    assert_eq!(shares, expect, "{texts:?}");
                    assert_eq!(sizes.print(), printed, "{texts:?}");
                }
                (Err(reason), Err(says)) => assert!(reason.contains(says), "{texts:?}: {reason}"),
                (found, expect) => panic!("{texts:?}: {found:?}, and not {expect:?}"),
            }
        }
        check(&["4KiB 50%", "64KiB"], Ok(&[50.0, 50.0]), r#"["4KiB 50%", "64KiB 50%"]"#);
        check(
            &["4KiB 30%", "8KiB", "16KiB"],
            Ok(&[30.0, 35.0, 35.0]),
            r#"["4KiB 30%", "8KiB 35%", "16KiB 35%"]"#,
        );
        check(&["4KiB", "8KiB", "16KiB"], Ok(&[1.0, 1.0, 1.0]), r#"["4KiB", "8KiB", "16KiB"]"#);
        check(&["4KiB 0%", "8KiB 100%"], Ok(&[0.0, 100.0]), r#"["4KiB 0%", "8KiB 100%"]"#);
        check(&["4KiB 100%"], Ok(&[1.0]), "\"4KiB\"");
        check(
            &["4KiB 33.3333%", "8KiB 66.66665%"],
            Ok(&[33.3333, 66.66665]),
            r#"["4KiB 33.3333%", "8KiB 66.66665%"]"#,
        );
        check(
            &["4KiB 50%", "8KiB 40%"],
            Err("add up to 90 %, and have to be 100 % together; correct them"),
            "",
        );
        check(&["4KiB 60%", "8KiB 60%"], Err("add up to 120 %"), "");
        check(&["4KiB 1%", "1MiB 2%"], Err("add up to 3 %"), "");
        check(&["4KiB 30%"], Err("add up to 30 %"), "");
        check(&["4KiB 0%", "8KiB 0%"], Err("add up to 0 %"), "");
        check(&["4KiB 60%", "8KiB 40%", "16KiB"], Err("leaves nothing of 100 % for the size without"), "");
        check(&["4KiB 110%", "8KiB", "16KiB"], Err("leaves nothing of 100 % for the 2 sizes without"), "");
        check(&["4KiB -10%", "8KiB 110%"], Err("\"-10%\" is no share"), "");
        check(&["4KiB inf%", "8KiB"], Err("\"inf%\" is no share"), "");
        // What other dialects weigh otherwise is printed so that it reads back.
        let size = |weight, size: Bytes| (weight, size, size, size);
        let vdbench = BlockSizes { sizes: vec![size(1.0, Bytes::kib(4)), size(3.0, Bytes::kib(8))] };
        assert_eq!(vdbench.print(), r#"["4KiB 25%", "8KiB 75%"]"#);
        let line = |sizes: &str| {
            let entry = |key: &str, value: Literal| {
                let span = Span::default();
                (Spanned { value: key.to_owned(), span }, Spanned { value, span })
            };
            let span = Span::default();
            let item = |text: &str| Spanned { value: Literal::from(text), span };
            let sizes = Literal::List(sizes.split('|').map(item).collect());
            let table = vec![entry("share", Literal::from("100%")), entry("block_size", sizes)];
            Vec::<MixLine>::read(
                &Literal::List(vec![Spanned { value: Literal::Table(table), span }]),
                Kind::Text,
            )
        };
        assert!(line("4KiB 50%|8KiB").is_ok());
        assert!(line("4KiB 50%|8KiB 40%").unwrap_err().contains("add up to 90 %"));
    }
}
