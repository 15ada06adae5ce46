//! What is refused before an operation is reached, in the words of all other faults: the libraries that read bodies and
//! queries speak of types of this program, which nobody who asks can know.

use crate::routes::Query;
use fathom_units::Bytes;

/// What is wrong, and the way out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) message: String,
    pub(super) help: String,
}

const FORMS: &str = "GET /api/v1/openapi.json has the form of every request";

/// What a library says of a body or query, in other words.
pub(super) fn told(said: &str) -> Told {
    let help = FORMS.to_owned();
    if said.starts_with("Expected request with `Content-Type") {
        let message = "the body is not declared as JSON".to_owned();
        return Told { message, help: "send the header Content-Type: application/json".to_owned() };
    }
    if let Some(rest) = said.strip_prefix("Failed to parse the request body as JSON: ") {
        let place = place(rest).map(|(_, place)| format!(" ({place})")).unwrap_or_default();
        return Told { message: format!("the body is no JSON{place}"), help };
    }
    if let Some(rest) = said.strip_prefix("Failed to deserialize the JSON body into the target type: ") {
        let (rest, _) = place(rest).unwrap_or((rest, String::new()));
        let (of, what) = field(rest);
        let (message, help) = fault(what);
        let message = if of.is_empty() { message } else { format!("{of}: {message}") };
        return Told { message, help: help.unwrap_or_else(|| FORMS.to_owned()) };
    }
    if let Some(rest) = said.strip_prefix("Failed to deserialize query string: ") {
        let (of, what) = field(rest);
        if let Some((name, _)) = what.strip_prefix("duplicate field `").and_then(|rest| rest.split_once('`'))
        {
            let message = format!("the parameter \"{name}\" is there twice");
            return Told { message, help: "give it once".to_owned() };
        }
        let (message, own) = fault(what);
        let message = if of.is_empty() { message } else { format!("the parameter {of}: {message}") };
        return Told { message, help: own.unwrap_or(help) };
    }
    Told { message: said.to_owned(), help: String::new() }
}

/// What is said of a body that is too large.
pub(super) fn too_large(bytes_max: usize) -> Told {
    let message = format!("the body has more than {}", Bytes(bytes_max as u64));
    let help = "shorten it; of a job's text, what it names need not be in it".to_owned();
    Told { message, help }
}

/// What is said of the first parameter that is none of those that are known.
pub(super) fn unknown_parameter<'a>(mut given: impl Iterator<Item = &'a str>, known: Query) -> Option<Told> {
    let name = given.find(|name| !known.iter().any(|known| known.name == *name))?;
    let names: Vec<&str> = known.iter().map(|known| known.name).collect();
    let help = if names.is_empty() {
        "there are none here".to_owned()
    } else {
        format!("parameters are {}", names.join(", "))
    };
    Some(Told { message: format!("there is no parameter \"{name}\""), help })
}

/// What is said before its place, and the place: ` at line 1 column 5`.
fn place(said: &str) -> Option<(&str, String)> {
    let (before, place) = said.rsplit_once(" at line ")?;
    let (line, column) = place.split_once(" column ")?;
    Some((before, format!("line {line}, column {column}")))
}

/// The way to a field (`consent.answers[0].path`), where it is told, and what is wrong there.
fn field(said: &str) -> (&str, &str) {
    match said.split_once(": ") {
        Some((of, what)) if !of.contains(' ') && of != "." => (of, what),
        Some((".", what)) => ("", what),
        _ => ("", said),
    }
}

/// 2⁶⁴: from there on no whole number is one for the parser.
const WHOLE_MAX: f64 = 18_446_744_073_709_551_616.0;

fn fault(what: &str) -> (String, Option<String>) {
    let named = |start: &str| {
        let rest = what.strip_prefix(start)?.strip_prefix(" `")?;
        rest.split_once('`')
    };
    if let Some((name, rest)) = named("unknown field") {
        return (format!("there is no field \"{name}\""), choice("fields are", rest));
    }
    if let Some((name, _)) = named("missing field") {
        return (format!("the field \"{name}\" is missing"), None);
    }
    if let Some((name, _)) = named("duplicate field") {
        return (format!("the field \"{name}\" is there twice"), None);
    }
    if let Some((name, rest)) = named("unknown variant") {
        return (format!("\"{name}\" is none of its words"), choice("use", rest));
    }
    if let Some((number, _)) = named("invalid value: integer") {
        return match number.strip_prefix('-') {
            Some(_) => (format!("{number} is below 0"), Some("give a whole number from 0 on".to_owned())),
            None => (format!("{number} is above what a whole number here may be"), None),
        };
    }
    if let Some((count, wanted)) =
        what.strip_prefix("invalid length ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        return (format!("a list of {count} stands where {} is expected", kind(wanted)), None);
    }
    // A whole number beyond 64 bits has become another kind of number.
    let as_float = what.strip_prefix("invalid type: floating point `").and_then(|rest| rest.split_once('`'));
    if let Some((number, expected)) = as_float
        && kind(expected.trim_start_matches(", expected ")) == "a whole number"
        && number.parse::<f64>().is_ok_and(|number| number.abs() >= WHOLE_MAX)
    {
        return (format!("{number} is above what a whole number here may be"), None);
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some((found, wanted)) =
            what.strip_prefix(start).and_then(|rest| rest.rsplit_once(", expected "))
        {
            return (format!("{} stands where {} is expected", kind(found), kind(wanted)), None);
        }
    }
    if what.contains("float literal") || what.contains("parse float") {
        return ("this is no number".to_owned(), Some("give one such as 1.5".to_owned()));
    }
    if what.contains("provided string was not `true` or `false`") {
        return ("this is neither true nor false".to_owned(), None);
    }
    if what.starts_with("invalid digit")
        || what.starts_with("number too large")
        || what.contains("from empty string")
    {
        return ("this is no whole number".to_owned(), None);
    }
    (what.to_owned(), None)
}

