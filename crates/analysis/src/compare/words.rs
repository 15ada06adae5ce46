//! What differs between two values of a job that have no form of their own for people: place by place, in the words
//! that their fields are called by. Paths are no difference.

use fathom_units::{Bytes, Nanos};
use serde::Serialize;
use serde_json::Value;

/// Places told of one value; of more the first say enough.
const PLACES_MAX: usize = 3;
/// Parts of a list or a group that are shown.
const PARTS_MAX: usize = 4;
/// Fields that hold paths: the same job has others on every host.
const PATHS: [&str; 4] = ["path", "folder", "output", "log"];
/// Fields that hold nanoseconds, and bytes, where the name does not say so.
const TIMES: [&str; 9] =
    ["every", "after", "target", "window", "rate_window", "rate_settles", "lead", "pause", "grace"];
const SIZES: [&str; 5] = ["size", "align", "locked", "range", "skip"];
/// Fields that hold shares of one.
const SHARES: [&str; 7] =
    ["share", "compressible", "dedupable", "error_share", "short_share", "access", "span"];

/// The fields of freezes and of places of a simulated device.
const STALLS: &str = "stalls";
const PLACES: &str = "places";

/// Where two values differ, and what either has there; the place is empty where it is the whole.
pub(super) fn differing<T: Serialize>(left: &T, right: &T) -> Vec<(String, String, String)> {
    let of = |value: &T| serde_json::to_value(value).unwrap_or(Value::Null);
    let mut found = Vec::new();
    walk(&mut Vec::new(), &of(left), &of(right), &mut found);
    found.truncate(PLACES_MAX);
    found
}

fn walk(place: &mut Vec<String>, left: &Value, right: &Value, found: &mut Vec<(String, String, String)>) {
    if left == right {
        return;
    }
    match (left, right) {
        (Value::Object(one), Value::Object(other)) if one.keys().any(|key| other.contains_key(key)) => {
            let others = other.iter().filter(|(key, _)| !one.contains_key(*key));
            for (key, _) in one.iter().chain(others).filter(|(key, _)| !PATHS.contains(&key.as_str())) {
                let of =
                    |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                place.push(key.clone());
                walk(place, &of(one), &of(other), found);
                place.pop();
            }
        }
        (Value::Array(one), Value::Array(other))
            if one.len() == other.len()
                && one.iter().any(Value::is_object)
                && place.last().is_none_or(|field| field != PLACES) =>
        {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                let is_several = left.as_array().is_some_and(|all| all.len() > 1);
                place.extend(is_several.then(|| (at + 1).to_string()));
                walk(place, one, other, found);
                place.truncate(place.len() - usize::from(is_several));
            }
        }
        _ => {
            let field = place.last().map_or("", String::as_str);
            let names: Vec<String> = place.iter().map(|field| title(field)).collect();
            found.push((joined(names), words(field, left), words(field, right)));
        }
    }
}

/// A field's name without its unit; nothing where it is the unit alone.
fn title(field: &str) -> String {
    if field == "ns" {
        return String::new();
    }
    let bare = ["_ns", "_bytes"].iter().find_map(|unit| field.strip_suffix(unit)).unwrap_or(field);
    bare.replace('_', " ")
}

