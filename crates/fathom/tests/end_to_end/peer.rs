//! fathom beside the peer whose job files it runs: the same jobs and groups, operations and bytes, and the same keys in the
//! JSON. Skipped aloud where the peer is not installed.

use crate::support::{Bench, skip};
use serde_json::Value;
use std::collections::BTreeSet;
