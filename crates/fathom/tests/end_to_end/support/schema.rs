//! Checks a document against the part of JSON Schema that the project's generated schemas use. A keyword it does not know
//! is a failure, so that nothing is passed unread.

use serde_json::Value;

/// What of `document` is not as `schema` has it: a line per place.
pub(crate) fn violations(document: &Value, schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, schema, schema, "", &mut found);
    found
}

fn check(value: &Value, schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        if schema != &Value::Bool(true) {
            found.push(format!("{place}: nothing is allowed here"));
        }
        return;
    };
    for (keyword, rule) in keywords {
        let fits = match keyword.as_str() {
            "$schema" | "title" | "description" | "format" | "default" | "$defs" => true,
            "$ref" => {
                let pointer =
                    rule.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
                check(
                    value,
                    root.pointer(pointer).expect("the reference leads somewhere"),
                    root,
                    place,
                    found,
                );
                true
            }
            "type" => has_type(value, rule),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().expect("a number")),
            "enum" => rule.as_array().expect("a list").contains(value),
            "const" => rule == value,
            "anyOf" | "oneOf" => rule.as_array().expect("a list").iter().any(|one| {
                let mut against = Vec::new();
                check(value, one, root, place, &mut against);
                against.is_empty()
            }),
            "required" => {
                let names = rule.as_array().expect("a list").iter().filter_map(Value::as_str);
                names.into_iter().all(|name| value.as_object().is_none_or(|object| object.contains_key(name)))
            }
            "properties" => {
                for (name, rule) in rule.as_object().expect("an object") {
                    if let Some(inner) = value.get(name) {
                        check(inner, rule, root, &format!("{place}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema["properties"].as_object();
                for (name, inner) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        check(inner, rule, root, &format!("{place}/{name}"), found);
                    }
                }
                true
            }
            "items" => {
                for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                    check(inner, rule, root, &format!("{place}/{index}"), found);
                }
                true
            }
            "prefixItems" => {
                let rules = rule.as_array().expect("a list");
                for (index, (inner, rule)) in value.as_array().into_iter().flatten().zip(rules).enumerate() {
                    check(inner, rule, root, &format!("{place}/{index}"), found);
                }
                true
            }
            "minItems" => value.as_array().is_none_or(|list| list.len() as u64 >= rule.as_u64().unwrap_or(0)),
            "maxItems" => value.as_array().is_none_or(|list| list.len() as u64 <= rule.as_u64().unwrap_or(0)),
            unknown => panic!("{place}: the keyword {unknown} is not known to this check"),
        };
        if !fits {
            found.push(format!("{place}: {keyword} {rule} does not fit {value}"));
        }
    }
}

fn has_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type of JSON"),
    };
    match rule {
        Value::String(name) => is(name),
        names => names.as_array().expect("a type or a list of them").iter().filter_map(Value::as_str).any(is),
    }
}