/// The words between which there is a choice: ``, expected one of `a`, `b` ``.
fn choice(said: &str, rest: &str) -> Option<String> {
    let words: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    (!words.is_empty()).then(|| format!("{said} {}", words.join(", ")))
}

/// A kind of value as people call it; what was found has its value behind it.
fn kind(said: &str) -> String {
    let (name, value) = match said.find(['`', '"']) {
        Some(at) => (said[..at].trim(), said[at..].trim_matches('`')),
        None => (said, ""),
    };
    let name = match name {
        "map" | "a map" => "an object",
        "sequence" | "a sequence" => "a list",
        "string" | "a string" | "str" | "a borrowed string" | "path string" => "a text",
        "boolean" | "a boolean" => "true or false",
        "integer" | "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        "floating point" | "f64" | "f32" => "a number",
        "null" | "unit" => "nothing",
        name if name.starts_with("struct ")
            || name.contains("enum ")
            || name.starts_with("internally tagged") =>
        {
            "an object"
        }
        name => name,
    };
    if value.is_empty() { name.to_owned() } else { format!("{name} ({value})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Json;
    use axum::body::Body;
    use axum::extract::{FromRequest, Query};
    use axum::http::{Request, Uri};
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "what is refused is not looked at")]
    struct Order {
        job: Source,
        role: Option<Role>,
        maps: Option<Vec<u32>>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "what is refused is not looked at")]
    struct Source {
        text: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Role {
        Viewer,
        Operator,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "what is refused is not looked at")]
    struct Filter {
        limit: Option<u32>,
        after_s: Option<f64>,
        #[serde(default)]
        targets: bool,
    }

    /// What the library says of a body that it cannot read as a `T`.
    fn of_body<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> String {
        Json::<T>::from_bytes(body.as_bytes()).expect_err(body).body_text()
    }

    /// What it says of a request that does not say what its body is.
    async fn of_undeclared() -> String {
        let request = Request::new(Body::from("{}"));
        Json::<Order>::from_request(request, &()).await.expect_err("it is not declared").body_text()
    }

    fn check(said: &str, message: &str, help: &str) {
        assert_eq!(told(said), Told { message: message.to_owned(), help: help.to_owned() }, "{said}");
    }

    #[test]
    fn bodies_are_refused_in_other_words() {
        let job = r#""job": {"text": "x"}"#;
        for (body, message, help) in [
            (
                format!(r#"{{{job}, "texts": 1}}"#),
                r#"texts: there is no field "texts""#,
                "fields are job, role, maps",
            ),
            ("{}".to_owned(), r#"the field "job" is missing"#, FORMS),
            (r#"{"job": {}}"#.to_owned(), r#"job: the field "text" is missing"#, FORMS),
            (format!("{{{job}, {job}}}"), r#"the field "job" is there twice"#, FORMS),
            (
                r#"{"job": {"text": 5}}"#.to_owned(),
                "job.text: a whole number (5) stands where a text is expected",
                FORMS,
            ),
            (
                format!(r#"{{{job}, "role": "boss"}}"#),
                r#"role: "boss" is none of its words"#,
                "use viewer, operator",
            ),
            (
                format!(r#"{{{job}, "maps": [1, true]}}"#),
                "maps[1]: true or false (true) stands where a whole number is expected",
                FORMS,
            ),
            (
                format!(r#"{{{job}, "maps": [-1]}}"#),
                "maps[0]: -1 is below 0",
                "give a whole number from 0 on",
            ),
            (
                format!(r#"{{{job}, "maps": [4294967296]}}"#),
                "maps[0]: 4294967296 is above what a whole number here may be",
                FORMS,
            ),
            ("[]".to_owned(), "a list of 0 stands where an object is expected", FORMS),
            ("5".to_owned(), "a whole number (5) stands where an object is expected", FORMS),
            ("nonsense".to_owned(), "the body is no JSON (line 1, column 2)", FORMS),
        ] {
            check(&of_body::<Order>(&body), message, help);
        }
    }

    #[test]
    fn queries_are_refused_in_other_words() {
        for limit in ["many", "-1", "99999999999", ""] {
            let uri: Uri = format!("/runs?limit={limit}").parse().expect("it is one");
            let said = Query::<Filter>::try_from_uri(&uri).expect_err(limit).body_text();
            check(&said, "the parameter limit: this is no whole number", FORMS);
        }
        for after in ["", "abc", "1.5s"] {
            let uri: Uri = format!("/runs?after_s={after}").parse().expect("it is one");
            let said = Query::<Filter>::try_from_uri(&uri).expect_err(after).body_text();
            check(&said, "the parameter after_s: this is no number", "give one such as 1.5");
        }
        for targets in ["", "yes", "1"] {
            let uri: Uri = format!("/runs?targets={targets}").parse().expect("it is one");
            let said = Query::<Filter>::try_from_uri(&uri).expect_err(targets).body_text();
            check(&said, "the parameter targets: this is neither true nor false", FORMS);
        }
    }

    #[test]
    fn what_is_undeclared_or_unknown_is_refused_as_it_is() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        check(
            &runtime.block_on(of_undeclared()),
            "the body is not declared as JSON",
            "send the header Content-Type: application/json",
        );
        check("length limit exceeded", "length limit exceeded", "");
    }
}
