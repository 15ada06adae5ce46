//! All routes, each declared once: method, path, role, what goes in and comes out. The router and the `OpenAPI` document are
//! made of the same rows.

use crate::listen::{TIMES, bounded};
use crate::session::{Role, require};
use crate::{App, api, assets, guard};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

/// Where the API begins.
pub(crate) const BASE: &str = "/api/v1";
/// Largest body of a request but an imported run: far more than any job file.
pub(crate) const BODY_BYTES_MAX: usize = 4 << 20;
/// Largest run that is imported.
pub(crate) const IMPORT_BYTES_MAX: usize = 2 << 30;
/// What a body or an answer is.
pub(crate) enum Content {
    /// Nothing.
    None,
    /// JSON of this schema.
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Something else, by its media type.
    Media(&'static str),
    /// One of several, as it was asked for.
    OneOf(&'static [&'static str]),
}

/// JSON of a type.
pub(crate) fn json<T: JsonSchema>() -> Content {
    Content::Json(SchemaGenerator::subschema_for::<T>)
}

/// A parameter of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// Its type, as JSON schema calls it.
    pub(crate) kind: &'static str,
    pub(crate) what: &'static str,
}

const fn parameter(name: &'static str, kind: &'static str, what: &'static str) -> Parameter {
    Parameter { name, kind, what }
}

/// A parameter that is a text.
pub(crate) const fn text(name: &'static str, what: &'static str) -> Parameter {
    parameter(name, "string", what)
}

/// A parameter that is a whole number from 0 on.
pub(crate) const fn whole(name: &'static str, what: &'static str) -> Parameter {
    parameter(name, "integer", what)
}

/// A parameter that is any number.
pub(crate) const fn number(name: &'static str, what: &'static str) -> Parameter {
    parameter(name, "number", what)
}

/// A parameter that is `true` or `false`.
pub(crate) const fn flag(name: &'static str, what: &'static str) -> Parameter {
    parameter(name, "boolean", what)
}

/// Parameters of a query.
pub(crate) type Query = &'static [Parameter];

/// One operation of the API.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// After [`BASE`], as in `OpenAPI`.
    pub(crate) path: &'static str,
    /// Who may; `None`: everybody.
    pub(crate) role: Option<Role>,
    pub(crate) summary: &'static str,
    /// What may be said behind the path.
    pub(crate) query: Query,
    pub(crate) body: Content,
    pub(crate) status: StatusCode,
    pub(crate) answer: Content,
    pub(crate) handler: fn() -> MethodRouter<Arc<App>>,
}

/// Largest body of a request to this path, after [`BASE`].
pub(crate) fn body_bytes_max(path: &str) -> usize {
    if path == "/runs/import" { IMPORT_BYTES_MAX } else { BODY_BYTES_MAX }
}

/// All of it, as one service.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut router = Router::new();
    for route in api::routes() {
        let known = route.query;
        let mut handler = (route.handler)();
        handler = handler.layer(from_fn(move |request, next| api::known_query(known, request, next)));
        let bytes_max = body_bytes_max(route.path);
        // What takes a run's file in says by itself what else there is for larger ones.
        if bytes_max == BODY_BYTES_MAX {
            handler =
                handler.layer(from_fn(move |request, next| api::known_length(bytes_max, request, next)));
        }
        if let Some(role) = route.role {
            handler = handler.layer(from_fn_with_state((Arc::clone(app), role), require));
        }
        handler = handler.layer(DefaultBodyLimit::max(bytes_max));
        let is_long = ["/runs/{run}/events", "/runs/import"].contains(&route.path);
        handler = bounded(handler, TIMES, is_long);
        router = router.route(&format!("{BASE}{}", route.path), handler);
    }
    router
        // What the API says is short, streamed, or a file that is packed already; and a run that is measured wants the CPU.
        .fallback_service(any(assets::page).layer(CompressionLayer::new()))
        .layer(from_fn_with_state(Arc::clone(app), api::session::enter))
        .layer(CatchPanicLayer::new())
        .layer(from_fn_with_state(Arc::clone(app), guard::check))
        .layer(from_fn(api::errors))
        .with_state(Arc::clone(app))
}
