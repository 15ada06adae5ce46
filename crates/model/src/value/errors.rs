//! Errors that a stream tolerates, by kind of operation and error number.

use crate::literal::Literal;
use crate::row::{Kind, OptionValue};

/// Names of Linux' error numbers that I/O can meet, by number (asm-generic/errno-base.h and errno.h).
const NAMES: &[(&str, i32)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ESRCH", 3),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("ENOEXEC", 8),
    ("EBADF", 9),
    ("ECHILD", 10),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("ENOTBLK", 15),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("EPIPE", 32),
    ("EDOM", 33),
    ("ERANGE", 34),
    ("ENODATA", 61),
    ("ETIME", 62),
    ("ENOLINK", 67),
    ("EBADE", 52),
    ("EPROTO", 71),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ETIMEDOUT", 110),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("ENOMEDIUM", 123),
];

/// Largest number of an error that a system call returns (linux/err.h, `MAX_ERRNO`).
const NUMBER_MAX: i32 = 4095;

/// The number of an error given by name or number.
pub fn errno_of(text: &str) -> Option<i32> {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, number)| number);
    named.or_else(|| text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number)))
}

fn name_of(number: i32) -> String {
    let named = NAMES.iter().find(|(_, known)| *known == number);
    named.map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}

/// Errors that a stream tolerates, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tolerated {
    /// Of reads.
    pub reads: Vec<i32>,
    /// Of writes, trims and syncs.
    pub writes: Vec<i32>,
}

impl OptionValue for Tolerated {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let mut tolerated = Self::default();
        for entry in Vec::<String>::read(literal, kind)? {
            let mut words = entry.split_whitespace();
            let list = match words.next() {
                Some("read") => &mut tolerated.reads,
                Some("write") => &mut tolerated.writes,
                _ => return Err(format!("\"{entry}\" does not begin with read or write")),
            };
            let before = list.len();
            for word in words {
                list.push(errno_of(word).ok_or_else(|| format!("\"{word}\" is no error"))?);
            }
            if list.len() == before {
                return Err(format!("\"{entry}\" names no error"));
            }
        }
        Ok(tolerated)
    }

    fn print(&self) -> String {
        let entry = |kind: &str, list: &[i32]| {
            let names: Vec<String> = list.iter().copied().map(name_of).collect();
            (!list.is_empty()).then(|| format!("\"{kind} {}\"", names.join(" ")))
        };
        let entries = [entry("read", &self.reads), entry("write", &self.writes)];
        format!("[{}]", entries.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_read_and_print() {
        let list = Literal::Text("write EIO 28 4000".to_owned());
        let tolerated = Tolerated::read(&list, Kind::Texts).unwrap();
        assert_eq!((tolerated.reads.as_slice(), tolerated.writes.as_slice()), (&[][..], &[5, 28, 4000][..]));
        assert_eq!(tolerated.print(), "[\"write EIO ENOSPC 4000\"]");
        for wrong in ["EIO", "read", "read EFOO", "read 0", "trim EIO"] {
            assert!(Tolerated::read(&Literal::Text(wrong.to_owned()), Kind::Texts).is_err(), "{wrong}");
        }
    }
}
