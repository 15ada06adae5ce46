//! The `OpenAPI` document, made of the rows that the router is made of.

use crate::api;
use crate::fault::Fault;
use crate::routes::{BASE, Content, Parameter, Route, body_bytes_max};
use fathom_units::Bytes;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The document of a server at the usual port; kept in `docs/generated/openapi.json`.
pub fn document() -> String {
    document_of("fathom_session_7070")
}

/// The document of a server whose sessions are kept in a cookie of this name, as JSON, pretty-printed with a final newline.
pub(crate) fn document_of(cookie: &str) -> String {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in api::routes() {
        let operation = operation(&route, &mut schemas);
        let path = paths.entry(format!("{BASE}{}", route.path)).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    let schemas = schemas.take_definitions(true);
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "fathom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs, and what they measure, over HTTP. Every page of fathom uses this API only.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie,
                    "description": "The number is the port that the server listens at.",
                },
            },
        },
    });
    let mut text = serde_json::to_string_pretty(&document).expect("it has only string keys");
    text.push('\n');
    text
}

fn operation(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    let Route { method, path, role, summary, query, body, status, answer, handler: _ } = route;
    let in_path = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| parameter("path", name, "string", "", true));
    let in_query =
        query.iter().map(|&Parameter { name, kind, what }| parameter("query", name, kind, what, false));
    let mut operation = json!({
        "operationId": operation_id(method, path),
        "summary": summary,
        "responses": {
            status.as_str(): answered(answer, schemas),
            "default": {
                "description": "It was not done.",
                "content": { "application/json": { "schema": {
                    "type": "object",
                    "properties": { "error": schemas.subschema_for::<Fault>() },
                    "required": ["error"],
                } } },
            },
        },
    });
    let parameters: Vec<Value> = in_path.chain(in_query).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(content) = content(body, schemas) {
        let most = body_bytes_max(path);
        operation["requestBody"] = json!({
            "required": true,
            "description": format!("At most {}.", Bytes(most as u64)),
            "x-bytes-max": most,
            "content": content,
        });
    }
    match role {
        Some(role) => {
            operation["security"] = json!([{ "session": [] }]);
            operation["x-role"] = json!(role);
        }
        None => operation["security"] = json!([]),
    }
    operation
}

/// `get` `/runs/{run}/events` → `get_runs_run_events`.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

fn parameter(place: &str, name: &str, kind: &str, what: &str, required: bool) -> Value {
    let mut schema = json!({ "type": kind });
    if kind == "integer" {
        schema["minimum"] = json!(0);
    }
    json!({ "name": name, "in": place, "required": required, "description": what, "schema": schema })
}

fn answered(answer: &Content, schemas: &mut SchemaGenerator) -> Value {
    match content(answer, schemas) {
        Some(content) => json!({ "description": "Done.", "content": content }),
        None => json!({ "description": "Done." }),
    }
}

fn content(content: &Content, schemas: &mut SchemaGenerator) -> Option<Value> {
    match content {
        Content::None => None,
        Content::Json(schema) => Some(json!({ "application/json": { "schema": schema(schemas) } })),
        Content::Media(media) => Some(json!({ *media: { "schema": {} } })),
        Content::OneOf(all) => Some(
            all.iter()
                .map(|&media| (media.to_owned(), json!({ "schema": {} })))
                .collect::<Map<_, _>>()
                .into(),
        ),
    }
}
