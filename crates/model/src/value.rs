//! The types that option values have, how they are read from literals and printed back.

use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, Ratio};
use std::fmt::Display;
use std::str::FromStr;

/// Declares an option type that is one of a few words.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        $type:ident { $( $(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal $(| $alias:literal)*, )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type { $( $(#[doc = $variant_doc])+ $variant, )+ }

        impl $type {
            /// The words, in declaration order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The word of this value.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        impl OptionValue for $type {
            fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
                match text(literal)? {
                    $( $word $(| $alias)* => Ok(Self::$variant), )+
                    other => Err(format!("\"{other}\" is not one of {}", Self::WORDS.join(", "))),
                }
            }
            fn print(&self) -> String { format!("{:?}", self.word()) }
        }
    };
}

choice! {
    /// Which engine moves the bytes.
    Engine {
        /// fathom chooses: `io_uring` where it works, else libaio with direct I/O, else psync.
        Auto = "auto",
        /// Nothing is moved.
        Null = "null",
        /// A simulated device in virtual time.
        Sim = "sim",
        /// `pread`/`pwrite`.
        Psync = "psync" | "sync",
        /// `io_uring`.
        IoUring = "io_uring",
        /// Linux native AIO.
        Libaio = "libaio",
    }
}
choice! {
    /// What a target is.
    TargetKind {
        /// Told by what is at the path; a file when nothing is.
        Auto = "auto",
        /// A regular file.
        File = "file",
        /// A block device.
        Block = "block",
        /// A directory tree of many files.
        Tree = "tree",
        /// Completes at once.
        Null = "null",
        /// A simulated device.
        Sim = "sim",
    }
}
choice! {
    /// What is done to a file before the run.
    Layout {
        /// What is missing is written with real data.
        Written = "written",
        /// Space is allocated, not written.
        Allocated = "allocated",
        /// Only created.
        Created = "created",
        /// Nothing; it must be there.
        MustExist = "must-exist",
    }
}
choice! {
    /// Whether random operations repeat a block before all were touched.
    Coverage {
        /// Each draw is independent.
        Independent = "independent",
        /// Every block once per pass.
        OncePerPass = "once-per-pass",
    }
}
choice! {
    /// Whose sequential position an operation continues from.
    Cursor {
        /// One for all kinds.
        Shared = "shared",
        /// One per kind.
        PerKind = "per-kind",
    }
}
choice! {
    /// How different one write is from the next.
    Freshness {
        /// New content for every write.
        Every = "every",
        /// A few bytes changed in every 512.
        Scrambled = "scrambled",
        /// Always the same.
        Never = "never",
    }
}
choice! {
    /// What a completed write promises.
    Durability {
        /// Nothing.
        None = "none",
        /// Data is stable (`O_DSYNC`).
        Data = "data",
        /// Data and metadata are stable (`O_SYNC`).
        All = "all",
    }
}
choice! {
    /// Spacing of arrivals at a rate.
    Arrival {
        /// Every 1/rate seconds.
        Constant = "constant" | "deterministic",
        /// Exponential gaps.
        Poisson = "poisson" | "exponential",
        /// Gaps uniform between 0 and 2/rate.
        Uniform = "uniform",
    }
}
choice! {
    /// How several workers of a stream divide its region.
    WorkerRegions {
        /// Sequential: each has its own equal slice; random: all cover the region together.
        Split = "split",
        /// Each works on the whole region for itself, as fio's clones do.
        Same = "same",
    }
}
choice! {
    /// Where in a directory tree the files lie.
    TreeDistribution {
        /// Only in the deepest directories.
        Bottom = "bottom",
        /// In all directories.
        All = "all",
    }
}

/// A size, or a share of what is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// This many bytes.
    Bytes(Bytes),
    /// This share.
    Share(Ratio),
}

/// Share of operations that go to a random place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// 0: sequential; 1: random.
    pub random: Ratio,
}

/// Sizes of operations with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizes {
    /// Weight (any positive scale), smallest, largest and step; smallest = largest for a fixed size.
    pub sizes: Vec<(f64, Bytes, Bytes, Bytes)>,
}

