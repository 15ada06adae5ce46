//! Iometer's command line: its own one-letter options, with `/` or `-`, and what fathom needs beside.

use crate::cli::{ConsentArgs, FIRST_PORT, IometerArgs, sector_size};
use std::path::PathBuf;

/// What `--help` prints.
pub(super) const USAGE: &str = "\
Runs an Iometer configuration without a window and appends to a results file, as
Iometer does:

  fathom iometer -c FILE.icf -r results.csv [-t SECONDS]
  fathom iometer FILE.icf [results.csv [SECONDS]]
  fathom iometer --plan FILE.icf [--json]

Iometer's options begin with - or /, in either case:
  -c FILE        the configuration
  -r FILE        results are appended to this file; without it they are printed
  -t SECONDS     how long to wait for managers: there are none to wait for
  -p PORT        where the first network worker listens, each further one at the
                 next (10660)
  -m 1           accepted; there is no window

fathom's:
  --plan         print the tests of the configuration as JSON, and run nothing
  --json         a fault of the configuration is printed as JSON, too
  --map NAME=PATH
                 what stands for a target of the file: --map C:=/mnt/disk/file,
                 --map '1:=/dev/sdb'; NAME * stands for all that are not named;
                 sim: and null: need no storage
  --sector-size BYTES
                 what sizes, starting sectors and an align of 0 count in (512)
  --yes, --overwrite, --destroy DEV
                 consent to overwrite, as for `fathom run`
  --allow-net    network workers may use addresses that other hosts reach
  --store FOLDER keep the run in this folder instead of the usual one
  --quiet        show no progress
";

/// The command line, read.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) configuration: Option<String>,
    pub(super) results: Option<PathBuf>,
    pub(super) plan: bool,
    pub(super) json: bool,
    pub(super) maps: Vec<String>,
    pub(super) sector_size: Option<u64>,
    pub(super) yes: bool,
    pub(super) overwrite: bool,
    pub(super) destroy: Vec<String>,
    pub(super) allow_net: bool,
    pub(super) port: Option<u16>,
    pub(super) store: Option<PathBuf>,
    pub(super) quiet: bool,
    pub(super) help: bool,
    pub(super) version: bool,
}

impl Arguments {
    /// Reads the words; the error says what is wrong with them.
    pub(super) fn read(words: &[String]) -> Result<Self, String> {
        let mut arguments = Self::default();
        let mut free = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) if word.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                attached
                    .clone()
                    .or_else(|| words.next().cloned())
                    .ok_or_else(|| format!("{name} lacks its value"))
            };
            match name {
                "--plan" => arguments.plan = true,
                "--json" => arguments.json = true,
                "--map" => arguments.maps.push(value()?),
                "--sector-size" => {
                    let size = sector_size(&value()?).map_err(|reason| format!("--sector-size: {reason}"))?;
                    arguments.sector_size = Some(size);
                }
                "--yes" => arguments.yes = true,
                "--overwrite" => arguments.overwrite = true,
                "--allow-net" => arguments.allow_net = true,
                "--destroy" => arguments.destroy.push(value()?),
                "--store" => arguments.store = Some(PathBuf::from(value()?)),
                "--quiet" => arguments.quiet = true,
                "--help" | "-h" | "/?" | "-?" => arguments.help = true,
                "--version" => arguments.version = true,
                _ => match letter(name) {
                    Some('c') => arguments.configuration = Some(value()?),
                    Some('r') => arguments.results = Some(PathBuf::from(value()?)),
                    Some('p') => {
                        let value = value()?;
                        let port = value.parse().ok().filter(|&port: &u16| port > 0);
                        arguments.port = Some(port.ok_or_else(|| format!("{name} {value} is no port"))?);
                    }
                    Some('t' | 'm') => {
                        let value = value()?;
                        value.parse::<u64>().map_err(|_| format!("{name} {value} is no whole number"))?;
                    }
                    _ if name.starts_with('-') && name.len() > 1 => {
                        return Err(format!("there is no option {name}; `fathom iometer --help` lists all"));
                    }
                    _ => free.push(word.clone()),
                },
            }
        }
        let mut free = free.into_iter();
        if arguments.configuration.is_none() {
            arguments.configuration = free.next();
        }
        if arguments.results.is_none() {
            arguments.results = free.next().map(PathBuf::from);
        }
        if let Some(seconds) = free.next() {
            seconds.parse::<u64>().map_err(|_| format!("\"{seconds}\" is no number of seconds"))?;
        }
        match free.next() {
            Some(word) => Err(format!("\"{word}\" is one word too many")),
            None => Ok(arguments),
        }
    }
}

impl Arguments {
    /// What the user agrees to.
    pub(super) fn consent(&self) -> ConsentArgs {
        ConsentArgs {
            yes: self.yes,
            overwrite: self.overwrite,
            destroy: self.destroy.clone(),
            allow_exec: false,
            allow_net: self.allow_net,
        }
    }

    /// What stands for the targets.
    pub(super) fn targets(&self) -> IometerArgs {
        IometerArgs {
            maps: self.maps.clone(),
            sector_size: self.sector_size.unwrap_or(512),
            first_port: self.port.unwrap_or(FIRST_PORT),
        }
    }
}

/// One of Iometer's own options, which have one letter.
fn letter(word: &str) -> Option<char> {
    let mut chars = word.chars();
    match (chars.next(), chars.next(), chars.next()) {
        (Some('-' | '/'), Some(letter), None) => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_that_of_iometer() {
        let expect = |results: Option<&str>| Arguments {
            configuration: Some("a.icf".to_owned()),
            results: results.map(PathBuf::from),
            ..Arguments::default()
        };
        for line in ["-c a.icf -r r.csv", "/C a.icf /R r.csv /t 30", "a.icf r.csv 30", "-r r.csv a.icf"] {
            assert_eq!(read(line), Ok(expect(Some("r.csv"))), "{line}");
        }
        assert_eq!(read("a.icf"), Ok(expect(None)));
        let plan = Arguments { plan: true, json: true, ..expect(None) };
        for line in ["--plan a.icf --json", "--json --plan -c a.icf", "--plan --json a.icf"] {
            assert_eq!(read(line), Ok(plan.clone()), "{line}");
        }
        let maps = read("-c a.icf --map C:=/dev/x --map=1:=sim: --sector-size 4096").unwrap();
        assert_eq!(maps.maps, ["C:=/dev/x", "1:=sim:"]);
        assert_eq!(maps.sector_size, Some(4096));
        for line in ["-c", "-t x", "--plam a.icf", "a b 3 d", "a b c", "--sector-size 1000 a"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
