//! What a distribution that comes back needs.

use super::{Facts, GIB, check, job};

#[test]
fn locality_needs_blocks_and_room() {
    let same = |_: &mut Facts| {};
    let reuse = |caches: &str, more: &str, stream: &str| {
        job("", &format!("access = \"random\"\ndistribution = \"reuse:{caches}\"\n{more}"), stream)
    };
    let help = "change the sizes of the caches, of the blocks or of the region, or use more or fewer workers";
    let combined = "use one block size at its own multiples, and files in turn";
    for (text, expect) in [
        (reuse("1MiB=50%,256MiB=80%", "", ""), None),
        (
            reuse("1MiB=50%,2GiB=80%", "", ""),
            Some((
                "reuse of the stream \"s\": the largest cache has 524288 blocks for each of 1 parts, and these have only 262144",
                help,
            )),
        ),
        (
            reuse("4KiB=50%", "", "workers = 2\nqueue_depth = 2"),
            Some((
                "reuse of the stream \"s\": the smallest cache has less than one of the 4096 B blocks for each of 2 parts",
                help,
            )),
        ),
        (
            reuse("1MiB=50%", "block_size = \"4KiB..16KiB\"", ""),
            Some(("the stream \"s\" has a distribution reuse and several block sizes", combined)),
        ),
        (
            reuse("1MiB=50%", "run_length = 4", ""),
            Some(("the stream \"s\" has a distribution reuse and runs of consecutive operations", combined)),
        ),
    ] {
        let expect: Vec<String> =
            expect.iter().map(|(message, help)| format!("plan.locality: {message}; {help}")).collect();
        check(&text, GIB, same, &expect.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Places so far apart that few fit into the region are few blocks, however many it has.
#[test]
fn places_that_lie_farther_apart_than_the_region_is_long_are_told() {
    let same = |_: &mut Facts| {};
    let told = |places: &str, apart: &str| {
        format!(
            "plan.small-region: the stream \"s\" goes to {places} of its region alone: places are {apart} apart; operations on \
             one block at a time are a cache's or a lock's speed; let places lie closer (align, stride)"
        )
    };
    for (workload, stream, expect) in [
        ("access = \"random\"\nalign = \"2GiB\"", "", Some(told("1 place", "2 GiB"))),
        ("access = \"random\"\nalign = \"256MiB\"", "queue_depth = 8", Some(told("4 places", "256 MiB"))),
        ("access = \"random\"\nalign = \"256MiB\"", "queue_depth = 4", None),
        ("access = \"random\"\nalign = \"1MiB\"", "queue_depth = 32", None),
        ("stride = \"2GiB\"", "", Some(told("1 place", "2.0 GiB"))),
        ("stride = \"64KiB\"", "queue_depth = 32", None),
    ] {
        let expect: Vec<&str> = expect.as_deref().into_iter().collect();
        check(&job("", workload, stream), GIB, same, &expect);
    }
}