impl BlockSizes {
    /// One fixed size.
    pub fn fixed(size: Bytes) -> Self {
        Self { sizes: vec![(1.0, size, size, size)] }
    }
}

/// One line of a mix: a share of the operations with sizes, operation mix and access of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct MixLine {
    /// Share of all operations; the shares of all lines are scaled to sum to 1.
    pub share: f64,
    /// Sizes of the line's operations.
    pub block_size: BlockSizes,
    /// Share of reads within the line.
    pub read: Ratio,
    /// Share of trims within the line; the rest are writes.
    pub trim: Ratio,
    /// Access within the line.
    pub access: Access,
}

/// When operations are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As fast as slots free up (closed loop).
    Max,
    /// Operations per second of the whole stream.
    Operations(Iops),
    /// Bytes per second of the whole stream.
    Bandwidth(BytesPerSec),
    /// A share of the maximum that an earlier point of the stage found.
    OfMaximum(Ratio),
}

/// Where random operations go.
#[derive(Debug, Clone, PartialEq)]
pub enum RandomDistribution {
    /// Every block alike.
    Uniform,
    /// `zipf:THETA`.
    Zipf(f64),
    /// `pareto:H`.
    Pareto(f64),
    /// `normal:DEVIATION%`.
    Normal(Ratio),
    /// `zoned:ACCESS%/SPAN%,…`.
    Zoned(Vec<(Ratio, Ratio)>),
}

/// What writes carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentSource {
    /// Incompressible.
    Random,
    /// All zero.
    Zero,
    /// These bytes repeated.
    Pattern(Vec<u8>),
}

/// In which order a worker visits its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrder {
    /// `round-robin` or `round-robin:N`: N operations on each in turn.
    RoundRobin(u32),
    /// `sequential`: one to its end, then the next.
    Sequential,
    /// `random` or `random:N`: one at random for every N operations.
    Random(u32),
}

/// Seed of everything random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// The same sequence in every run.
    Fixed(u64),
    /// Another sequence in every run; the record says which.
    Fresh,
}

/// What an I/O error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// `stop`: the first error ends the run.
    Stop,
    /// A number: errors are counted up to it.
    Count(u64),
}

/// Service time of a simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceTime {
    /// `constant 100us`.
    Constant(Nanos),
    /// `exponential 100us`: with this mean.
    Exponential(Nanos),
    /// `uniform 50us..150us`.
    Uniform(Nanos, Nanos),
}

/// Lists of values that a stage goes through, first written outermost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep {
    /// Option path (`stream.queue_depth`, `stream.NAME.queue_depth`) and the values in order.
    pub dimensions: Vec<(String, Vec<Literal>)>,
}

fn text(literal: &Literal) -> Result<&str, String> {
    match literal {
        Literal::Text(text) => Ok(text),
        other => Err(format!("{} is not a text", other.describe())),
    }
}

fn quantity<T: FromStr>(literal: &Literal) -> Result<T, String>
where
    T::Err: Display,
{
    text(literal)?.parse().map_err(|error: T::Err| error.to_string())
}

/// Implements `OptionValue` for a quantity of `fathom-units` that is written as a text.
macro_rules! quantity_option {
    ($($type:ty),+) => { $(
        impl OptionValue for $type {
            fn read(literal: &Literal, _: Kind) -> Result<Self, String> { quantity(literal) }
            fn print(&self) -> String { format!("\"{self}\"").replace(' ', "") }
        }
    )+ };
}
quantity_option!(Nanos, Ratio);

impl OptionValue for Bytes {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        match literal {
            Literal::Integer(n) => u64::try_from(*n).map(Bytes).map_err(|_| format!("{n} is negative")),
            other => quantity(other),
        }
    }
    fn print(&self) -> String {
        format!("\"{self}\"").replace(' ', "")
    }
}

impl OptionValue for String {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        text(literal).map(str::to_owned)
    }
    fn print(&self) -> String {
        format!("{self:?}")
    }
}

