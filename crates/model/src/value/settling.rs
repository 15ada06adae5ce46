//! Values of what ends a stream by what it measures.

use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Nanos, Ratio};

/// When a figure counts as steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Which.
    pub figure: SteadyFigure,
    /// Whether its slope is bounded instead of its distance from the mean.
    pub by_slope: bool,
    /// By how much it may differ, or rise and fall.
    pub limit: SteadyBound,
}

/// A figure that may settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyFigure {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Latency,
}

/// A bound of what is left of its changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyBound {
    /// Of the mean.
    Share(Ratio),
    /// Operations per second, bytes per second, or nanoseconds.
    Absolute(f64),
}

const NAMES: [(SteadyFigure, &str); 3] = [
    (SteadyFigure::Operations, "iops"),
    (SteadyFigure::Bandwidth, "bandwidth"),
    (SteadyFigure::Latency, "latency"),
];

impl Steady {
    fn parse(text: &str) -> Option<Self> {
        let (name, limit) = text.split_once(':')?;
        let (name, by_slope) = name.strip_suffix("-slope").map_or((name, false), |name| (name, true));
        let figure = NAMES.iter().find_map(|&(figure, known)| (known == name).then_some(figure))?;
        let limit = limit.trim();
        let limit = if limit.ends_with('%') {
            SteadyBound::Share(limit.parse::<Ratio>().ok()?)
        } else {
            SteadyBound::Absolute(match figure {
                SteadyFigure::Operations => limit.parse().ok()?,
                SteadyFigure::Bandwidth => limit.parse::<Bytes>().ok()?.0 as f64,
                SteadyFigure::Latency => limit.parse::<Nanos>().ok()?.0 as f64,
            })
        };
        let number = match limit {
            SteadyBound::Share(share) => share.value(),
            SteadyBound::Absolute(number) => number,
        };
        (number.is_finite() && number > 0.0).then_some(Self { figure, by_slope, limit })
    }
}

impl OptionValue for Steady {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let read = if let Literal::Text(text) = literal { Self::parse(text) } else { None };
        read.ok_or_else(|| {
            format!("{} is no figure with a limit above 0, such as \"iops:5%\"", literal.describe())
        })
    }

    fn print(&self) -> String {
        let Self { figure, by_slope, limit } = self;
        let name = NAMES.iter().find(|(known, _)| known == figure).map_or("", |(_, name)| name);
        let slope = if *by_slope { "-slope" } else { "" };
        let limit = match (limit, figure) {
            (SteadyBound::Share(share), _) => share.to_string(),
            (SteadyBound::Absolute(number), SteadyFigure::Operations) => number.to_string(),
            (SteadyBound::Absolute(number), SteadyFigure::Bandwidth) => Bytes(whole(*number)).to_string(),
            (SteadyBound::Absolute(number), SteadyFigure::Latency) => Nanos(whole(*number)).to_string(),
        };
        let limit = limit.replace(' ', "");
        format!("\"{name}{slope}:{limit}\"")
    }
}

/// Bytes or nanoseconds as they were read, from a size or a time.
fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is above 0")]
    let whole = number as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_in_the_unit_of_their_figure() {
        let read = |text: &str| Steady::read(&Literal::Text(text.to_owned()), Kind::Text);
        for text in ["iops:5%", "iops-slope:0.3%", "bandwidth:10MiB", "latency-slope:1500us", "iops:12.5"] {
            assert_eq!(read(text).unwrap().print(), format!("\"{text}\""));
        }
        for wrong in ["iops", "iops:", "iops:0%", "iops:-5%", "cpu:5%", "latency:5", "slope:5%"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
