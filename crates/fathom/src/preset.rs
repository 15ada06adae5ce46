//! Ready-made workloads: the example jobs of the project, without their targets.

use fathom_model::Job;

/// Name, and the job it comes from.
const PRESETS: [(&str, &str); 10] = [
    ("oltp", include_str!("../../../examples/oltp.toml")),
    ("fileserver", include_str!("../../../examples/iometer-fileserver.toml")),
    ("webserver", include_str!("../../../examples/iometer-webserver.toml")),
    ("database", include_str!("../../../examples/iometer-database.toml")),
    ("workstation", include_str!("../../../examples/iometer-workstation.toml")),
    ("exchange", include_str!("../../../examples/exchange.toml")),
    ("spc1-like", include_str!("../../../examples/spc1-like.toml")),
    ("oracle", include_str!("../../../examples/oracle.toml")),
    ("vmware", include_str!("../../../examples/vmware.toml")),
    ("backup", include_str!("../../../examples/backup.toml")),
];

/// The job of a preset; its targets are the example's and have to be replaced.
pub(crate) fn job(name: &str) -> Result<Job, String> {
    let Some((_, text)) = PRESETS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no preset \"{name}\"; there are {}", names.join(", ")));
    };
    let (job, diagnostics) = fathom_frontend::native::read(name, text);
    assert!(!diagnostics.has_errors(), "the example {name} has faults: {diagnostics:?}");
    Ok(job)
}

/// Name, title and text of each.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    PRESETS.into_iter().map(|(name, text)| {
        let title = job(name).ok().and_then(|job| job.run.title.get().cloned()).unwrap_or_default();
        (name, title, text)
    })
}

/// A line per preset: name and title.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for (name, _) in PRESETS {
        let title = job(name).ok().and_then(|job| job.run.title.get().cloned()).unwrap_or_default();
        text += &format!("{name:<12} {title}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_sound_job() {
        for (name, _) in PRESETS {
            let job = job(name).unwrap();
            assert!(!fathom_model::check(&job).has_errors(), "{name}");
        }
        assert!(job("nothing").unwrap_err().contains("oltp"));
    }
}