impl OptionValue for bool {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        match literal {
            Literal::Boolean(flag) => Ok(*flag),
            other => Err(format!("{} is not true or false", other.describe())),
        }
    }
    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for u64 {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let Literal::Integer(n) = literal else {
            return Err(format!("{} is not a whole number", literal.describe()));
        };
        let value = Self::try_from(*n).map_err(|_| format!("{n} is negative"))?;
        match kind {
            Kind::Count { min, .. } if value < min => Err(format!("{value} is below {min}")),
            Kind::Count { max, .. } if value > max => Err(format!("{value} is above {max}")),
            _ => Ok(value),
        }
    }
    fn print(&self) -> String {
        self.to_string()
    }
}

impl OptionValue for u32 {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let value = u64::read(literal, kind)?;
        Self::try_from(value).map_err(|_| format!("{value} is above {}", Self::MAX))
    }
    fn print(&self) -> String {
        self.to_string()
    }
}

/// A signed distance in bytes.
impl OptionValue for i64 {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let Literal::Text(text) = literal else {
            return match literal {
                Literal::Integer(n) => Ok(*n),
                other => Err(format!("{} is not a distance", other.describe())),
            };
        };
        let (negative, size) =
            text.trim().strip_prefix('-').map_or((false, text.as_str()), |rest| (true, rest));
        let Bytes(bytes) = size.parse::<Bytes>().map_err(|error| error.to_string())?;
        let distance = Self::try_from(bytes).map_err(|_| format!("\"{text}\" is outside 63 bits"))?;
        Ok(if negative { -distance } else { distance })
    }
    fn print(&self) -> String {
        format!("\"{}{}\"", if *self < 0 { "-" } else { "" }, Bytes(self.unsigned_abs())).replace(' ', "")
    }
}

impl OptionValue for Vec<String> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => items.iter().map(|item| String::read(&item.value, kind)).collect(),
            one => Ok(vec![String::read(one, kind)?]),
        }
    }
    fn print(&self) -> String {
        match self.as_slice() {
            [one] => format!("{one:?}"),
            many => format!("{many:?}"),
        }
    }
}

/// CPU numbers.
impl OptionValue for Vec<u32> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => items.iter().try_fold(Self::new(), |mut all, item| {
                all.extend(Self::read(&item.value, kind)?);
                Ok(all)
            }),
            Literal::Integer(n) => {
                Ok(vec![u32::try_from(*n).map_err(|_| format!("{n} is no number of a CPU"))?])
            }
            Literal::Text(text) => {
                let number = |part: &str| {
                    part.trim().parse::<u32>().map_err(|_| format!("\"{part}\" is no whole number"))
                };
                text.split(',').try_fold(Self::new(), |mut all, part| {
                    match part.split_once('-') {
                        Some((first, last)) => all.extend(number(first)?..=number(last)?),
                        None => all.push(number(part)?),
                    }
                    Ok(all)
                })
            }
            other => Err(format!("{} is not a list of whole numbers", other.describe())),
        }
    }
    fn print(&self) -> String {
        format!("{self:?}")
    }
}

impl OptionValue for Amount {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::Text(text) if text.trim_end().ends_with('%') => {
                Ratio::read(literal, kind).map(Self::Share)
            }
            other => Bytes::read(other, kind).map(Self::Bytes),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Bytes(bytes) => bytes.print(),
            Self::Share(share) => share.print(),
        }
    }
}

