//! What a rate that changes comes to over a stretch of time.

use crate::step::RatePiece;
use fathom_units::Nanos;

impl RatePiece {
    /// Mean rate from one instant of a course to another, both from its start on, operations per second: the area under it by
    /// the trapezium rule, which is exact for straight lines. The last piece's end rate holds behind it; of no time it is 0.
    /// Worked value: 10 s from 0 to 100/s and then 10 s at 100/s have a mean of 75/s.
    pub fn mean(pieces: &[Self], from: Nanos, until: Nanos) -> f64 {
        let length = until.since(from).0 as f64;
        let operations = operations(pieces, until.0 as f64) - operations(pieces, from.0 as f64);
        if length > 0.0 { operations / length } else { 0.0 }
    }
}

/// The area under the first nanoseconds of a course.
fn operations(pieces: &[RatePiece], first_ns: f64) -> f64 {
    let (mut left, mut operations) = (first_ns, 0.0);
    for RatePiece { length_ns, from_per_s, to_per_s } in pieces {
        let length = *length_ns as f64;
        let used = length.min(left);
        let end = from_per_s + (to_per_s - from_per_s) * used / length.max(1.0);
        operations += used * (from_per_s + end) / 2.0;
        left -= used;
    }
    operations + left * pieces.last().map_or(0.0, |piece| piece.to_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_area_under_the_course() {
        let piece = |seconds, from_per_s, to_per_s| RatePiece {
            length_ns: Nanos::secs(seconds).0,
            from_per_s,
            to_per_s,
        };
        for (pieces, from, until, expect) in [
            (vec![piece(5, 0.0, 0.0), piece(10, 0.0, 100.0)], 0, 15, 100.0 / 3.0),
            (vec![piece(10, 0.0, 0.0), piece(10, 100.0, 100.0)], 0, 20, 50.0),
            (vec![piece(10, 50.0, 50.0), piece(10, 50.0, 150.0)], 0, 10, 50.0),
            (vec![piece(10, 50.0, 50.0), piece(10, 50.0, 150.0)], 0, 15, (500.0 + 5.0 * 75.0) / 15.0),
            (vec![piece(10, 50.0, 50.0)], 0, 1000, 50.0),
            (vec![piece(4, 1000.0, 1000.0), piece(10, 1e5, 1e5)], 1, 4, 1000.0),
            (vec![piece(4, 1000.0, 1000.0), piece(10, 1e5, 1e5)], 3, 5, 50_500.0),
            (vec![piece(4, 1000.0, 1000.0)], 4, 4, 0.0),
        ] {
            let found = RatePiece::mean(&pieces, Nanos::secs(from), Nanos::secs(until));
            assert!(
                (found - expect).abs() < 1e-9 * expect.max(1.0),
                "{pieces:?}, {from} to {until}: {found}"
            );
        }
    }
}
