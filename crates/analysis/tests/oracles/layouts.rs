//! Histograms of other tools, bucket by bucket.

use crate::{close, json, number};
use fathom_analysis::layouts::{ddsketch_key, ddsketch_value, elbencho_value, fio, hdr, hdr_bucket};
use fathom_metrics::{FIO_BUCKETS, fio_bucket_of};

#[test]
fn other_tools_buckets() {
    let Some(layouts) = json("hist/layouts.json") else { return };
    let rows = |tool: &str, key: &str| layouts[tool][key].as_array().expect("a list").clone();
    for row in rows("fio", "map") {
        let ns = row[0].as_u64().expect("whole");
        assert_eq!(Some(fio_bucket_of(ns) as u64), row[1].as_u64(), "{row}");
        assert_eq!(Some(fio(ns)), row[2].as_u64(), "{row}");
    }
    assert_eq!(Some(FIO_BUCKETS as u64), layouts["fio"]["buckets"].as_u64());
    for row in rows("ddsketch", "examples") {
        let key = ddsketch_key(row[0].as_u64().expect("whole"));
        assert_eq!(Some(i64::from(key)), row[1].as_i64(), "{row}");
        close("value", ddsketch_value(key), number(&row[2]), 1e-9);
    }
    let elbencho = |key: &str| number(&layouts["elbencho"][key]);
    close("ratio", elbencho_value(8) / elbencho_value(7), elbencho("ratio"), 1e-12);
    close("max", elbencho_value(111), 1000.0 * elbencho("max_us"), 1e-12);
    for row in rows("hdr_sig3", "examples") {
        let ns = row[0].as_u64().expect("whole");
        let (low, width) = hdr_bucket(ns);
        assert_eq!(Some(low), row[1].as_u64(), "{row}");
        assert!(hdr(ns) >= ns && hdr(ns) < low + width, "{row}");
    }
}