impl OptionValue for Access {
    /// `sequential`, `random`, or `55% random`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
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
        let sizes = match literal {
            Literal::List(items) => items
                .iter()
                .map(|item| Self::read(&item.value, kind).map(|sizes| sizes.sizes))
                .collect::<Result<Vec<_>, _>>()?
                .concat(),
            Literal::Integer(_) => vec![Bytes::read(literal, kind).map(|size| (1.0, size, size, size))?],
            other => vec![Self::read_one(text(other)?)?],
        };
        if sizes.is_empty() {
            return Err("the list of sizes is empty".to_owned());
        }
        if let Some((_, min, ..)) =
            sizes.iter().find(|(_, min, max, _)| min.0 == 0 || max.0 > u64::from(u32::MAX))
        {
            return Err(format!("size {min} is outside 1 B to 4 GiB − 1 B"));
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
        items.iter().map(|item| mix_line(&item.value, kind)).collect()
    }
    fn print(&self) -> String {
        let lines: Vec<String> = self
            .iter()
            .map(|MixLine { share, block_size, read, trim, access }| {
                let trim =
                    if *trim == Ratio::ZERO { String::new() } else { format!(", trim = {}", trim.print()) };
                format!(
                    "{{ share = \"{share}%\", block_size = {}, read = {}{trim}, access = {} }}",
                    block_size.print(),
                    read.print(),
                    access.print()
                )
            })
            .collect();
        format!("[{}]", lines.join(", "))
    }
}

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
    };
    for (key, value) in entries {
        let value = &value.value;
        match key.value.as_str() {
            "share" => share = Some(Ratio::read(value, kind)?.as_percent()),
            "block_size" => block_size = Some(BlockSizes::read(value, kind)?),
            "read" => line.read = Ratio::read(value, kind)?,
            "trim" => line.trim = Ratio::read(value, kind)?,
            "access" => line.access = Access::read(value, kind)?,
            other => {
                return Err(format!(
                    "a line has no \"{other}\"; it has share, block_size, read, trim, access"
                ));
            }
        }
    }
    line.share = share.ok_or("a line needs a share, e.g. share = \"10%\"")?;
    line.block_size = block_size.ok_or("a line needs a block_size")?;
    if line.read.value() + line.trim.value() > 1.0 + 1e-9 {
        return Err(format!("read {} and trim {} are more than all", line.read, line.trim));
    }
    Ok(line)
}

impl OptionValue for Rate {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let rate = match literal {
            Literal::Integer(n) if *n > 0 => Self::Operations(Iops(*n as f64)),
            Literal::Float(x) if *x > 0.0 => Self::Operations(Iops(*x)),
            Literal::Integer(_) | Literal::Float(_) => {
                return Err(format!(
                    "a rate of {} never comes; write \"max\" for no limit",
                    literal.describe()
                ));
            }
            Literal::Text(text) if text == "max" => Self::Max,
            Literal::Text(text) if text.ends_with('%') => Self::OfMaximum(Ratio::read(literal, kind)?),
            Literal::Text(text) => match text.parse::<BytesPerSec>() {
                Ok(rate) if text.trim_end_matches("/s").ends_with('B') => Self::Bandwidth(rate),
                _ => Self::Operations(text.parse().map_err(|error| format!("{error}"))?),
            },
            other => return Err(format!("{} is not a rate", other.describe())),
        };
        match rate {
            Self::Operations(Iops(rate)) | Self::Bandwidth(BytesPerSec(rate))
                if rate <= 0.0 || !rate.is_finite() =>
            {
                Err(format!("a rate of {} never comes; write \"max\" for no limit", literal.describe()))
            }
            Self::OfMaximum(Ratio::ZERO) => Err("0% of the maximum never comes".to_owned()),
            rate => Ok(rate),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Max => "\"max\"".to_owned(),
            Self::Operations(Iops(rate)) => format!("\"{rate}/s\""),
            Self::Bandwidth(BytesPerSec(rate)) => format!("\"{rate}B/s\""),
            Self::OfMaximum(share) => share.print(),
        }
    }
}

impl OptionValue for Vec<Ratio> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => items.iter().map(|item| Ratio::read(&item.value, kind)).collect(),
            one => Ok(vec![Ratio::read(one, kind)?]),
        }
    }
    fn print(&self) -> String {
        format!("[{}]", self.iter().map(OptionValue::print).collect::<Vec<_>>().join(", "))
    }
}

