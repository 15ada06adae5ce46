//! Statements to definitions: storage, workloads and runs with their defaults, each value within its bounds. Knows Vdbench's
//! meaning of each keyword, and nothing of the model's sections.

use super::keywords::{GENERAL, Keywords, RD, SD, WD};
use super::numbers::{chosen, number, numbers};
use super::scan::{Item, Statement};
use super::{BAD_VALUE, IGNORED, NOT_IMPORTED, UNKNOWN};
use fathom_model::{BlockSizes, Diagnostics, Level, Span};
use fathom_units::{Bytes, Ratio};

/// Threads of a storage definition that names none.
const THREADS: u32 = 8;
/// Most threads of one storage definition: the deepest queue of the model.
const THREADS_MAX: f64 = 65_536.0;
/// Length of a run that names none, and of an interval, in seconds.
const ELAPSED: f64 = 30.0;
const INTERVAL: f64 = 1.0;
/// Points of a curve in percent of its maximum.
const CURVE: [f64; 6] = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0];
/// Data errors after which a run ends.
const DATA_ERRORS: u64 = 50;
/// What the sizes of transfers are multiples of.
const SECTOR: f64 = 512.0;
/// Largest size of a transfer, as the model has it.
const TRANSFER_MAX: f64 = 2_147_483_648.0;
/// Copies of one storage definition, at most.
const COPIES_MAX: f64 = 10_000.0;
/// Number of the first of them, at most: far beyond any name of a disk.
const COPY_MAX: f64 = 1e9;

/// All that a file defines.
#[derive(Debug, Default)]
pub(super) struct Defined {
    pub sds: Vec<Sd>,
    pub wds: Vec<Wd>,
    pub rds: Vec<Rd>,
    /// Data errors after which a run ends.
    pub data_errors: u64,
    /// How many times smaller compressible data become; 1 is not at all.
    pub compratio: f64,
}

/// How a target is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub is_direct: bool,
    pub syncs_data: bool,
    pub syncs_all: bool,
}

/// The part of a target that is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Part {
    /// From a share to a share.
    Shares(f64, f64),
    /// From a byte to a byte.
    Bytes(u64, u64),
}

/// A storage definition.
#[derive(Debug, Clone)]
pub(super) struct Sd {
    pub name: String,
    pub lun: String,
    pub size: Option<u64>,
    pub threads: u32,
    pub offset: u64,
    /// What random places are multiples of, in bytes; none: the size of the transfer.
    pub align: Option<u64>,
    pub part: Option<Part>,
    pub flags: Option<Flags>,
    pub span: Span,
}

/// Where operations go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Seek {
    /// This share of them to a random place.
    Share(Ratio),
    /// On and on, once to the end.
    ToEnd,
}

/// A workload definition.
#[derive(Debug, Clone)]
pub(super) struct Wd {
    pub name: String,
    /// Places of its storage definitions.
    pub sds: Vec<usize>,
    pub sizes: BlockSizes,
    pub read: Ratio,
    pub seek: Seek,
    pub skew: Option<f64>,
    pub part: Option<Part>,
    pub flags: Option<Flags>,
    pub span: Span,
}

/// How fast a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Speed {
    Max,
    Curve,
    Rate(f64),
}

/// Which storage definitions a run uses at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Which {
    /// Those of its workloads.
    OfWorkloads,
    These(Vec<usize>),
    /// One after the other.
    Single,
    /// One, then two, and so on.
    Growing,
}

/// A list that a run goes through, by the name of its keyword.
#[derive(Debug, Clone)]
pub(super) enum Loop {
    Sizes(Vec<u64>),
    Threads(Vec<u32>),
    Reads(Vec<Ratio>),
    Seeks(Vec<Seek>),
}

/// A run definition.
#[derive(Debug, Clone)]
pub(super) struct Rd {
    pub name: String,
    /// Places of its workloads; none: all of `which` with the default workload.
    pub wds: Vec<usize>,
    pub which: Which,
    pub elapsed_s: f64,
    pub interval_s: f64,
    pub warmup_s: f64,
    pub pause_s: f64,
    pub speeds: Vec<Speed>,
    pub curve: Vec<f64>,
    pub distribution: fathom_model::Arrival,
    /// Outermost first.
    pub loops: Vec<Loop>,
    /// What ends it: bytes, or up to 1 a share of its storage.
    pub maxdata: Option<f64>,
    pub flags: Option<Flags>,
    pub span: Span,
}

