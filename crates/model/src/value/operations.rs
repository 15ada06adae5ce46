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

impl BlockSizes {
    /// `8KiB`, `4KiB..64KiB`, `4KiB..64KiB step 4KiB`, each optionally followed by `N%`.
    fn read_one(text: &str) -> Result<(f64, Bytes, Bytes, Bytes), String> {
        let (sizes, weight) = match text.trim().strip_suffix('%').and_then(|rest| rest.rsplit_once(' ')) {
            Some((sizes, percent)) => {
                let weight: f64 = percent.parse().map_err(|_| format!("\"{percent}%\" is no share"))?;
                (sizes, weight)
            }
            None => (text.trim(), 1.0),
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
        if max < min || step.0 == 0 {
            return Err(format!("\"{text}\" is no range of sizes"));
        }
        Ok((weight, min, max, step))
    }
}

impl OptionValue for BlockSizes {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let one = |literal: &Literal| match literal {
            Literal::Integer(_) => Bytes::read(literal, kind).map(|size| (1.0, size, size, size)),
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
        if sizes.iter().all(|&(weight, ..)| weight == 0.0) {
            return Err("all shares are 0%".to_owned());
        }
        Ok(Self { sizes })
    }
    fn print(&self) -> String {
        let one = |&(weight, min, max, step): &(f64, Bytes, Bytes, Bytes), with_weight: bool| {
            let mut text = min.to_string().replace(' ', "");
            if max != min {
                text += &format!("..{max}").replace(' ', "");
                if step != min {
                    text += &format!(" step {}", step.to_string().replace(' ', ""));
                }
            }
            if with_weight {
                text += &format!(" {weight}%");
            }
            format!("{text:?}")
        };
        match self.sizes.as_slice() {
            [only] => one(only, false),
            many => format!("[{}]", many.iter().map(|size| one(size, true)).collect::<Vec<_>>().join(", ")),
        }
    }
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
        if (sum - 100.0).abs() > SHARES_OFF_MAX {
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
