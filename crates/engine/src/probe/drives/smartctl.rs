//! What ATA and SCSI drives say of their health, through `smartctl` (smartmontools, 7.0 or newer), which knows their ways and
//! those of the adapters before them.

use fathom_schema::drive as name;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the program is looked for beside `PATH`, which often has no folders of administrators.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
/// What is asked for: which drive, its verdict, its tests, its attributes, errors it counts, how worn it is.
const ASKED: [&str; 9] = ["--json=c", "-i", "-H", "-c", "-A", "-l", "error", "-l", "ssd"];

/// What a drive says; else why it says nothing.
pub(super) fn ask(device: &Path) -> super::Answer {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from));
    let program = folders.map(|folder| folder.join("smartctl")).find(|program| program.is_file());
    let program = program.ok_or("it is not installed (package smartmontools)")?;
    // Of a group of its own: it comes to its end whoever ends the run at the terminal. Its exit code has a bit for each thing that
    // is wrong with the drive, and all of them are in what it prints.
    let ended = Command::new(program).args(ASKED).arg(device).stdin(Stdio::null()).process_group(0).output();
    read(&ended.map_err(|error| error.to_string())?.stdout)
}

/// Reads the program's JSON.
fn read(text: &[u8]) -> Result<Vec<(&'static str, String)>, String> {
    let document: Value =
        serde_json::from_slice(text).map_err(|_| "it is too old to answer in JSON (7.0 does)".to_owned())?;
    let at = |path: &str| document.pointer(path);
    let number = |path: &str| at(path)?.as_u64();
    let attribute = |id: u64| {
        let table = at("/ata_smart_attributes/table")?.as_array()?;
        let row = table.iter().find(|row| row.get("id").and_then(Value::as_u64) == Some(id))?;
        // The text has the count first; what makers put into the upper bytes comes behind it.
        let text = row.pointer("/raw/string").and_then(Value::as_str);
        let leading = text.and_then(|text| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        leading.or_else(|| row.pointer("/raw/value")?.as_u64())
    };
    // ACS-3, A.5.7: the page of devices of solid state.
    let indicator = || {
        let pages = at("/ata_device_statistics/pages")?.as_array()?;
        let rows = pages.iter().filter_map(|page| page.get("table")?.as_array()).flatten();
        let is_it = |row: &&Value| {
            row.get("name").and_then(Value::as_str) == Some("Percentage Used Endurance Indicator")
        };
        rows.into_iter().find(is_it)?.get("value")?.as_u64()
    };
    let uncorrected = || {
        let of = |kind: &str| number(&format!("/scsi_error_counter_log/{kind}/total_uncorrected_errors"));
        ["read", "write", "verify"].into_iter().filter_map(of).reduce(|sum, one| sum + one)
    };
    let passed = at("/smart_status/passed").and_then(Value::as_bool);
    let wear = number("/endurance_used/current_percent")
        .or_else(|| number("/scsi_percentage_used_endurance_indicator"))
        .or_else(indicator);
    let self_test = number("/ata_smart_data/self_test/status/value").map(|status| match status >> 4 {
        // The upper half says how a test goes, the lower one how many tenths are left (ACS-3, 7.48).
        0xf => format!("running, {} % left", (status & 0xf) * 10),
        _ => "none".to_owned(),
    });
    let count = |value: Option<u64>| value.map(|value| value.to_string());
    let found = [
        (name::STATUS, passed.map(|passed| if passed { "passed" } else { "failed" }.to_owned())),
        (name::TEMPERATURE, number("/temperature/current").map(|value| format!("{value} °C"))),
        (name::POWER_ON_HOURS, count(number("/power_on_time/hours"))),
        (name::WEAR, wear.map(|value| format!("{value} %"))),
        (name::REALLOCATED, count(attribute(5).or_else(|| number("/scsi_grown_defect_list")))),
        (name::PENDING, count(attribute(197))),
        (name::UNCORRECTABLE, count(attribute(198))),
        (name::INTERFACE_ERRORS, count(attribute(199))),
        (name::MEDIA_ERRORS, count(uncorrected())),
        (name::SELF_TEST, self_test),
    ];
    let said: Vec<(&'static str, String)> =
        found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    if said.is_empty() {
        let message = at("/smartctl/messages/0/string").and_then(Value::as_str);
        return Err(message.unwrap_or("the drive says nothing of its health").to_owned());
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<(&'static str, String)> {
        read(text.as_bytes()).expect("it says something")
    }

    #[test]
    fn disks_of_ata_have_attributes() {
        let row =
            |id: u64, raw: u64| format!(r#"{{"id":{id},"value":100,"raw":{{"value":{raw},"string":"x"}}}}"#);
        let table =
            [(5, 8), (9, 70_000_000_123), (197, 16), (198, 2), (199, 1)].map(|(id, raw)| row(id, raw));
        let text = format!(
            r#"{{"smart_status":{{"passed":false}},"temperature":{{"current":41}},"power_on_time":{{"hours":123}},
                "ata_smart_data":{{"self_test":{{"status":{{"value":249}}}}}},
                "ata_device_statistics":{{"pages":[{{"number":7,"name":"Solid State Device Statistics","table":[
                    {{"offset":8,"name":"Percentage Used Endurance Indicator","size":1,"value":11}}]}}]}},
                "ata_smart_attributes":{{"table":[{}]}}}}"#,
            table.join(",")
        );
        let expect = [
            (name::STATUS, "failed"),
            (name::TEMPERATURE, "41 °C"),
            (name::POWER_ON_HOURS, "123"),
            (name::WEAR, "11 %"),
            (name::REALLOCATED, "8"),
            (name::PENDING, "16"),
            (name::UNCORRECTABLE, "2"),
            (name::INTERFACE_ERRORS, "1"),
            (name::SELF_TEST, "running, 90 % left"),
        ];
        assert_eq!(said(&text), expect.map(|(name, value)| (name, value.to_owned())));
        let idle =
            said(r#"{"smart_status":{"passed":true},"ata_smart_data":{"self_test":{"status":{"value":0}}}}"#);
        assert_eq!(idle, [(name::STATUS, "passed".to_owned()), (name::SELF_TEST, "none".to_owned())]);
    }

    #[test]
    fn disks_of_scsi_have_logs() {
        let text = r#"{"smart_status":{"passed":true},"scsi_grown_defect_list":4,
            "scsi_percentage_used_endurance_indicator":3,
            "scsi_error_counter_log":{"read":{"total_uncorrected_errors":2},"write":{"total_uncorrected_errors":1}}}"#;
        let expect = [
            (name::STATUS, "passed"),
            (name::WEAR, "3 %"),
            (name::REALLOCATED, "4"),
            (name::MEDIA_ERRORS, "3"),
        ];
        assert_eq!(said(text), expect.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn who_says_nothing_says_why() {
        for (text, expect) in [
            (
                r#"{"smartctl":{"messages":[{"string":"Permission denied","severity":"error"}]}}"#,
                "Permission denied",
            ),
            ("{}", "the drive says nothing of its health"),
            ("smartctl 6.6", "it is too old to answer in JSON (7.0 does)"),
            ("", "it is too old to answer in JSON (7.0 does)"),
        ] {
            assert_eq!(read(text.as_bytes()), Err(expect.to_owned()), "{text}");
        }
    }
}
