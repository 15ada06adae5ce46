//! Quantities, numbers, texts and lists of them.

use super::{Amount, quantity, text};
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Nanos, Ratio};

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
            // There are no parts of a byte, so a share or a larger unit was meant.
            Literal::Float(x) => Err(format!("{x} has no unit; did you mean \"{x}GiB\"?")),
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
/// Numbers that one range such as `0-3` may stand for: more than any host has CPUs.
const RANGE_MAX: u32 = 65_536;

impl OptionValue for Vec<u32> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => items.iter().try_fold(Self::new(), |mut all, item| {
                all.extend(Self::read(&item.value, kind)?);
                Ok(all)
            }),
            Literal::Integer(n) => {
                Ok(vec![u32::try_from(*n).map_err(|_| format!("{n} is not from 0 to {}", u32::MAX))?])
            }
            Literal::Text(text) => {
                let number = |part: &str| {
                    part.trim().parse::<u32>().map_err(|_| format!("\"{part}\" is no whole number"))
                };
                text.split(',').try_fold(Self::new(), |mut all, part| {
                    match part.split_once('-') {
                        Some((first, last)) => {
                            let (first, last) = (number(first)?, number(last)?);
                            if first > last {
                                return Err(format!("{part} goes backwards: write {last}-{first}"));
                            }
                            if last - first >= RANGE_MAX {
                                return Err(format!("{part} are more than {RANGE_MAX} numbers"));
                            }
                            all.extend(first..=last);
                        }
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
            Literal::Float(x) if *x <= 1.0 => Ratio::read(literal, kind).map(Self::Share),
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