/// Reads all statements.
pub(super) fn read(statements: &[Statement], found: &mut Diagnostics) -> Defined {
    let mut reader = Reader {
        defined: Defined { data_errors: DATA_ERRORS, compratio: 1.0, ..Defined::default() },
        defaults: [Vec::new(), Vec::new(), Vec::new()],
        found,
    };
    for statement in statements {
        let head = &statement[0];
        match head.key.as_str() {
            "sd" => reader.section(&SD, 0, statement),
            "wd" => reader.section(&WD, 1, statement),
            "rd" => reader.section(&RD, 2, statement),
            "fsd" | "fwd" | "rg" => {
                let message = format!("{} is known but not imported", head.key);
                let help =
                    "tests of file systems and replays are written as native jobs; docs/native-jobs.md";
                reader.found.error(NOT_IMPORTED, head.span, message, help);
            }
            "hd" => reader.host(statement),
            _ => reader.general(statement),
        }
    }
    reader.defined
}

struct Reader<'a> {
    defined: Defined,
    /// What sd=default, wd=default and rd=default have said.
    defaults: [Fields; 3],
    found: &'a mut Diagnostics,
}

/// Items under the names that their keywords stand for, in the order in which they were given last.
type Fields = Vec<(&'static str, Item)>;

impl Reader<'_> {
    fn host(&mut self, statement: &Statement) {
        let is_here = |item: &Item| match item.key.as_str() {
            "system" => ["localhost", "127.0.0.1"].contains(&item.values[0].as_str()),
            "jvms" | "clients" | "mount" => false,
            _ => true,
        };
        let names_it = statement[0].values[0] == "default"
            || statement[0].values[0] == "localhost"
            || statement.iter().any(|item| item.key == "system");
        match statement.iter().find(|item| !is_here(item)).or((!names_it).then_some(&statement[0])) {
            Some(item) => {
                let message = format!("{} of a host is not imported: fathom runs on this one", item.key);
                self.found.error(NOT_IMPORTED, item.span, message, "take the hd= lines out");
            }
            None => {
                let message = "hd changes nothing of what fathom measures, and is left out";
                self.found.warn(IGNORED, statement[0].span, message, "take it out");
            }
        }
    }

    fn general(&mut self, statement: &Statement) {
        for item in statement {
            let Some((name, item)) = GENERAL.taken(item, self.found) else { continue };
            let value = number(&item.values[0], false);
            match (name, value) {
                ("compratio", Ok(ratio)) if (1.0..=25.0).contains(&ratio) => self.defined.compratio = ratio,
                ("data_errors", Ok(count)) if count >= 1.0 && !item.is_list => {
                    self.defined.data_errors = whole(count);
                }
                (_, Err(reason)) => self.bad(&item, &reason),
                _ => self.bad(&item, &format!("{} is out of its bounds", item.values[0])),
            }
        }
    }

    fn bad(&mut self, item: &Item, reason: &str) {
        let Item { key, span, .. } = item;
        let help = "the manual of Vdbench and docs/vdbench-compatibility.md have its values";
        self.found.error(BAD_VALUE, *span, format!("{key}: {reason}"), help);
    }

    /// What is right, or nothing after a complaint.
    fn right<T>(&mut self, item: &Item, read: Result<T, String>) -> Option<T> {
        read.map_err(|reason| self.bad(item, &reason)).ok()
    }

    /// A number within bounds.
    fn within(&mut self, item: &Item, bounds: std::ops::RangeInclusive<f64>, is_time: bool) -> Option<f64> {
        let value = number(&item.values[0], is_time).and_then(|value| {
            let fault = || format!("{} is not within {} to {}", item.values[0], bounds.start(), bounds.end());
            if item.is_list && item.values.len() > 1 {
                return Err("one value is due, not a list".to_owned());
            }
            if bounds.contains(&value) { Ok(value) } else { Err(fault()) }
        });
        self.right(item, value)
    }

    fn section(&mut self, keywords: &Keywords, kind: usize, statement: &Statement) {
        let mut fields: Fields = Vec::new();
        for (at, item) in statement.iter().enumerate() {
            // Another definition within this one is a slip: what belongs to which would be anybody's guess.
            if at > 0 && (item.key == statement[0].key || keywords.is_other(item)) {
                let message = format!("{} begins a definition, and stands within another", item.key);
                let help = "begin a line of its own; the share of reads is rdpct";
                self.found.error(UNKNOWN, item.span, message, help);
                continue;
            }
            let Some((name, item)) = keywords.taken(item, self.found) else { continue };
            fields.retain(|(other, _)| *other != name);
            fields.push((name, item));
        }
        let head = statement[0].clone();
        if head.values[0] == "default" {
            fields.retain(|(name, _)| *name != head.key);
            let given = fields;
            self.defaults[kind].retain(|(name, _)| given.iter().all(|(other, _)| other != name));
            self.defaults[kind].extend(given);
            return;
        }
        let mut all = self.defaults[kind].clone();
        all.retain(|(name, _)| fields.iter().all(|(other, _)| other != name));
        all.extend(fields);
        match kind {
            0 => self.sd(&head, &all),
            1 => self.wd(&head, &all),
            _ => self.rd(&head, &all),
        }
    }

    fn sd(&mut self, head: &Item, fields: &Fields) {
        let mut sd = Sd {
            name: head.values[0].clone(),
            lun: String::new(),
            size: None,
            threads: THREADS,
            offset: 0,
            align: None,
            part: None,
            flags: None,
            span: head.span,
        };
        let mut copies = None;
        for (name, item) in fields {
            match *name {
                "lun" => sd.lun.clone_from(&item.values[0]),
                "size" => sd.size = self.within(item, SECTOR..=9e18, false).map(whole),
                "threads" => sd.threads = self.within(item, 1.0..=THREADS_MAX, false).map_or(1, depth),
                "offset" => sd.offset = self.within(item, 0.0..=9e18, false).map_or(0, whole),
                "align" => sd.align = self.align(item),
                "range" => sd.part = self.part(item),
                "openflags" => sd.flags = Some(self.flags(item)),
                "count" => copies = Some(item),
                // Sizes between two bounds say it again.
                _ => {}
            }
        }
        if sd.lun.is_empty() {
            self.bad(head, "it has no lun=");
        }
        if sd.lun.starts_with("\\\\") {
            self.bad(head, &format!("{} is a disk of Windows; name a path of this machine", sd.lun));
        }
        let Some(item) = copies else { return self.add(sd) };
        let read = numbers(&item.values).and_then(|values| match values[..] {
            [from, count]
                if (0.0..=COPY_MAX).contains(&from)
                    && (1.0..=COPIES_MAX).contains(&count)
                    && from.fract() + count.fract() == 0.0 =>
            {
                Ok((from, count))
            }
            _ => Err(format!(
                "write count=(first,copies), whole numbers, the first at most {COPY_MAX}, the copies {COPIES_MAX}"
            )),
        });
        let Some((from, count)) = self.right(item, read) else { return };
        let named = |text: &str, number: u64| {
            let number = number.to_string();
            if text.contains('*') { text.replace('*', &number) } else { format!("{text}{number}") }
        };
        if sd.name.contains('%') || sd.lun.contains('%') {
            self.bad(item, "masks with % are not imported");
        }
        for number in whole(from)..whole(from) + whole(count) {
            self.add(Sd { name: named(&sd.name, number), lun: named(&sd.lun, number), ..sd.clone() });
        }
    }

    fn add(&mut self, sd: Sd) {
        let is_new = self.defined.sds.iter().all(|other| other.name != sd.name);
        if self.is_new("sd", &sd.name, sd.span, is_new) {
            self.defined.sds.push(sd);
        }
    }

    /// Complains of a name that is there already: what is meant by it would be anybody's guess.
    fn is_new(&mut self, kind: &str, name: &str, span: Span, is_new: bool) -> bool {
        if !is_new {
            let message = format!("{kind} {name} is there already");
            self.found.error(BAD_VALUE, span, message, "give it another name");
        }
        is_new
    }

    fn wd(&mut self, head: &Item, fields: &Fields) {
        let mut wd = default_wd(&head.values[0], head.span);
        let mut has_sds = false;
        for (name, item) in fields {
            match *name {
                "sd" => {
                    has_sds = true;
                    let names: Vec<&str> = self.defined.sds.iter().map(|sd| sd.name.as_str()).collect();
                    let sds = chosen(&item.values, &names);
                    wd.sds = self.right(item, sds).unwrap_or_default();
                }
                "xfersize" => {
                    let sizes = sizes(&item.values);
                    wd.sizes = self.right(item, sizes).unwrap_or(wd.sizes);
                }
                "rdpct" => wd.read = self.within(item, 0.0..=100.0, false).map_or(wd.read, Ratio::percent),
                "seekpct" => {
                    let seek = seek(&item.values);
                    wd.seek = self.right(item, seek).unwrap_or(wd.seek);
                }
                "skew" => wd.skew = self.within(item, 0.0..=100.0, false),
                "range" => wd.part = self.part(item),
                "openflags" => wd.flags = Some(self.flags(item)),
                _ => {}
            }
        }
        if !has_sds {
            // A run definition may say it.
            wd.sds = Vec::new();
        }
        let is_new = self.defined.wds.iter().all(|other| other.name != wd.name);
        if self.is_new("wd", &wd.name, wd.span, is_new) {
            self.defined.wds.push(wd);
        }
    }

    fn rd(&mut self, head: &Item, fields: &Fields) {
        let mut rd = Rd {
            name: head.values[0].clone(),
            wds: Vec::new(),
            which: Which::OfWorkloads,
            elapsed_s: ELAPSED,
            interval_s: INTERVAL,
            warmup_s: 0.0,
            pause_s: 0.0,
            speeds: Vec::new(),
            curve: CURVE.to_vec(),
            distribution: fathom_model::Arrival::Poisson,
            loops: Vec::new(),
            maxdata: None,
            flags: None,
            span: head.span,
        };
        let before = self.errors();
        for (name, item) in fields {
            let time = |reader: &mut Self| reader.within(item, 0.0..=1e9, true);
            match *name {
                "wd" => {
                    let names: Vec<&str> = self.defined.wds.iter().map(|wd| wd.name.as_str()).collect();
                    let wds = chosen(&item.values, &names);
                    rd.wds = self.right(item, wds).unwrap_or_default();
                }
                "sd" => rd.which = self.which(item),
                "elapsed" => rd.elapsed_s = time(self).unwrap_or(ELAPSED),
                "interval" => rd.interval_s = time(self).unwrap_or(INTERVAL),
                "warmup" => rd.warmup_s = time(self).unwrap_or_default(),
                "pause" => rd.pause_s = time(self).unwrap_or_default(),
                "iorate" => rd.speeds = self.speeds(item),
                "curve" => {
                    let fault = "shares of the maximum are above 0 and at most 100 here";
                    let curve = numbers(&item.values).and_then(|all| {
                        let is_right = all.iter().all(|&share| share > 0.0 && share <= 100.0);
                        if is_right { Ok(all) } else { Err(fault.to_owned()) }
                    });
                    rd.curve = self.right(item, curve).unwrap_or_default();
                }
                "distribution" => {
                    let read = distribution(&item.values);
                    rd.distribution = self.right(item, read).unwrap_or(rd.distribution);
                }
                "maxdata" => rd.maxdata = self.maxdata(item),
                "openflags" => rd.flags = Some(self.flags(item)),
                "xfersize" | "threads" | "rdpct" | "seekpct" => {
                    let read = values_of(name, &item.values);
                    rd.loops.extend(self.right(item, read));
                }
                _ => {}
            }
        }
        // What is wrong already would be told again.
        if self.errors() == before {
            self.check_run(head, &rd);
        }
        let is_new = self.defined.rds.iter().all(|other| other.name != rd.name);
        if self.is_new("rd", &rd.name, rd.span, is_new) {
            self.defined.rds.push(rd);
        }
    }

    fn errors(&self) -> usize {
        self.found.all().iter().filter(|one| one.level == Level::Error).count()
    }

    fn check_run(&mut self, head: &Item, rd: &Rd) {
        let Rd { elapsed_s, interval_s, warmup_s, .. } = rd;
        let is_multiple = |seconds: f64| (seconds / interval_s).fract() == 0.0;
        if *interval_s < 1.0 {
            self.bad(head, "interval is a second or more");
        } else if *elapsed_s < 2.0 * interval_s || !is_multiple(*elapsed_s) {
            self.bad(head, &format!("elapsed={elapsed_s} is not two or more intervals of {interval_s} s"));
        } else if !is_multiple(*warmup_s) {
            self.bad(head, &format!("warmup={warmup_s} is no multiple of the interval, {interval_s} s"));
        }
        if rd.speeds.is_empty() {
            self.bad(head, "it has no iorate=; write a rate, max or curve");
        }
        if rd.wds.is_empty() && rd.which == Which::OfWorkloads {
            self.bad(head, "it has neither wd= nor sd=");
        }
    }

    fn which(&mut self, item: &Item) -> Which {
        match item.values[0].as_str() {
            "single" => Which::Single,
            "range" => Which::Growing,
            sets if sets.starts_with("setsof") => {
                self.found.error(
                    NOT_IMPORTED,
                    item.span,
                    "sd=setsof is known but not imported",
                    "name the sets",
                );
                Which::OfWorkloads
            }
            _ => {
                let names: Vec<&str> = self.defined.sds.iter().map(|sd| sd.name.as_str()).collect();
                let sds = chosen(&item.values, &names);
                self.right(item, sds).map_or(Which::OfWorkloads, Which::These)
            }
        }
    }

    fn speeds(&mut self, item: &Item) -> Vec<Speed> {
        if item.values.iter().any(|value| value.ends_with('%')) {
            let message = "iorate in per cent of what an earlier run came to is known but not imported";
            self.found.error(
                NOT_IMPORTED,
                item.span,
                message,
                "write iorate=curve,curve=(50,80), or the rates",
            );
            return Vec::new();
        }
        if let [word] = item.values.as_slice()
            && word.eq_ignore_ascii_case("curve")
        {
            return vec![Speed::Curve];
        }
        let is_max = |value: &String| value.eq_ignore_ascii_case("max");
        let all = if item.values.iter().any(is_max) {
            let each = item.values.iter();
            each.map(|value| if is_max(value) { Ok(None) } else { number(value, false).map(Some) }).collect()
        } else {
            numbers(&item.values).map(|rates| rates.into_iter().map(Some).collect())
        };
        let speeds = all.and_then(|all: Vec<Option<f64>>| {
            let speed = |rate: Option<f64>| match rate {
                None => Ok(Speed::Max),
                Some(rate @ 1.0..=1e9) => Ok(Speed::Rate(rate)),
                Some(rate) => Err(format!("{rate} is no rate from 1 to 1e9 per second")),
            };
            all.into_iter().map(speed).collect::<Result<Vec<_>, _>>()
        });
        self.right(item, speeds).unwrap_or_default()
    }

    fn maxdata(&mut self, item: &Item) -> Option<f64> {
        let asked = self.within(item, 0.0..=9e18, false)?;
        if asked > 1.0 && asked <= 100.0 {
            let message = "maxdata as several times the storage is known but not imported";
            self.found.error(NOT_IMPORTED, item.span, message, "write it in bytes");
            return None;
        }
        if asked <= 0.0 {
            self.bad(item, "nothing would run");
        }
        Some(asked)
    }

    /// A boundary of random places; 0 is none.
    fn align(&mut self, item: &Item) -> Option<u64> {
        let asked = self.within(item, 0.0..=TRANSFER_MAX, false)?;
        if asked == 0.0 { None } else { self.right(item, size(asked)) }
    }

    fn part(&mut self, item: &Item) -> Option<Part> {
        let read = numbers(&item.values).and_then(|ends| match ends[..] {
            [low, high] if 0.0 <= low && low < high && high <= 100.0 => {
                Ok(Part::Shares(low / 100.0, high / 100.0))
            }
            [low, high] if 0.0 <= low && low < high && high > 200.0 => {
                Ok(Part::Bytes(whole(low), whole(high)))
            }
            _ => Err("write (low,high) in per cent up to 100, or in bytes".to_owned()),
        });
        self.right(item, read)
    }

    fn flags(&mut self, item: &Item) -> Flags {
        let mut flags = Flags::default();
        for value in &item.values {
            match value.to_ascii_lowercase().as_str() {
                "o_direct" | "directio" => flags.is_direct = true,
                "o_dsync" => flags.syncs_data = true,
                "o_sync" | "o_rsync" => flags.syncs_all = true,
                "fsync" => {
                    let message = "fsync when a target is closed changes nothing of what is measured";
                    self.found.warn(IGNORED, item.span, message, "take it out");
                }
                other => self.bad(item, &format!("{other} is not imported")),
            }
        }
        flags
    }
}

