//! Values that may differ by kind of operation: rates, longest latencies, alignments.

use super::{ByKind, Direction, Nice, Rate};
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Nanos};

/// Something that a list has one of, for all operations or for a kind of them.
trait Item: Copy {
    fn item(text: &str) -> Result<Self, String>;
    fn shown(self) -> String;
}

impl Item for Rate {
    fn item(text: &str) -> Result<Self, String> {
        match Self::read(&Literal::Text(text.to_owned()), Kind::Rate)? {
            rate @ (Self::Operations(_) | Self::Bandwidth(_)) => Ok(rate),
            Self::Max | Self::OfMaximum(_) => Err(format!("\"{text}\" is no rate in figures")),
        }
    }
    fn shown(self) -> String {
        self.print().trim_matches('"').to_owned()
    }
}

impl Item for Nanos {
    fn item(text: &str) -> Result<Self, String> {
        let time = Self::read(&Literal::Text(text.to_owned()), Kind::Time)?;
        if time == Self::ZERO { Err("nothing takes no time".to_owned()) } else { Ok(time) }
    }
    fn shown(self) -> String {
        self.print().trim_matches('"').to_owned()
    }
}

impl Item for Bytes {
    fn item(text: &str) -> Result<Self, String> {
        let size = Self::read(&Literal::Text(text.to_owned()), Kind::Size)?;
        if size == Self::ZERO { Err("everything is a multiple of nothing".to_owned()) } else { Ok(size) }
    }
    fn shown(self) -> String {
        self.print().trim_matches('"').to_owned()
    }
}

const NAMES: [(Direction, &str); 3] =
    [(Direction::Read, "read"), (Direction::Write, "write"), (Direction::Trim, "trim")];

impl<T: Item> OptionValue for ByKind<T> {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let mut items = Vec::new();
        for entry in Vec::<String>::read(literal, Kind::Texts)? {
            let named = NAMES.iter().find_map(|&(kind, name)| {
                entry.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')).map(|rest| (kind, rest))
            });
            let (kind, text) = named.map_or((None, entry.as_str()), |(kind, rest)| (Some(kind), rest));
            if items.iter().any(|&(known, _)| known == kind) {
                return Err(format!("\"{entry}\" says a second time what holds"));
            }
            items.push((kind, T::item(text.trim())?));
        }
        Ok(Self(items))
    }
    fn print(&self) -> String {
        let entry = |&(kind, item): &(Option<Direction>, T)| {
            let name = NAMES.iter().find(|&&(known, _)| Some(known) == kind).map_or("", |&(_, name)| name);
            format!("\"{}\"", format!("{name} {}", item.shown()).trim_start())
        };
        match &self.0[..] {
            [only] => entry(only),
            all => format!("[{}]", all.iter().map(entry).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl OptionValue for Nice {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let number = match literal {
            Literal::Integer(number) => i32::try_from(*number).ok(),
            Literal::Text(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| (-20..=19).contains(number));
        number.map(Self).ok_or_else(|| format!("{} is no nice value from -20 to 19", literal.describe()))
    }
    fn print(&self) -> String {
        self.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;
    use crate::literal::Spanned;

    #[test]
    fn kinds_are_named_or_meant_together() {
        let read = |texts: &[&str]| {
            let text =
                |text: &&str| Spanned { value: Literal::Text((*text).to_owned()), span: Span::default() };
            ByKind::<Rate>::read(&Literal::List(texts.iter().map(text).collect()), Kind::Texts)
        };
        for (texts, printed) in [
            (&["5k/s"][..], "\"5000/s\""),
            (&["read 10/s", "write 1kB/s"], "[\"read 10/s\", \"write 1000B/s\"]"),
        ] {
            assert_eq!(read(texts).unwrap().print(), printed);
        }
        for wrong in [&["max"][..], &["read"], &["5/s", "6/s"], &["sync 5/s"], &["50%"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        let times = ByKind::<Nanos>::read(&Literal::Text("trim 5ms".to_owned()), Kind::Texts).unwrap();
        assert_eq!(
            (times.0[0], times.print()),
            ((Some(Direction::Trim), Nanos::millis(5)), "\"trim 5ms\"".to_owned())
        );
    }
}
