//! Values as a front end read them, before they have a type.

use crate::diagnostic::Span;

/// Something with the place it was written at.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The thing.
    pub value: T,
    /// Its place.
    pub span: Span,
}

/// An untyped value.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `"8KiB"`.
    Text(String),
    /// `32`.
    Integer(i64),
    /// `0.5`.
    Float(f64),
    /// `true`.
    Boolean(bool),
    /// `[1, 2, 4]`.
    List(Vec<Spanned<Literal>>),
    /// `{ read = "70%" }`, in written order.
    Table(Vec<(Spanned<String>, Spanned<Literal>)>),
}

impl Literal {
    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Integer(n) => n.to_string(),
            Self::Float(x) => x.to_string(),
            Self::Boolean(b) => b.to_string(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// As a user would write it in a native job.
    pub fn print(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(n) => n.to_string(),
            Self::Float(x) => format!("{x:?}"),
            Self::Boolean(b) => b.to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.print()).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Table(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{} = {}", key.value, value.value.print()))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

impl From<&str> for Literal {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
