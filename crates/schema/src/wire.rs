//! How quantities of `fathom-units` are serialised: as bare numbers whose unit the field name or its doc states; and what
//! older documents of the same version say otherwise.

use crate::engine::{AioSettings, EngineKind, Registration};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An engine; `"libaio"` alone is what was written before its settings were kept.
pub(crate) fn engine_kind<'de, D: Deserializer<'de>>(from: D) -> Result<EngineKind, D::Error> {
    let value = Value::deserialize(from)?;
    if value == "libaio" {
        // Which reaped by calls then.
        return Ok(EngineKind::Libaio(AioSettings { userspace_reap: false, ..AioSettings::USUAL }));
    }
    EngineKind::deserialize(value).map_err(Error::custom)
}

/// Whether something is registered; a boolean is what was written while a ring went without what it could not have.
pub(crate) fn registration<'de, D: Deserializer<'de>>(from: D) -> Result<Registration, D::Error> {
    match Value::deserialize(from)? {
        Value::Bool(true) => Ok(Registration::WherePossible),
        Value::Bool(false) => Ok(Registration::Never),
        value => Registration::deserialize(value).map_err(Error::custom),
    }
}

/// A path as text. What is not UTF-8 in it is replaced: a record is no less true for the name of a folder beside it, and
/// could not be kept at all otherwise. What a job names is UTF-8.
pub(crate) mod path {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(value: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&value.to_string_lossy())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(PathBuf::from)
    }
}

/// `Bytes` as an integer number of bytes.
pub(crate) mod bytes {
    use fathom_units::Bytes;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
    pub(crate) fn serialize<S: Serializer>(value: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        u64::deserialize(from).map(Bytes)
    }
}

/// `Nanos` as an integer number of nanoseconds.
pub(crate) mod nanos {
    use fathom_units::Nanos;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
    pub(crate) fn serialize<S: Serializer>(value: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        u64::deserialize(from).map(Nanos)
    }
}

/// `Ratio` as a number from 0 to 1.
pub(crate) mod ratio {
    use fathom_units::Ratio;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde calls")]
    pub(crate) fn serialize<S: Serializer>(value: &Ratio, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.value())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Ratio, D::Error> {
        let value = f64::deserialize(from)?;
        Ratio::new(value).ok_or_else(|| D::Error::custom(format!("share {value} is outside 0 to 1")))
    }
}
