//! The pages, which are in the binary: what `web/dist` held when it was built, or one plain page where there was nothing.

use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dist;

/// Shown where no pages were built in.
const PLAIN: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>fathom</title></head>\n\
    <body><h1>fathom</h1><p>The pages are not in this build. The API is at <a href=\"/api/v1/openapi.json\">\
    /api/v1/openapi.json</a>.</p></body></html>\n";

/// The file of a path; for paths of pages, which the script of the one page tells apart, that page.
pub(crate) async fn page(method: Method, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if let Some(file) = Dist::get(path).filter(|_| !path.is_empty()) {
        if !matches!(method, Method::GET | Method::HEAD) {
            return not_allowed();
        }
        // Names of built files have a digest of their content in them.
        let is_hashed = path.starts_with("assets/");
        let cache = if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" };
        let head = [(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, cache)];
        return (head, file.data).into_response();
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if path.starts_with("api/") || path.starts_with("assets/") || last.contains('.') {
        return (StatusCode::NOT_FOUND, "there is nothing\n").into_response();
    }
    if !matches!(method, Method::GET | Method::HEAD) {
        return not_allowed();
    }
    match Dist::get("index.html") {
        Some(file) => Html(file.data.into_owned()).into_response(),
        None => Html(PLAIN).into_response(),
    }
}

/// Pages are there to be got, and for nothing else.
fn not_allowed() -> Response {
    let allowed = [(header::ALLOW, "GET, HEAD")];
    (StatusCode::METHOD_NOT_ALLOWED, allowed, "a page is got by GET\n").into_response()
}

/// The media type of a built file, by its ending.
fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