impl OptionValue for RandomDistribution {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let number = || value.trim().parse::<f64>().map_err(|_| format!("\"{value}\" is no number"));
        match name {
            "uniform" => Ok(Self::Uniform),
            "zipf" => match number()? {
                theta if theta > 0.0 && theta != 1.0 && theta.is_finite() => Ok(Self::Zipf(theta)),
                theta => Err(format!("zipf needs a theta above 0 and not 1; {theta} is not")),
            },
            "pareto" => match number()? {
                h if h > 0.0 && h < 1.0 => Ok(Self::Pareto(h)),
                h => Err(format!("pareto needs h between 0 and 1; {h} is not")),
            },
            "normal" => match value.trim().parse::<Ratio>().map_err(|error| error.to_string())? {
                Ratio::ZERO => Err("a normal distribution needs a deviation above 0%".to_owned()),
                deviation => Ok(Self::Normal(deviation)),
            },
            "zoned" => zones(value).map(Self::Zoned),
            other => {
                Err(format!("unknown distribution \"{other}\"; use uniform, zipf, pareto, normal or zoned"))
            }
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Uniform => "\"uniform\"".to_owned(),
            Self::Zipf(theta) => format!("\"zipf:{theta}\""),
            Self::Pareto(h) => format!("\"pareto:{h}\""),
            Self::Normal(deviation) => format!("\"normal:{deviation}\""),
            Self::Zoned(zones) => {
                let zones: Vec<String> =
                    zones.iter().map(|(access, span)| format!("{access}/{span}")).collect();
                format!("\"zoned:{}\"", zones.join(","))
            }
        }
    }
}

fn zones(text: &str) -> Result<Vec<(Ratio, Ratio)>, String> {
    let zones: Vec<(Ratio, Ratio)> = text
        .split(',')
        .map(|zone| {
            let (access, span) =
                zone.split_once('/').ok_or(format!("zone \"{zone}\" is not ACCESS%/SPAN%"))?;
            let share = |text: &str| text.trim().parse::<Ratio>().map_err(|error| error.to_string());
            Ok((share(access)?, share(span)?))
        })
        .collect::<Result<_, String>>()?;
    let sums = zones.iter().fold((0.0, 0.0), |(a, s), (access, span)| (a + access.value(), s + span.value()));
    if (sums.0 - 1.0_f64).abs() > 1e-6 || (sums.1 - 1.0_f64).abs() > 1e-6 {
        return Err(format!(
            "the zones sum to {:.1}% of accesses and {:.1}% of the span, not 100%",
            sums.0 * 100.0,
            sums.1 * 100.0
        ));
    }
    Ok(zones)
}

impl OptionValue for ContentSource {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        match text(literal)? {
            "random" => Ok(Self::Random),
            "zero" => Ok(Self::Zero),
            other => match other.strip_prefix("0x") {
                Some(hex) if !hex.is_empty() && hex.len() % 2 == 0 => (0..hex.len())
                    .step_by(2)
                    .map(|at| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                    .collect::<Option<Vec<u8>>>()
                    .map(Self::Pattern)
                    .ok_or_else(|| format!("\"{other}\" is not hexadecimal")),
                _ => Err(format!("\"{other}\" is not random, zero or a pattern such as 0xdeadbeef")),
            },
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Random => "\"random\"".to_owned(),
            Self::Zero => "\"zero\"".to_owned(),
            Self::Pattern(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("\"0x{hex}\"")
            }
        }
    }
}

impl OptionValue for FileOrder {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => {
                let count = count.parse::<u32>().ok().filter(|&n| n > 0);
                (name, count.ok_or_else(|| format!("\"{text}\" does not end in a whole number from 1"))?)
            }
            None => (text, 1),
        };
        match name {
            "round-robin" => Ok(Self::RoundRobin(count)),
            "sequential" => Ok(Self::Sequential),
            "random" => Ok(Self::Random(count)),
            other => Err(format!("\"{other}\" is not one of round-robin, sequential, random")),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::RoundRobin(1) => "\"round-robin\"".to_owned(),
            Self::RoundRobin(n) => format!("\"round-robin:{n}\""),
            Self::Sequential => "\"sequential\"".to_owned(),
            Self::Random(1) => "\"random\"".to_owned(),
            Self::Random(n) => format!("\"random:{n}\""),
        }
    }
}

impl OptionValue for Seed {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::Text(text) if text == "fresh" => Ok(Self::Fresh),
            other => u64::read(other, kind).map(Self::Fixed),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Fixed(seed) => seed.to_string(),
            Self::Fresh => "\"fresh\"".to_owned(),
        }
    }
}

impl OptionValue for OnError {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::Text(text) if text == "stop" => Ok(Self::Stop),
            Literal::Integer(_) => u64::read(literal, kind).map(Self::Count),
            other => {
                Err(format!("{} is not \"stop\" or a number of errors to count up to", other.describe()))
            }
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Stop => "\"stop\"".to_owned(),
            Self::Count(n) => n.to_string(),
        }
    }
}