fn joined(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_time(field: &str) -> bool {
    field == "ns" || field.ends_with("_ns") || TIMES.contains(&field)
}

fn is_size(field: &str) -> bool {
    field.ends_with("bytes") || SIZES.contains(&field)
}

/// The first of several texts, and how many follow.
pub(super) fn shortened(all: Vec<String>) -> String {
    let more = all.len().saturating_sub(PARTS_MAX);
    let text = all.into_iter().take(PARTS_MAX).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

/// `3 s for 400 ms`, as job files have it.
fn stall(pair: &Value) -> String {
    let time = |at: usize| Nanos(pair[at].as_u64().unwrap_or(0)).exact();
    format!("{} for {}", time(0), time(1))
}

/// `64 MiB..65 MiB takes 20 ms`, as job files have it.
fn sim_place(place: &Value) -> String {
    let bytes = |field: &str| Bytes(place[field].as_u64().unwrap_or(0));
    let does =
        place["service_ns"].as_u64().map_or("fails".to_owned(), |ns| format!("takes {}", Nanos(ns).exact()));
    format!("{}..{} {does}", bytes("from"), bytes("to"))
}

/// A value of a field.
fn words(field: &str, value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.replace('_', " "),
        Value::Array(all) if all.is_empty() => "none".to_owned(),
        // Each is a pair of when and for how long.
        Value::Array(all) if field == STALLS => shortened(all.iter().map(stall).collect()),
        Value::Array(all) if field == PLACES => shortened(all.iter().map(sim_place).collect()),
        // What a stream waits for is a list of others.
        Value::Array(all) if field == "after" => shortened(all.iter().map(|one| words("", one)).collect()),
        Value::Array(all) => shortened(all.iter().map(|one| words(field, one)).collect()),
        Value::Object(all) => shortened(
            all.iter()
                .filter(|(key, _)| !PATHS.contains(&key.as_str()))
                .map(|(key, value)| joined([title(key), words(key, value)]))
                .collect(),
        ),
        Value::Number(number) => match number.as_u64() {
            Some(u64::MAX) => "without bound".to_owned(),
            Some(ns) if is_time(field) => Nanos(ns).exact(),
            Some(bytes) if is_size(field) => Bytes(bytes).to_string(),
            _ if SHARES.contains(&field) => {
                format!("{} %", (number.as_f64().unwrap_or(0.0) * 1e4).round() / 1e2)
            }
            _ => number.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{DepthSearch, OperationKind, ProgramRun, Replay, SimService, TraceRule};
    use serde_json::json;

    fn told<T: Serialize>(left: &T, right: &T) -> Vec<String> {
        let one = |(place, left, right): (String, String, String)| format!("{place}: {left} / {right}");
        differing(left, right).into_iter().map(one).collect()
    }

    #[test]
    fn fields_are_told_in_words() {
        let search = |window: u64, share: f64| DepthSearch {
            target: Nanos::millis(1),
            window: Nanos::secs(window),
            share,
            goes_on: false,
        };
        assert_eq!(
            told(&search(10, 0.5), &search(20, 0.995)),
            ["window: 10 s / 20 s", "share: 50 % / 99.5 %"]
        );
        let (constant, exponential) =
            (SimService::Constant { ns: 100_000 }, SimService::Exponential { mean_ns: 1_000_000 });
        assert_eq!(told(&constant, &exponential), [": constant 100 µs / exponential mean 1 ms"]);
        assert_eq!(told(&constant, &SimService::Constant { ns: 200_000 }), ["constant: 100 µs / 200 µs"]);
        let one = |field: &str, value: Value| json!({ field: value });
        assert_eq!(
            told(&one("operations", json!(10)), &one("operations", json!(20))),
            ["operations: 10 / 20"]
        );
        assert_eq!(told(&one("after", json!([1])), &one("after", json!([1, 2]))), ["after: 1 / 1, 2"]);
        assert_eq!(told(&None::<u32>, &Some(7)), [": none / 7"]);
        assert_eq!(told(&u64::MAX, &7), [": without bound / 7"]);
    }

    /// The types that a stream consists of and that are told field by field, as they are written.
    const SOURCES: [&str; 10] = [
        include_str!("../../../schema/src/simulated.rs"),
        include_str!("../../../schema/src/step.rs"),
        include_str!("../../../schema/src/engine.rs"),
        include_str!("../../../schema/src/control.rs"),
        include_str!("../../../schema/src/demands.rs"),
        include_str!("../../../schema/src/memory.rs"),
        include_str!("../../../schema/src/settling.rs"),
        include_str!("../../../schema/src/trace.rs"),
        include_str!("../../../schema/src/verification.rs"),
        include_str!("../../../schema/src/walk.rs"),
    ];
    /// Types that have a form of their own for people, or are results.
    const TOLD_OTHERWISE: [&str; 11] = [
        "Step",
        "Target",
        "TargetKind",
        "Stream",
        "StreamLimits",
        "Extent",
        "TraceFact",
        "TraceFile",
        "TraceKind",
        "VerifyTotals",
        "DepthFound",
    ];
    /// Fields of listed names whose type says nothing of the unit; their documentation does.
    const BARE: [(&str, &str); 11] = [
        ("Case", "align"),
        ("Case", "size"),
        ("TraceRule", "align"),
        ("Zones", "size"),
        ("Zones", "range"),
        ("Zones", "skip"),
        ("ReuseClass", "share"),
        ("ZoneShare", "access"),
        ("ZoneShare", "span"),
        ("DepthSearch", "share"),
        ("TrimRule", "share"),
    ];
    /// Fields of listed names that hold no quantity: indices of streams, and what is told in words.
    const NONE: [(&str, &str); 2] = [("Control", "after"), ("SyncRule", "range")];

    /// Type, name and type of every field.
    fn fields() -> Vec<(&'static str, &'static str, &'static str)> {
        let mut found = Vec::new();
        for source in SOURCES {
            let mut of = None;
            for line in source.lines() {
                let code = line.trim_start().trim_start_matches("pub ");
                let declared = code.strip_prefix("struct ").or(code.strip_prefix("enum "));
                if let Some(name) = declared.filter(|_| !line.starts_with(' ')) {
                    of = name.split(|c: char| !c.is_alphanumeric()).next();
                } else if line.starts_with('}') {
                    of = None;
                } else if let (Some(of), Some((name, kind))) = (of, code.split_once(": ")) {
                    let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                    found.extend(kind.strip_suffix(',').filter(|_| is_name).map(|kind| (of, name, kind)));
                }
            }
        }
        found
    }

    /// Units are seen by names: each name that is listed has that unit wherever it is, and each quantity is listed.
    #[test]
    fn fields_have_the_units_that_their_names_say() {
        let fields = fields();
        let is_share = |name: &str| SHARES.contains(&name);
        for (of, name, kind) in fields.iter().filter(|(of, ..)| !TOLD_OTHERWISE.contains(of)) {
            let place = format!("{of}::{name}: {kind}");
            for (unit, says) in
                [("Nanos", is_time(name)), ("Bytes", is_size(name)), ("Ratio", is_share(name))]
            {
                let has = kind.split(|c: char| !c.is_alphanumeric()).any(|word| word == unit);
                assert!(!has || says, "{place} is a {unit}, which its name does not say");
                let is_listed = [&TIMES[..], &SIZES, &SHARES].iter().any(|names| names.contains(name));
                let is_known = BARE.contains(&(of, name)) || NONE.contains(&(of, name));
                assert!(has || !says || !is_listed || is_known, "{place} is no {unit}, which its name says");
            }
        }
        let told =
            |name: &&str| fields.iter().any(|(of, field, _)| field == name && !TOLD_OTHERWISE.contains(of));
        let unused: Vec<&str> =
            [&TIMES[..], &SIZES, &SHARES].concat().into_iter().filter(|name| !told(name)).collect();
        assert!(unused.is_empty(), "no field has the names {unused:?}");
        for (of, name) in BARE.into_iter().chain(NONE) {
            assert!(fields.iter().any(|field| (field.0, field.1) == (of, name)), "there is no {of}::{name}");
        }
    }

    #[test]
    fn paths_are_no_difference() {
        let replay = |path: &str, scale: u64| Replay {
            rule: TraceRule { path: path.into(), skips: [false; OperationKind::COUNT], scale, align: 512 },
            operations: 10,
            has_syncs: false,
            fingerprint: 1,
            only_read: Vec::new(),
        };
        assert_eq!(told(&replay("/a", 1), &replay("/b", 1)), [] as [&str; 0]);
        assert_eq!(told(&replay("/a", 1), &replay("/b", 2)), ["rule scale: 1 / 2"]);
        let program = |to: &str| ProgramRun {
            words: vec!["true".to_owned()],
            output: Some((to.into(), to.into())),
            grace: Nanos::secs(1),
        };
        assert_eq!(told(&program("/a"), &program("/b")), [] as [&str; 0]);
    }
}
