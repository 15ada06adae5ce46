//! Plans of whole jobs on made-up hosts: the examples, what is refused, what is chosen, and what always holds.

mod advice;
mod anywhere;
mod choices;
mod examples;
mod experiment;
mod faults;
mod foreign;
mod grown;
mod host;
mod properties;
mod scan;
mod search;
mod steady;
mod verification;