impl OptionValue for ServiceTime {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let time = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
        match text.split_once(' ') {
            Some(("constant", rest)) => time(rest).map(Self::Constant),
            Some(("exponential", rest)) => time(rest).map(Self::Exponential),
            Some(("uniform", rest)) => {
                let (min, max) = rest.split_once("..").ok_or(format!("\"{rest}\" is no range of times"))?;
                let (min, max) = (time(min)?, time(max)?);
                if min <= max {
                    Ok(Self::Uniform(min, max))
                } else {
                    Err(format!("\"{rest}\" is no range of times"))
                }
            }
            _ => Err(format!("\"{text}\" is not \"constant T\", \"exponential T\" or \"uniform T..T\"")),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Constant(time) => format!("\"constant {}\"", time.to_string().replace(' ', "")),
            Self::Exponential(mean) => format!("\"exponential {}\"", mean.to_string().replace(' ', "")),
            Self::Uniform(min, max) => format!("\"uniform {min}..{max}\"")
                .replace("s ", "s")
                .replace(' ', "")
                .replace("uniform", "uniform "),
        }
    }
}

/// Freezes of a simulated device: `"10s for 500ms"`.
impl OptionValue for Vec<(Nanos, Nanos)> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => {
                let all: Result<Vec<Self>, String> =
                    items.iter().map(|item| Self::read(&item.value, kind)).collect();
                Ok(all?.concat())
            }
            one => {
                let text = text(one)?;
                let (at, length) =
                    text.split_once(" for ").ok_or(format!("\"{text}\" is not \"T for T\""))?;
                let time = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
                Ok(vec![(time(at)?, time(length)?)])
            }
        }
    }
    fn print(&self) -> String {
        let all: Vec<String> = self.iter().map(|(at, length)| format!("\"{at} for {length}\"")).collect();
        format!("[{}]", all.join(", "))
    }
}

impl OptionValue for Sweep {
    /// A table of option path → list of values, or `{ from = 1, to = 256, factor = 2 }`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let Literal::Table(entries) = literal else {
            return Err(format!("{} is not a table of option → list", literal.describe()));
        };
        let dimensions = entries
            .iter()
            .map(|(path, values)| Ok((path.value.clone(), sweep_values(&path.value, &values.value)?)))
            .collect::<Result<_, String>>()?;
        Ok(Self { dimensions })
    }
    fn print(&self) -> String {
        let dimensions: Vec<String> = self
            .dimensions
            .iter()
            .map(|(path, values)| {
                let values: Vec<String> = values.iter().map(Literal::print).collect();
                format!("{path:?} = [{}]", values.join(", "))
            })
            .collect();
        format!("{{ {} }}", dimensions.join(", "))
    }
}

