//! The machinery of the option table: a row per option, a typed field per row, one macro that makes both.

use crate::diagnostic::{Diagnostics, Span, nearest};
use crate::literal::{Literal, Spanned};

/// One option, as help, manual, forms and schemas show it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// `stream.queue_depth`.
    pub path: &'static str,
    /// Documentation; the first sentence is the short help and stands alone.
    pub doc: &'static str,
    /// What values look like.
    pub kind: Kind,
    /// The default as a user would write it; empty when there is none.
    pub default: fn() -> String,
    /// Which part of a job it belongs to.
    pub group: Group,
    /// fio's name for it; empty when fio has none.
    pub fio: &'static str,
    /// Vdbench's.
    pub vdbench: &'static str,
    /// Iometer's.
    pub iometer: &'static str,
    /// A value as a user would write it in a native job.
    pub example: &'static str,
}

impl Row {
    /// The name within its section: `queue_depth`.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// What its values are, without the examples that [`Kind::describe`] gives: for beside an example of its own.
    pub fn wants(&self) -> String {
        let whole = self.kind.describe();
        whole.split_once(", e.g.").map_or(whole.clone(), |(what, _)| what.to_owned())
    }
}

/// Which part of a job an option belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// The run as a whole.
    Run,
    /// What is measured.
    Target,
    /// Which operations.
    Workload,
    /// Which concurrency and pacing.
    Stream,
    /// What runs together, how long, and what is swept.
    Stage,
}

impl Group {
    /// The section's name in native jobs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Target => "target",
            Self::Workload => "workload",
            Self::Stream => "stream",
            Self::Stage => "stage",
        }
    }
}

/// What values of an option look like, with unit and range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Free text.
    Text,
    /// A list of texts; one text is a list of one.
    Texts,
    /// `true` or `false`.
    Flag,
    /// A whole number in `min..=max`.
    Count {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A list of whole numbers or ranges `a-b`.
    Counts,
    /// A size in bytes, with a unit.
    Size,
    /// A signed distance in bytes, with a unit.
    Distance,
    /// A size, or a share of what is there.
    SizeOrShare,
    /// A duration, with a unit.
    Time,
    /// A share, with `%`.
    Share,
    /// Operations or bytes per second, or a share of the maximum.
    Rate,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A structured value; the doc says which.
    Structured(&'static str),
}

impl Kind {
    /// In words, for messages and manuals.
    pub fn describe(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Texts => "a text or a list of texts".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count { min, max: u64::MAX } => format!("a whole number from {min}"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Counts => "a list of whole numbers, e.g. [0, 2] or \"0-3\"".to_owned(),
            Self::Size => "a size, e.g. \"8KiB\"".to_owned(),
            Self::Distance => "a distance, e.g. \"8KiB\" or \"-8KiB\"".to_owned(),
            Self::SizeOrShare => "a size or a share, e.g. \"64MiB\" or \"20%\"".to_owned(),
            Self::Time => "a time, e.g. \"60s\"".to_owned(),
            Self::Share => "a share, e.g. \"70%\"".to_owned(),
            Self::Rate => "a rate, e.g. \"5k/s\", \"200MB/s\", \"50%\" or \"max\"".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Structured(what) => what.to_owned(),
        }
    }
}

/// A type that an option's value can have.
pub trait OptionValue: Sized + Clone {
    /// Reads a value; the error is a fragment that says what is wrong with it.
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String>;
    /// As a user would write it in a native job.
    fn print(&self) -> String;
}

/// An option with a default.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<T> {
    default: T,
    given: Option<Spanned<T>>,
}

impl<T> Setting<T> {
    /// One with this default and nothing given.
    pub const fn with_default(default: T) -> Self {
        Self { default, given: None }
    }

    /// The value given, else the default.
    pub fn get(&self) -> &T {
        self.given.as_ref().map_or(&self.default, |given| &given.value)
    }

    /// The value given, if one was.
    pub fn given(&self) -> Option<&T> {
        self.given.as_ref().map(|given| &given.value)
    }

    /// Where it was given.
    pub fn span(&self) -> Option<Span> {
        self.given.as_ref().map(|given| given.span)
    }

    /// Gives it a value; the last one counts.
    pub fn set(&mut self, value: T, span: Span) {
        self.given = Some(Spanned { value, span });
    }
}

/// An option without a default.
#[derive(Debug, Clone, PartialEq)]
pub struct Given<T> {
    given: Option<Spanned<T>>,
}

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self { given: None }
    }
}

impl<T> Given<T> {
    /// The value, if one was given.
    pub fn get(&self) -> Option<&T> {
        self.given.as_ref().map(|given| &given.value)
    }

    /// Where it was given.
    pub fn span(&self) -> Option<Span> {
        self.given.as_ref().map(|given| given.span)
    }

    /// Gives it a value; the last one counts.
    pub fn set(&mut self, value: T, span: Span) {
        self.given = Some(Spanned { value, span });
    }
}

