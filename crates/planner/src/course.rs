//! A rate that changes over a stream's time, from what the job says to pieces with rates in operations per second. Shares
//! of a maximum are already resolved here; where pieces lie in a step's phases is decided here.

use fathom_schema::RatePiece;
use fathom_units::Nanos;

/// One piece of a course with its rates resolved, operations per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Leg {
    /// This rate all the time; 0 for idling.
    Hold(f64, Nanos),
    /// From the end of the leg before to this.
    Ramp(f64, Nanos),
}

/// The legs as pieces that begin with the stream: for `ramp`, before measuring begins, the first rate holds.
pub(crate) fn pieces(legs: &[Leg], ramp: Nanos) -> Vec<RatePiece> {
    let mut rate = match legs.first() {
        Some(Leg::Hold(first, _)) => *first,
        _ => 0.0,
    };
    let lead = RatePiece { length_ns: ramp.0, from_per_s: rate, to_per_s: rate };
    let mut pieces = if ramp == Nanos::ZERO { Vec::new() } else { vec![lead] };
    for leg in legs {
        let (from_per_s, to_per_s, length) = match *leg {
            Leg::Hold(held, time) => (held, held, time),
            Leg::Ramp(to, time) => (rate, to, time),
        };
        pieces.push(RatePiece { length_ns: length.0, from_per_s, to_per_s });
        rate = to_per_s;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Nanos = Nanos::secs(10);

    #[test]
    fn the_first_rate_holds_while_nothing_is_measured() {
        let course = pieces(&[Leg::Hold(10.0, TEN), Leg::Ramp(20.0, TEN)], Nanos::secs(3));
        let rates: Vec<(u64, f64, f64)> =
            course.iter().map(|p| (p.length_ns / 1_000_000_000, p.from_per_s, p.to_per_s)).collect();
        assert_eq!(rates, [(3, 10.0, 10.0), (10, 10.0, 10.0), (10, 10.0, 20.0)]);
    }
}
