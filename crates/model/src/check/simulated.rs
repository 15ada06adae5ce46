//! What no simulated device can be: one in whose time nothing passes, or one that keeps an operation for ages.

use crate::diagnostic::{Diagnostics, Span};
use crate::job::Named;
use crate::options::TargetOptions;
use crate::value::{Amount, OddPlace, ServiceTime};
use fathom_units::Nanos;

/// The longest time that one operation or one freeze of a simulated device takes. Real devices give up after minutes; an
/// operation that began in the last instant is still waited for, interval by interval, and an hour has few of them.
const SIMULATED_TIME_MAX: Nanos = Nanos::secs(3600);

pub(super) fn check(target: &Named<TargetOptions>, found: &mut Diagnostics) {
    let options = &target.options;
    let longest = match *options.service_time.get() {
        ServiceTime::Constant(time) | ServiceTime::Exponential(time) | ServiceTime::Uniform(_, time) => time,
    };
    let place = options.service_time.span();
    if longest == Nanos::ZERO {
        nothing_passes("service_time", place, found);
    }
    too_long("service_time", longest, place, found);
    let place = options.places.span();
    let takes = || options.places.get().iter().filter_map(|OddPlace { takes, .. }| *takes);
    if takes().any(|time| time == Nanos::ZERO) {
        nothing_passes("a place", place, found);
    }
    if let Some(time) = takes().max() {
        too_long("a place", time, place, found);
    }
    if let Some(&Amount::Bytes(size)) = options.size.get()
        && let Some(OddPlace { from, .. }) = options.places.get().iter().find(|place| place.from >= size)
    {
        let message = format!("a place begins at {from}, and the target \"{}\" ends at {size}", target.name);
        let help = "let it begin before the end, or leave it out: nothing ever touches it";
        found.error("target.place-past-end", place, message, help);
    }
    let place = options.stalls.span();
    if let Some((at, _)) = options.stalls.get().iter().find(|(_, length)| *length == Nanos::ZERO) {
        let message = format!("the freeze at {} lasts 0 s", at.exact());
        found.error("target.stall", place, message, "say how long nothing completes, e.g. \"10s for 500ms\"");
    }
    if let Some(length) = options.stalls.get().iter().map(|(_, length)| *length).max() {
        too_long("a freeze", length, place, found);
    }
}

fn nothing_passes(what: &str, place: Option<Span>, found: &mut Diagnostics) {
    let message = format!(
        "{what} of 0 s lets no time pass on a simulated device, whose time is what operations take, so that no end comes"
    );
    let help = "use 1ns or more, or kind = \"null\" for a target that takes no time";
    found.error("target.simulated-time", place, message, help);
}

fn too_long(what: &str, time: Nanos, place: Option<Span>, found: &mut Diagnostics) {
    if time > SIMULATED_TIME_MAX {
        let message = format!(
            "{what} of {} is above {}, the most that a simulated device takes: what is under way at the end of the time is \
             waited for",
            time.exact(),
            SIMULATED_TIME_MAX.exact()
        );
        found.error("target.simulated-time", place, message, "use 1h or less");
    }
}
