//! Which places of a target a scan reads, by what was asked. Does not know in which order, nor what they showed.

use super::Area;
use fathom_schema::ScanQuestion;
use fathom_units::Bytes;

/// The places: parts that cover all, or samples spread evenly from the first byte to the last. What lies behind the last whole
/// block is one by itself, as is what lies behind the last whole sector; an empty target has none.
pub fn places(question: &ScanQuestion) -> Vec<Area> {
    let ScanQuestion { size: Bytes(size), zones, sample_bytes, block, .. } = question;
    let block = u64::from(*block);
    let blocks = size / block;
    let count = u64::from(*zones).clamp(1, blocks.max(1));
    if let Some(sample) = sample_bytes.filter(|_| blocks > 0) {
        let length = (sample / block).clamp(1, blocks / count) * block;
        let last = blocks - length / block;
        let at = |zone: u64| {
            if count == 1 { 0 } else { u128::from(zone) * u128::from(last) / u128::from(count - 1) }
        };
        return (0..count).map(|zone| Area { start: narrow(at(zone)) * block, length }).collect();
    }
    let at = |zone: u64| narrow(u128::from(zone) * u128::from(blocks) / u128::from(count)) * block;
    let whole = (0..count).map(|zone| (at(zone), at(zone + 1)));
    let sectors = size - size % u64::from(question.sector);
    let rest = [(blocks * block, sectors), (sectors, *size)];
    let all = whole.chain(rest).filter(|(start, end)| start < end);
    all.map(|(start, end)| Area { start, length: end - start }).collect()
}

/// Whether an area is what lies behind the last whole sector of a target, which cannot be read past the page cache.
pub fn is_below_sector(question: &ScanQuestion, area: &Area) -> bool {
    !area.length.is_multiple_of(u64::from(question.sector))
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).expect("below the number of blocks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_all_leave_no_byte_out() {
        for size in [1, 511, 512, 513, 1_000_000, 1 << 20, (1 << 20) + 1, (10 << 20) + 700, 1 << 30] {
            for sector in [512, 4096] {
                let question = ScanQuestion { sector, zones: 7, ..ScanQuestion::of("", Bytes(size)) };
                let mut end = 0;
                for area in places(&question) {
                    assert_eq!(area.start, end, "{size}");
                    assert!(area.length > 0, "{size}");
                    end += area.length;
                }
                assert_eq!(end, size);
            }
        }
        assert_eq!(places(&ScanQuestion::of("", Bytes(0))), []);
        let of = |size| -> Vec<u64> {
            places(&ScanQuestion::of("", Bytes(size))).iter().map(|area| area.length).collect()
        };
        assert_eq!(of(100), [100]);
        assert_eq!(of(1_000_000), [999_936, 64]);
        assert_eq!(of((1 << 20) + 513), [1 << 20, 512, 1]);
    }
}
