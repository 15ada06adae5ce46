//! The one reader of "number, then unit" that all quantities share, and number printing.

use std::fmt;

/// Why a text is not a quantity. Displays as a lower-case fragment that names what was found and what would do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuantityError {
    /// There is no number at the start of the text.
    NoNumber {
        /// The text as given.
        found: String,
    },
    /// The number has no unit and this quantity needs one.
    NoUnit {
        /// The number as given.
        found: String,
        /// What it is likely to mean, as it would be written; never empty.
        likely: Vec<String>,
    },
    /// The unit is not one of this quantity.
    UnknownUnit {
        /// The unit as given.
        found: String,
        /// Units that would do, for the message.
        units: &'static str,
    },
    /// The value does not fit the quantity's range.
    OutOfRange {
        /// The text as given.
        found: String,
        /// The range in words.
        range: &'static str,
    },
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber { found } if found.trim_start().starts_with('-') => {
                write!(f, "\"{found}\" is negative")
            }
            Self::NoNumber { found } => write!(f, "\"{found}\" does not begin with a number"),
            Self::NoUnit { found, likely } => {
                let likely: Vec<String> = likely.iter().map(|text| format!("\"{text}\"")).collect();
                write!(f, "{found} has no unit; did you mean {}?", likely.join(" or "))
            }
            Self::UnknownUnit { found, units } => write!(f, "unknown unit \"{found}\"; use one of {units}"),
            Self::OutOfRange { found, range } => write!(f, "\"{found}\" is outside {range}"),
        }
    }
}

impl std::error::Error for QuantityError {}

/// Splits `"1.5 GiB"` into `(1.5, "GiB")`. Underscores inside the number are ignored, and it may have an exponent
/// (`1e3`); blanks between number and unit are allowed; a sign is not, since no quantity here is negative.
pub(crate) fn number_and_unit(text: &str) -> Result<(f64, &str), QuantityError> {
    let trimmed = text.trim();
    let end = trimmed
        .char_indices()
        .find(|&(_, c)| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .map_or(trimmed.len(), |(at, _)| at);
    let end = end + exponent(&trimmed[end..]);
    let number: String = trimmed[..end].chars().filter(|&c| c != '_').collect();
    let value: f64 = number.parse().map_err(|_| QuantityError::NoNumber { found: text.to_owned() })?;
    if !value.is_finite() {
        return Err(QuantityError::OutOfRange { found: text.to_owned(), range: "64 bits" });
    }
    Ok((value, trimmed[end..].trim_start()))
}

/// How long the exponent is that a text begins with; 0 where it begins with none, but with a unit.
fn exponent(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 { 0 } else { text.len() - digits.len() + length }
}

/// `value × factor` as a whole number, or an error that quotes the text. Rounds to nearest; refuses what u64 cannot hold.
pub(crate) fn scaled(value: f64, factor: u64, text: &str) -> Result<u64, QuantityError> {
    // An integer below 2^53 is exact in f64; taking the integer path keeps 16 EiB-scale values exact too.
    if value.fract() == 0.0 && value < 9.007e15 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: integer below 2^53"
        )]
        return (value as u64)
            .checked_mul(factor)
            .ok_or_else(|| QuantityError::OutOfRange { found: text.to_owned(), range: "64 bits" });
    }
    let product = (value * factor as f64).round();
    // 2^64 as f64; anything at or above it does not fit.
    if !(0.0..18_446_744_073_709_551_616.0).contains(&product) {
        return Err(QuantityError::OutOfRange { found: text.to_owned(), range: "64 bits" });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "range checked above")]
    Ok(product as u64)
}

/// `value` with about three significant figures: `1234 → "1234"`, `12.345 → "12.3"`, `0.5 → "0.500"`; without an exponent
/// down to a millionth (`0.000012 → "0.0000120"`), with one below (`1.20e-9`): what is not 0 never reads as 0.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 100.0 || magnitude == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 10.0 {
        format!("{value:.1}")
    } else if magnitude >= 1.0 {
        format!("{value:.2}")
    } else if magnitude >= 0.01 {
        format!("{value:.3}")
    } else if magnitude >= 1e-6 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 5 to 8")]
        let decimals = (2.0 - magnitude.log10().floor()) as usize;
        format!("{value:.decimals$}")
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_keeps_three_figures() {
        for (value, expect) in [
            (0.0, "0"),
            (0.012, "0.012"),
            (0.000_278, "0.000278"),
            (-0.009_99, "-0.00999"),
            (1e-6, "0.00000100"),
            (1.2e-9, "1.20e-9"),
            (f64::MIN_POSITIVE, "2.23e-308"),
            (0.5, "0.500"),
            (1.0, "1.00"),
            (12.345, "12.3"),
            (1234.4, "1234"),
        ] {
            assert_eq!(significant(value), expect);
        }
    }
}