/// A section's options: rows and typed fields.
pub trait Options: Default {
    /// Which part of a job this is.
    const GROUP: Group;
    /// Its rows, in declaration order.
    fn rows() -> &'static [Row];
    /// Sets the option called `name` (without the section). `None` when there is none of that name.
    fn set(&mut self, name: &str, literal: &Literal, span: Span) -> Option<Result<(), String>>;
    /// The options given, as name and value as a user would write it, in declaration order.
    fn given(&self) -> Vec<(&'static str, String)>;

    /// Sets an option and collects what is wrong with name or value. `place` is where the name stands.
    fn set_or_report(&mut self, name: &Spanned<String>, literal: &Spanned<Literal>, to: &mut Diagnostics) {
        match self.set(&name.value, &literal.value, literal.span) {
            Some(Ok(())) => {}
            Some(Err(reason)) => {
                let row = Self::rows().iter().find(|row| row.name() == name.value);
                let help = row.map_or_else(String::new, |row| {
                    format!("write {}, for example {} = {}", row.wants(), row.name(), row.example)
                });
                to.error("job.bad-value", literal.span, format!("{}: {reason}", name.value), help);
            }
            None => {
                let names = Self::rows().iter().map(Row::name);
                let help = elsewhere(&name.value).unwrap_or_else(|| {
                    nearest(&name.value, names).map_or_else(
                        || "`fathom options` lists all".to_owned(),
                        |near| format!("did you mean {near}?"),
                    )
                });
                let message =
                    format!("unknown option \"{}\" in a {} section", name.value, Self::GROUP.name());
                to.error("job.unknown-option", name.span, message, help);
            }
        }
    }
}

/// Where an option of this name belongs, or what it is called here that others call so; nothing where nobody does.
fn elsewhere(name: &str) -> Option<String> {
    let groups: Vec<&str> = rows().filter(|row| row.name() == name).map(|row| row.group.name()).collect();
    if !groups.is_empty() {
        return Some(format!("it is an option of a {} section; put it there", groups.join(" or a ")));
    }
    let called = |row: &&Row| [row.fio, row.vdbench, row.iometer].contains(&name);
    let own: Vec<String> = rows()
        .filter(called)
        .map(|row| format!("{} (of a {} section)", row.name(), row.group.name()))
        .collect();
    (!own.is_empty()).then(|| format!("here it is {}", own.join(" or ")))
}

/// All rows of all sections.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    crate::RunOptions::rows()
        .iter()
        .chain(crate::TargetOptions::rows())
        .chain(crate::WorkloadOptions::rows())
        .chain(crate::StreamOptions::rows())
        .chain(crate::StageOptions::rows())
}

/// Declares a section: for each option a doc, a name, a type, a default (or none), a kind, dialect names, an example.
/// Makes the struct with one [`Setting`] or [`Given`] per option and its [`Options`] implementation.
macro_rules! options {
    (
        $(#[doc = $section_doc:literal])+
        $section:ident, $group:expr, $prefix:literal;
        $(
            $(#[doc = $doc:literal])+
            $name:ident : $type:ty $(= $default:expr)?, $kind:expr
            $(, fio $fio:literal)? $(, vdbench $vdbench:literal)? $(, iometer $iometer:literal)?
            , example $example:literal;
        )+
    ) => {
        $(#[doc = $section_doc])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $section {
            $( $(#[doc = $doc])+ pub $name: options!(@field $type $(, $default)?), )+
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $( $name: options!(@init $type $(, $default)?), )+ }
            }
        }

        impl $crate::row::Options for $section {
            const GROUP: $crate::row::Group = $group;

            fn rows() -> &'static [$crate::row::Row] {
                const ROWS: &[$crate::row::Row] = &[
                    $( $crate::row::Row {
                        path: concat!($prefix, ".", stringify!($name)),
                        doc: concat!($($doc, "\n"),+),
                        kind: $kind,
                        default: options!(@default $type $(, $default)?),
                        group: $group,
                        fio: concat!($($fio)?),
                        vdbench: concat!($($vdbench)?),
                        iometer: concat!($($iometer)?),
                        example: $example,
                    }, )+
                ];
                ROWS
            }

            fn set(
                &mut self,
                name: &str,
                literal: &$crate::literal::Literal,
                span: $crate::diagnostic::Span,
            ) -> Option<Result<(), String>> {
                match name {
                    $( stringify!($name) => Some(
                        <$type as $crate::row::OptionValue>::read(literal, $kind)
                            .map(|value| self.$name.set(value, span)),
                    ), )+
                    _ => None,
                }
            }

            fn given(&self) -> Vec<(&'static str, String)> {
                let mut given = Vec::new();
                $( if self.$name.span().is_some() {
                    given.push((stringify!($name), options!(@print self.$name, $type $(, $default)?)));
                } )+
                given
            }
        }
    };
    (@field $type:ty) => { $crate::row::Given<$type> };
    (@field $type:ty, $default:expr) => { $crate::row::Setting<$type> };
    (@init $type:ty) => { $crate::row::Given::default() };
    (@init $type:ty, $default:expr) => { $crate::row::Setting::with_default($default) };
    (@default $type:ty) => { || String::new() };
    (@default $type:ty, $default:expr) => { || <$type as $crate::row::OptionValue>::print(&$default) };
    (@print $field:expr, $type:ty) => {
        $field.get().map(<$type as $crate::row::OptionValue>::print).unwrap_or_default()
    };
    (@print $field:expr, $type:ty, $default:expr) => {
        <$type as $crate::row::OptionValue>::print($field.get())
    };
}
pub(crate) use options;