/// A workload of which nothing is said.
pub(super) fn default_wd(name: &str, span: Span) -> Wd {
    Wd {
        name: name.to_owned(),
        sds: Vec::new(),
        sizes: BlockSizes::fixed(Bytes::kib(4)),
        read: Ratio::ONE,
        seek: Seek::Share(Ratio::ONE),
        skew: None,
        part: None,
        flags: None,
        span,
    }
}

/// What was found to be no negative number, and below 2^63.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was found to be within bounds"
)]
pub(super) fn whole(value: f64) -> u64 {
    value as u64
}

fn depth(threads: f64) -> u32 {
    u32::try_from(whole(threads)).unwrap_or(u32::MAX)
}

fn size(value: f64) -> Result<u64, String> {
    if (SECTOR..=TRANSFER_MAX).contains(&value) && value % SECTOR == 0.0 {
        Ok(whole(value))
    } else {
        Err(format!("{value} is no multiple of {SECTOR} bytes up to 2g"))
    }
}

/// A size, pairs of sizes and shares, or two bounds with a step.
fn sizes(values: &[String]) -> Result<BlockSizes, String> {
    let numbers = values.iter().map(|value| number(value, false)).collect::<Result<Vec<_>, _>>()?;
    match numbers[..] {
        [one] => size(one).map(|one| BlockSizes::fixed(Bytes(one))),
        [min, max, step] => {
            let (min, max, step) = (Bytes(size(min)?), Bytes(size(max)?), Bytes(size(step)?));
            let is_right = min <= max && min.0 % step.0 == 0 && max.0 % step.0 == 0;
            let fault = || "write (smallest,largest,step), the former multiples of the latter".to_owned();
            is_right.then(|| BlockSizes { sizes: vec![(1.0, min, max, step)] }).ok_or_else(fault)
        }
        ref pairs if pairs.len() % 2 == 0 => {
            let sum: f64 = pairs.chunks(2).map(|pair| pair[1]).sum();
            if (sum - 100.0).abs() >= 1.0 || pairs.chunks(2).any(|pair| pair[1] < 0.0) {
                return Err(format!("the shares of the sizes sum to {sum} %, not 100 %"));
            }
            let one = |pair: &[f64]| size(pair[0]).map(|one| (pair[1], Bytes(one), Bytes(one), Bytes(one)));
            let given = pairs.chunks(2).filter(|pair| pair[1] > 0.0);
            Ok(BlockSizes { sizes: given.map(one).collect::<Result<_, _>>()? })
        }
        _ => Err("write a size, (size,share,…) or (smallest,largest,step)".to_owned()),
    }
}

