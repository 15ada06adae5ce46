//! Rows that are only there to be told apart from mistakes: options of fio's profiles, which mean nothing to a job, and
//! private options of engines that fathom does not have.

use super::super::values::Unit;
use super::Priority::P2;
use super::{OptionRow, Status, Value, accepted, row};

/// Why an option of a profile does nothing: observed with fio 3.33, which takes them in any job.
const PROFILE: &str = "it belongs to a profile of fio's, not to a job";

const TIMES: u64 = u32::MAX as u64;

pub(super) const ROWS: &[OptionRow] = &[
    // Of --profile=tiobench, whose `size` is that of jobs.
    accepted("block", &[], P2, Value::Bytes(0, i64::MAX as u64, |_, _| {}), PROFILE),
    accepted("numruns", &[], P2, Value::Count(0, TIMES, |_, _| {}), PROFILE),
    accepted("dir", &[], P2, Value::Text(|_, _, _| Ok(())), PROFILE),
    accepted(
        "threads",
        &[],
        P2,
        Value::Count(0, TIMES, |_, _| {}),
        "it belongs to a profile of fio's; numjobs clones a job",
    ),
    // Of --profile=act.
    accepted("device-names", &[], P2, Value::Text(|_, _, _| Ok(())), PROFILE),
    accepted(
        "load",
        &[],
        P2,
        Value::Text(|_, text, _| {
            text.trim().parse::<f64>().map(drop).map_err(|_| format!("\"{text}\" is no number"))
        }),
        PROFILE,
    ),
    accepted("prep", &[], P2, Value::Flag(|_, _| {}), PROFILE),
    accepted("test-duration", &[], P2, Value::Time(Unit::Seconds, |_, _| {}), PROFILE),
    accepted("threads-per-queue", &[], P2, Value::Count(0, TIMES, |_, _| {}), PROFILE),
    accepted("read-req-num-512-blocks", &[], P2, Value::Count(0, TIMES, |_, _| {}), PROFILE),
    accepted("large-block-op-kbytes", &[], P2, Value::Count(0, TIMES, |_, _| {}), PROFILE),
    // Private to engines.
    elsewhere("donorname", &["e4defrag"]),
    elsewhere("inplace", &["e4defrag"]),
    elsewhere("volume", &["gfapi", "gfapi_async"]),
    elsewhere("brick", &["gfapi", "gfapi_async"]),
    elsewhere("single-instance", &["gfapi", "gfapi_async"]),
    elsewhere("skip_bad", &["mtd"]),
    elsewhere("sg_write_mode", &["sg"]),
    elsewhere("stream_id", &["sg"]),
    elsewhere("readfua", &["sg", "io_uring_cmd"]),
    elsewhere("writefua", &["sg", "io_uring_cmd"]),
    elsewhere("write_mode", &["io_uring_cmd"]),
    elsewhere("verify_mode", &["io_uring_cmd"]),
    elsewhere("md_per_io_size", &["io_uring_cmd", "xnvme"]),
    elsewhere("pi_act", &["io_uring_cmd", "xnvme"]),
    elsewhere("pi_chk", &["io_uring_cmd", "xnvme"]),
    elsewhere("apptag", &["io_uring_cmd", "xnvme"]),
    elsewhere("apptag_mask", &["io_uring_cmd", "xnvme"]),
    elsewhere("deac", &["io_uring_cmd"]),
    elsewhere("uri", &["nbd"]),
    elsewhere("bindname", &["rdma"]),
    elsewhere("verb", &["rdma"]),
    elsewhere("clustername", &["rbd", "rados"]),
    elsewhere("rbdname", &["rbd"]),
    elsewhere("clientname", &["rbd", "rados"]),
    elsewhere("busy_poll", &["rbd", "rados"]),
    elsewhere("pool", &["rbd", "rados", "dfs"]),
    elsewhere("conf", &["rados"]),
    elsewhere("touch_objects", &["rados"]),
    elsewhere("cont", &["dfs"]),
    elsewhere("chunk_size", &["dfs", "libhdfs"]),
    elsewhere("object_class", &["dfs"]),
    elsewhere("svcl", &["dfs"]),
    elsewhere("namenode", &["libhdfs"]),
    elsewhere("hdfsdirectory", &["libhdfs"]),
    elsewhere("single_instance", &["libhdfs"]),
    elsewhere("hdfs_use_direct", &["libhdfs"]),
    elsewhere("initiator", &["libiscsi"]),
    elsewhere("nfs_url", &["nfs"]),
    elsewhere("https", &["http"]),
    elsewhere("http_host", &["http"]),
    elsewhere("http_user", &["http"]),
    elsewhere("http_pass", &["http"]),
    elsewhere("http_s3_key", &["http"]),
    elsewhere("http_s3_keyid", &["http"]),
    elsewhere("http_s3_region", &["http"]),
    elsewhere("http_s3_security_token", &["http"]),
    elsewhere("http_s3_sse_customer_key", &["http"]),
    elsewhere("http_s3_sse_customer_algorithm", &["http"]),
    elsewhere("http_s3_storage_class", &["http"]),
    elsewhere("http_swift_auth_token", &["http"]),
    elsewhere("http_mode", &["http"]),
    elsewhere("http_object_mode", &["http"]),
    elsewhere("http_verbose", &["http"]),
    elsewhere("gpu_dev_ids", &["libcufile", "libhipfile"]),
    elsewhere("cuda_io", &["libcufile"]),
    elsewhere("xnvme_be", &["xnvme"]),
    elsewhere("xnvme_mem", &["xnvme"]),
    elsewhere("xnvme_async", &["xnvme"]),
    elsewhere("xnvme_sync", &["xnvme"]),
    elsewhere("xnvme_admin", &["xnvme"]),
    elsewhere("xnvme_dev_nsid", &["xnvme"]),
    elsewhere("xnvme_dev_subnqn", &["xnvme"]),
    elsewhere("xnvme_iovec", &["xnvme"]),
    elsewhere("libblkio_driver", &["libblkio"]),
    elsewhere("libblkio_path", &["libblkio"]),
    elsewhere("libblkio_pre_connect_props", &["libblkio"]),
    elsewhere("libblkio_num_entries", &["libblkio"]),
    elsewhere("libblkio_queue_size", &["libblkio"]),
    elsewhere("libblkio_pre_start_props", &["libblkio"]),
    elsewhere("libblkio_vectored", &["libblkio"]),
    elsewhere("libblkio_write_zeroes_on_trim", &["libblkio"]),
    elsewhere("libblkio_wait_mode", &["libblkio"]),
    elsewhere("libblkio_force_enable_completion_eventfd", &["libblkio"]),
    elsewhere("no_completion_thread", &["windowsaio"]),
];

/// A row of engines that fathom does not have.
const fn elsewhere(name: &'static str, engines: &'static [&'static str]) -> OptionRow {
    row(name, &[], P2, Status::Elsewhere(engines), Value::Any)
}
