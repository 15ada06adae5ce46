//! Texts of every dialect to the one model, and the model back to text.
//!
//! A front end is pure and total: text in, a [`fathom_model::Job`] and all its faults out, however bad the text. It owns
//! grammars and the peers' quirks; it does not know hosts, devices or steps, and opens no file.
#![forbid(unsafe_code)]

mod cap;
mod dialect;
pub mod fio;
pub mod icf;
mod names;
pub mod native;
pub mod vdbench;

pub use cap::DIAGNOSTICS_MAX;
pub use dialect::dialect_of;