fn seek(values: &[String]) -> Result<Seek, String> {
    let [value] = values else { return Err("lists such as (poisson,3) are not imported".to_owned()) };
    let lower = value.to_ascii_lowercase();
    if let Ok(share) = number(&lower, false) {
        return match share {
            -1.0 => Ok(Seek::ToEnd),
            0.0..=100.0 => Ok(Seek::Share(Ratio::percent(share))),
            _ => Err(format!("{value} is no share from 0 to 100")),
        };
    }
    match lower.as_str() {
        "eof" => Ok(Seek::ToEnd),
        short if !short.is_empty() && "random".starts_with(short) => Ok(Seek::Share(Ratio::ONE)),
        short if !short.is_empty() && "sequential".starts_with(short) => Ok(Seek::Share(Ratio::ZERO)),
        _ => Err(format!("{value} is not imported; write a share, random, sequential or eof")),
    }
}

fn distribution(values: &[String]) -> Result<fathom_model::Arrival, String> {
    let [value] = values else { return Err("variable and spike are not imported".to_owned()) };
    let is = |word: &str| value.len() > 1 && word.starts_with(value.to_ascii_lowercase().as_str());
    match () {
        () if is("exponential") => Ok(fathom_model::Arrival::Poisson),
        () if is("uniform") => Ok(fathom_model::Arrival::Uniform),
        () if is("deterministic") => Ok(fathom_model::Arrival::Constant),
        () => Err(format!("{value} is not imported; write exponential, uniform or deterministic")),
    }
}

/// The values that a run goes through.
fn values_of(name: &str, values: &[String]) -> Result<Loop, String> {
    if name == "seekpct" {
        let each = values.iter().map(|value| seek(std::slice::from_ref(value)));
        let all = each.collect::<Result<Vec<_>, _>>()?;
        return match all[..] {
            [_, _, ..] if all.contains(&Seek::ToEnd) => Err("eof in a list is not imported".to_owned()),
            _ => Ok(Loop::Seeks(all)),
        };
    }
    let all = numbers(values)?;
    if all.is_empty() {
        return Err("the list is empty".to_owned());
    }
    match name {
        "xfersize" => all.into_iter().map(size).collect::<Result<_, _>>().map(Loop::Sizes),
        "threads" if all.iter().all(|count| (1.0..=THREADS_MAX).contains(count)) => {
            Ok(Loop::Threads(all.into_iter().map(depth).collect()))
        }
        "rdpct" if all.iter().all(|share| (0.0..=100.0).contains(share)) => {
            Ok(Loop::Reads(all.into_iter().map(Ratio::percent).collect()))
        }
        _ => Err("a value is out of its bounds".to_owned()),
    }
}
