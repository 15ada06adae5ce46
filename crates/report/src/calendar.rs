//! Calendar dates of wall-clock times, in UTC. Knows no time zones: a report reads the same wherever it is made.

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A wall-clock time taken apart.
struct Civil {
    year: u64,
    /// 1 to 12.
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    weekday: &'static str,
}

/// `2026-11-20 08:59:24 UTC`.
pub fn date_time(wall_ms: u64) -> String {
    let Civil { year, month, day, hour, minute, second, weekday: _ } = civil(wall_ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// `2026-11-20 08:59:24:123`: with milliseconds after a colon, as Iometer writes it.
pub(crate) fn iometer(wall_ms: u64) -> String {
    let Civil { year, month, day, hour, minute, second, weekday: _ } = civil(wall_ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}:{:03}", wall_ms % 1000)
}

/// `Fri Nov 20 08:59:24 2026`: the form of C's `ctime`, which fio prints.
pub(crate) fn ctime(wall_ms: u64) -> String {
    let Civil { year, month, day, hour, minute, second, weekday } = civil(wall_ms);
    let month = MONTHS[usize::try_from(month - 1).unwrap_or(0)];
    format!("{weekday} {month} {day:2} {hour:02}:{minute:02}:{second:02} {year}")
}

/// Days to a date of the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`),
/// for times since 1970. Worked value: 1,795,165,164 s is Friday, 20 November 2026, 08:59:24.
fn civil(wall_ms: u64) -> Civil {
    let seconds = wall_ms / 1000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    Civil {
        year: year_of_era + era * 400 + u64::from(month <= 2),
        month,
        day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
        hour: of_day / 3600,
        minute: of_day / 60 % 60,
        second: of_day % 60,
        weekday: WEEKDAYS[usize::try_from(days % 7).unwrap_or(0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Expected values from `date -u -d @SECONDS`.
        for (seconds, expect) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_399, "Mon Feb 28 23:59:59 2000"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_795_165_164, "Fri Nov 20 08:59:24 2026"),
            (4_107_542_399, "Sun Feb 28 23:59:59 2100"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
        ] {
            assert_eq!(ctime(seconds * 1000), expect);
        }
        assert_eq!(date_time(1_795_165_164_999), "2026-11-20 08:59:24 UTC");
    }
}
