//! JSON as fio writes it: two blanks per level, a blank on each side of the colon, six decimals. Knows nothing of what is
//! in it.

/// A JSON value with fio's number formats. Keys may repeat, as fio's do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Integer(u64),
    Float(f64),
    Text(String),
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
}

impl Node {
    /// An object of string values.
    pub(super) fn texts(pairs: &[(String, String)]) -> Self {
        Self::Object(pairs.iter().map(|(name, value)| (name.clone(), Self::Text(value.clone()))).collect())
    }

    /// An object, its keys in this order.
    pub(super) fn object<const N: usize>(pairs: [(&str, Self); N]) -> Self {
        Self::Object(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The document's text, with a final newline.
    pub(super) fn print(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, level: usize) {
        match self {
            Self::Integer(value) => out.push_str(&value.to_string()),
            Self::Float(value) => out.push_str(&format!("{value:.6}")),
            Self::Text(text) => write_text(out, text),
            Self::Object(pairs) => {
                let items = pairs.iter().map(|(name, value)| (Some(name), value));
                write_items(out, level, ('{', '}'), items);
            }
            Self::Array(values) => {
                write_items(out, level, ('[', ']'), values.iter().map(|value| (None, value)));
            }
        }
    }
}

fn write_items<'a>(
    out: &mut String,
    level: usize,
    (open, close): (char, char),
    items: impl Iterator<Item = (Option<&'a String>, &'a Node)>,
) {
    let indent = |out: &mut String, level: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(level));
    };
    out.push(open);
    for (position, (name, value)) in items.enumerate() {
        if position > 0 {
            out.push(',');
        }
        indent(out, level + 1);
        if let Some(name) = name {
            write_text(out, name);
            out.push_str(" : ");
        }
        value.write(out, level + 1);
    }
    indent(out, level);
    out.push(close);
}

/// Unlike fio, which prints a tab or an escape character as it is, this is always valid JSON.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_fio_does() {
        let node = Node::object([
            ("a", Node::Integer(1)),
            ("b", Node::Array(vec![Node::object([("c", Node::Float(0.5))])])),
            ("d", Node::Text("x\"\t\u{1b}".to_owned())),
        ]);
        let expect = "{\n  \"a\" : 1,\n  \"b\" : [\n    {\n      \"c\" : 0.500000\n    }\n  ],\n  \"d\" : \
                      \"x\\\"\\t\\u001b\"\n}\n";
        assert_eq!(node.print(), expect);
        assert!(serde_json::from_str::<serde_json::Value>(expect).is_ok());
    }
}