fn sweep_values(path: &str, literal: &Literal) -> Result<Vec<Literal>, String> {
    match literal {
        Literal::List(items) if items.is_empty() => Err(format!("the list of {path} is empty")),
        Literal::List(items) => Ok(items.iter().map(|item| item.value.clone()).collect()),
        Literal::Table(entries) => {
            let (mut from, mut to, mut factor, mut step) = (None, None, None, None);
            for (key, value) in entries {
                let Literal::Integer(n) = value.value else {
                    return Err(format!("{path}: {} needs a whole number", key.value));
                };
                match key.value.as_str() {
                    "from" => from = Some(n),
                    "to" => to = Some(n),
                    "factor" => factor = Some(n),
                    "step" => step = Some(n),
                    other => {
                        return Err(format!(
                            "{path}: a range has from, to, and factor or step, not \"{other}\""
                        ));
                    }
                }
            }
            let (Some(from), Some(to)) = (from, to) else {
                return Err(format!("{path}: a range needs from and to"));
            };
            let next: Box<dyn Fn(i64) -> Option<i64>> = match (factor, step) {
                (Some(factor), None) if factor > 1 && from > 0 => Box::new(move |n| n.checked_mul(factor)),
                (None, Some(step)) if step > 0 => Box::new(move |n| n.checked_add(step)),
                _ => {
                    return Err(format!(
                        "{path}: a range needs a factor above 1 (from above 0) or a step above 0"
                    ));
                }
            };
            let values = std::iter::successors(Some(from), |&n| next(n)).take_while(|&n| n <= to);
            // One more than the limit is enough for the check of the whole job to refuse it.
            let values: Vec<Literal> = values.take(crate::POINTS_MAX + 1).map(Literal::Integer).collect();
            if values.is_empty() { Err(format!("{path}: the range is empty")) } else { Ok(values) }
        }
        other => Err(format!("{path}: {} is not a list of values", other.describe())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StageOptions, StreamOptions, TargetOptions, WorkloadOptions, rows};

    fn read<T: OptionValue>(text: &str) -> Result<T, String> {
        T::read(&Literal::from(text), Kind::Text)
    }

    #[test]
    fn values_read_what_people_write() {
        assert_eq!(read::<Access>("55% random"), Ok(Access { random: Ratio::percent(55.0) }));
        assert_eq!(read::<Amount>("20%"), Ok(Amount::Share(Ratio::percent(20.0))));
        assert_eq!(read::<Rate>("200MB/s"), Ok(Rate::Bandwidth(BytesPerSec(2e8))));
        assert_eq!(read::<Rate>("5k/s"), Ok(Rate::Operations(Iops(5000.0))));
        assert_eq!(read::<Vec<u32>>("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(read::<i64>("-8KiB"), Ok(-8192));
        assert_eq!(read::<ContentSource>("0xdead"), Ok(ContentSource::Pattern(vec![0xde, 0xad])));
        assert_eq!(
            read::<ServiceTime>("uniform 50us..1ms"),
            Ok(ServiceTime::Uniform(Nanos(50_000), Nanos(1_000_000)))
        );
        assert_eq!(
            read::<BlockSizes>("4KiB..64KiB step 8KiB 10%"),
            Ok(BlockSizes { sizes: vec![(10.0, Bytes::kib(4), Bytes::kib(64), Bytes::kib(8))] })
        );
    }

    #[test]
    fn values_refuse_what_has_no_meaning() {
        assert!(read::<Rate>("0").is_err());
        assert!(read::<Rate>("0%").is_err());
        assert!(read::<RandomDistribution>("zipf:1").is_err());
        assert!(read::<RandomDistribution>("zoned:50%/5%,30%/15%").is_err());
        assert!(read::<BlockSizes>("0").is_err());
        assert!(read::<BlockSizes>("8KiB..4KiB").is_err());
        assert!(read::<ContentSource>("0xabc").is_err());
        assert!(read::<Access>("sometimes").is_err());
    }

    #[test]
    fn values_print_what_reads_back() {
        fn check<T: OptionValue + PartialEq + std::fmt::Debug>(text: &str) {
            let value: T = read(text).unwrap();
            let printed = value.print();
            assert_eq!(read::<T>(printed.trim_matches('"')).unwrap(), value, "{printed}");
        }
        check::<Access>("55% random");
        check::<Rate>("12.5/s");
        check::<Rate>("200MB/s");
        check::<RandomDistribution>("zoned:50%/5%,30%/15%,20%/80%");
        check::<RandomDistribution>("normal:20%");
        check::<ServiceTime>("uniform 50us..1ms");
        check::<ServiceTime>("exponential 100us");
        check::<BlockSizes>("4KiB..64KiB step 8KiB");
        check::<FileOrder>("random:4");
        check::<Nanos>("90s");
    }

    #[test]
    fn every_row_has_an_example_and_a_sentence() {
        use crate::Options;
        for row in rows() {
            assert!(!row.example.is_empty() && row.doc.trim().contains('.'), "{}", row.path);
        }
        // The four sections share no option name, so that a sweep path is never ambiguous to a reader.
        let mut names: Vec<&str> = Vec::new();
        for rows in
            [StreamOptions::rows(), WorkloadOptions::rows(), TargetOptions::rows(), StageOptions::rows()]
        {
            names.extend(rows.iter().map(crate::Row::name));
        }
        assert!(names.contains(&"queue_depth"));
    }
}
