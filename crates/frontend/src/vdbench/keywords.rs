//! The keywords of each section, in the order in which their beginnings are looked up, and whether they are taken over.
//! Knows no meaning.

use super::scan::Item;
use super::{IGNORED, NOT_IMPORTED, UNKNOWN};
use fathom_model::{Diagnostics, nearest};

/// What becomes of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is taken over, under this name.
    As(&'static str),
    /// It changes nothing of what is measured.
    Ignored,
    /// It would, and is not taken over.
    Refused,
}

/// A section's keywords.
pub(super) struct Keywords {
    /// Its own word, e.g. `sd`.
    section: &'static str,
    rows: &'static [(&'static str, Use)],
}

use Use::{As, Ignored, Refused};

pub(super) const GENERAL: Keywords = Keywords {
    section: "general parameters",
    rows: &[
        ("data_errors", As("data_errors")),
        ("dataerrors", As("data_errors")),
        ("compratio", As("compratio")),
        ("compression", Refused),
        ("dedupratio", Refused),
        ("dedupunit", Refused),
        ("dedupsets", Refused),
        ("deduphotsets", Refused),
        ("dedupflipflop", Refused),
        ("pattern", Refused),
        ("validate", Refused),
        ("journal", Refused),
        ("startcmd", Refused),
        ("endcmd", Refused),
        ("start_cmd", Refused),
        ("end_cmd", Refused),
        ("concatenatesds", Refused),
        ("formatsds", Refused),
        ("loop", Refused),
        ("include", Refused),
        ("replay", Refused),
        ("swat", Refused),
        ("formatxfersize", Ignored),
        ("create_anchors", Ignored),
        ("report", Ignored),
        ("report_run_totals", Ignored),
        ("histogram", Ignored),
        ("monitor", Ignored),
        ("messagescan", Ignored),
        ("abort_failed_skew", Ignored),
        ("heartbeat_error", Ignored),
        ("port", Ignored),
        ("debug", Ignored),
        ("showlba", Ignored),
        ("misc", Ignored),
        ("psrset", Ignored),
        ("auxreport", Ignored),
        ("timeout", Ignored),
        ("unix2windows", Ignored),
    ],
};

pub(super) const SD: Keywords = Keywords {
    section: "sd",
    rows: &[
        ("sd", As("sd")),
        ("lun", As("lun")),
        ("host", Refused),
        ("count", As("count")),
        ("size", As("size")),
        ("sizes", As("size")),
        ("threads", As("threads")),
        ("hitarea", Refused),
        ("range", As("range")),
        ("offset", As("offset")),
        ("align", As("align")),
        ("openflags", As("openflags")),
        ("journal", Refused),
        ("replay", Refused),
        ("dedup", Refused),
        ("streams", Refused),
        ("resetlun", Ignored),
        ("resetbus", Ignored),
        ("kstat", Ignored),
        ("instance", Ignored),
    ],
};

pub(super) const WD: Keywords = Keywords {
    section: "wd",
    rows: &[
        ("wd", As("wd")),
        ("sd", As("sd")),
        ("xfersize", As("xfersize")),
        ("rdpct", As("rdpct")),
        ("readpct", As("rdpct")),
        ("seekpct", As("seekpct")),
        ("skew", As("skew")),
        ("range", As("range")),
        ("openflags", As("openflags")),
        ("wrpct", Refused),
        ("writepct", Refused),
        ("stride", Refused),
        ("rhpct", Refused),
        ("whpct", Refused),
        ("hotband", Refused),
        ("iorate", Refused),
        ("priority", Refused),
        ("streams", Refused),
        ("threads", Refused),
        ("host", Refused),
        ("user", Refused),
    ],
};

pub(super) const RD: Keywords = Keywords {
    section: "rd",
    rows: &[
        ("rd", As("rd")),
        ("wd", As("wd")),
        ("sd", As("sd")),
        ("elapsed", As("elapsed")),
        ("interval", As("interval")),
        ("warmup", As("warmup")),
        ("iorate", As("iorate")),
        ("curve", As("curve")),
        ("distribution", As("distribution")),
        ("pause", As("pause")),
        ("openflags", As("openflags")),
        ("maxdata", As("maxdata")),
        ("xfersize", As("xfersize")),
        ("forxfersize", As("xfersize")),
        ("threads", As("threads")),
        ("forthreads", As("threads")),
        ("rdpct", As("rdpct")),
        ("readpct", As("rdpct")),
        ("forrdpct", As("rdpct")),
        ("seekpct", As("seekpct")),
        ("forseekpct", As("seekpct")),
        ("forrhpct", Refused),
        ("forwhpct", Refused),
        ("rhpct", Refused),
        ("whpct", Refused),
        ("forhitarea", Refused),
        ("hitarea", Refused),
        ("forcompratio", Refused),
        ("compratio", Refused),
        ("stopcurve", Refused),
        ("maxdataread", Refused),
        ("maxdatawritten", Refused),
        ("startcmd", Refused),
        ("endcmd", Refused),
        ("mount", Refused),
        ("replay", Refused),
        ("fwd", Refused),
        ("fwdrate", Refused),
        ("format", Refused),
        ("operations", Refused),
        ("foroperations", Refused),
        ("fordepth", Refused),
        ("forwidth", Refused),
        ("forfiles", Refused),
        ("forsizes", Refused),
        ("fortotalsize", Refused),
        ("forwss", Refused),
    ],
};

impl Keywords {
    /// Whether an item begins a definition of another kind, though its beginning is that of a keyword here: `rd=50`.
    pub(super) fn is_other(&self, item: &Item) -> bool {
        let key = item.key.as_str();
        ["sd", "wd", "rd", "fsd", "fwd", "hd"].contains(&key)
            && self.rows.iter().all(|(name, _)| *name != key)
    }

    /// The item under the name that its keyword stands for; `None` after what is said of it. Two letters are enough for a
    /// keyword: the first that begins so is meant.
    pub(super) fn taken(&self, item: &Item, found: &mut Diagnostics) -> Option<(&'static str, Item)> {
        let key = item.key.as_str();
        let exact = self.rows.iter().find(|(name, _)| *name == key);
        let begins = || self.rows.iter().find(|(name, _)| key.len() > 1 && name.starts_with(key));
        match exact.or_else(begins) {
            Some((_, As(name))) => return Some((name, item.clone())),
            Some((name, Ignored)) => {
                let message = format!("{name} changes nothing of what fathom measures, and is left out");
                found.warn(IGNORED, item.span, message, "take it out");
            }
            Some((name, Refused)) => {
                let message = format!("{name} is known but not imported");
                let help = match *name {
                    "include" => "put the text of the file in its place",
                    "wrpct" | "writepct" => "write rdpct, which is 100 less this",
                    _ => "take it out, or write what is meant as a native job",
                };
                found.error(NOT_IMPORTED, item.span, message, help);
            }
            None => {
                let near = nearest(key, self.rows.iter().map(|(name, _)| *name));
                let help = near.map_or("leave it out".to_owned(), |near| format!("did you mean {near}?"));
                found.error(UNKNOWN, item.span, format!("{} has no keyword {key}", self.section), help);
            }
        }
        None
    }
}
