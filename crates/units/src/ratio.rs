//! Shares of a whole.

use crate::text::{QuantityError, number_and_unit};
use std::fmt;
use std::str::FromStr;

/// A share of a whole, 0 to 1 inclusive.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Ratio(f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// All.
    pub const ONE: Self = Self(1.0);

    /// The share `value`, which must lie in 0..=1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// `percent` of 100, cut to 0..=100.
    pub fn percent(percent: f64) -> Self {
        Self((percent / 100.0).clamp(0.0, 1.0))
    }

    /// As a number in 0..=1.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// As a number in 0..=100.
    pub fn as_percent(self) -> f64 {
        self.0 * 100.0
    }

    /// The rest of the whole.
    #[must_use]
    pub fn rest(self) -> Self {
        Self(1.0 - self.0)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to 1e-9 so that 0.07 prints as "7%" and not with the tail of its binary form.
        f.pad(&format!("{}%", (self.0 * 1e11).round() / 1e9))
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;

    /// Reads `70%`; the sign is required, so that 0.5 and 50 are never mistaken for each other.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match number_and_unit(text)? {
            (value, "%") if value <= 100.0 => Ok(Self(value / 100.0)),
            (value, "") if value <= 100.0 => Err(QuantityError::NoUnit {
                found: text.trim().to_owned(),
                likely: match value {
                    1.0 => vec!["100%".to_owned(), "1%".to_owned()],
                    // A part of one is how programs write shares, and no storage test has less than 1 % of anything.
                    _ if value < 1.0 => vec![Self(value).to_string()],
                    _ => vec![format!("{}%", text.trim())],
                },
            }),
            (_, "%" | "") => Err(QuantityError::OutOfRange { found: text.to_owned(), range: "0% to 100%" }),
            (_, other) => Err(QuantityError::UnknownUnit { found: other.to_owned(), units: "%" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_and_print() {
        assert_eq!("70%".parse(), Ok(Ratio::percent(70.0)));
        assert_eq!("7 %".parse::<Ratio>().map(|r| r.to_string()), Ok("7%".to_owned()));
        for text in ["70", "101%", "x%", "-1%", "0"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_without_its_sign_is_shown_with_it() {
        for (text, expect) in [
            ("70", "70 has no unit; did you mean \"70%\"?"),
            ("0.7", "0.7 has no unit; did you mean \"70%\"?"),
            ("1", "1 has no unit; did you mean \"100%\" or \"1%\"?"),
            ("0", "0 has no unit; did you mean \"0%\"?"),
            ("700", "\"700\" is outside 0% to 100%"),
        ] {
            assert_eq!(text.parse::<Ratio>().unwrap_err().to_string(), expect);
        }
    }
}
