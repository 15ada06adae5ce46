//! Independent random positions: uniform, skewed, clustered, zoned. A position is a multiple of the alignment from an
//! extent's start; bytes are the generator's business.

use crate::mix::Alias;
use crate::permutation::Permutation;
use crate::rng::Rng;
use fathom_schema::{Distribution, OperationKind, ZoneShare};

/// A distribution, ready to draw from.
#[derive(Debug, Clone)]
pub(crate) enum Places {
    /// Every position alike.
    Uniform,
    /// Ranks by Zipf's law, scattered.
    Zipf(Zipf),
    /// Ranks self-similar with this exponent, scattered.
    Pareto(f64),
    /// Such ranks, turned so that the first is this far into the extent.
    Centered(Box<Places>, f64),
    /// Around the middle.
    Normal(Normal),
    /// Around the middle of the ranks, scattered.
    ScatteredNormal(Normal),
    /// Uniform inside zones.
    Zoned(Zones),
    /// Uniform inside zones that reads, writes and trims have of their own.
    ZonedByKind(Box<[Zones; 3]>),
    /// Uniform inside zones of the ranks, scattered.
    Hot(Zones),
    /// Up to what was touched before, which is the extent's to remember.
    ByHistory,
    /// One after another.
    Listed(Listed),
}

impl Places {
    /// What `distribution` asks for.
    pub(crate) fn new(distribution: &Distribution) -> Self {
        match distribution {
            Distribution::Uniform => Self::Uniform,
            Distribution::Zipf { theta } => Self::Zipf(Zipf::new(*theta)),
            Distribution::Pareto { h } => {
                assert!(*h > 0.0 && *h < 1.0, "pareto {h}; above 0 and below 1 is possible");
                Self::Pareto(h.ln() / (-h).ln_1p())
            }
            Distribution::Centered { of, center } => {
                let of = Self::new(of);
                assert!(matches!(of, Self::Zipf(_) | Self::Pareto(_)), "{of:?} has no most popular place");
                Self::Centered(Box::new(of), *center)
            }
            Distribution::Normal { deviation, scattered: false } => Self::Normal(Normal::new(*deviation)),
            Distribution::Normal { deviation, scattered: true } => {
                Self::ScatteredNormal(Normal::new(*deviation))
            }
            Distribution::Zoned(zones) => Self::Zoned(Zones::new(zones)),
            Distribution::ZonedByKind(zones) => {
                Self::ZonedByKind(Box::new(std::array::from_fn(|kind| Zones::new(&zones[kind]))))
            }
            Distribution::Hot(hot) => {
                let cold = ZoneShare { access: 1.0 - hot.access, span: 1.0 - hot.span };
                Self::Hot(Zones::new(&[*hot, cold]))
            }
            Distribution::Reuse(_) | Distribution::ReuseWalk => Self::ByHistory,
            Distribution::Listed { blocks, advances } => {
                assert!(!blocks.is_empty(), "a list has blocks");
                Self::Listed(Listed { blocks: blocks.clone(), advances: *advances, first: 0, next: 0 })
            }
        }
    }

    /// A position in `0..count` for an operation of this kind. `scatter` spreads ranks over all positions of the extent, which
    /// are `count` or more: larger operations have fewer positions but the same popular places.
    #[inline]
    pub(crate) fn draw(
        &mut self,
        kind: OperationKind,
        count: u64,
        scatter: &Permutation,
        rng: &mut Rng,
    ) -> u64 {
        if matches!(self, Self::Uniform) {
            rng.below(count)
        } else {
            self.draw_unevenly(kind, count, scatter, rng)
        }
    }

    /// Apart from the rest, so that even loads need not make room for it.
    #[inline(never)]
    fn draw_unevenly(
        &mut self,
        kind: OperationKind,
        count: u64,
        scatter: &Permutation,
        rng: &mut Rng,
    ) -> u64 {
        let position = match self {
            Self::Uniform => return rng.below(count),
            Self::Normal(normal) => return normal.draw(count, rng),
            Self::Zoned(zones) => return zones.draw(count, rng),
            Self::ZonedByKind(zones) => return zones[kind.index()].draw(count, rng),
            Self::ByHistory => panic!("the extent knows what was touched"),
            Self::Listed(listed) => listed.draw(),
            Self::Centered(ranks, center) => turned(ranks.rank(scatter.len(), rng), *center, scatter),
            ranks => scatter.at(ranks.rank(scatter.len(), rng)),
        };
        if position < count { position } else { position % count }
    }

    /// A rank in `0..count`; only of distributions that have ranks.
    #[inline]
    fn rank(&mut self, count: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::ScatteredNormal(normal) => normal.draw(count, rng),
            Self::Hot(zones) => zones.draw(count, rng),
            Self::Zipf(zipf) => zipf.draw(count, rng),
            Self::Pareto(exponent) => fraction_of(count, rng.unit().powf(*exponent)),
            _ => panic!("it has no ranks"),
        }
    }
}

/// Blocks in the order of a list.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    blocks: Vec<u64>,
    /// Whether each time round begins as many blocks further on as the list is long.
    advances: bool,
    /// Where this time round begins, in blocks.
    first: u64,
    /// Which of the list is next.
    next: usize,
}

impl Listed {
    #[cold]
    fn draw(&mut self) -> u64 {
        let block = self.first.wrapping_add(self.blocks[self.next]);
        self.next += 1;
        if self.next == self.blocks.len() {
            self.next = 0;
            self.first += if self.advances { self.blocks.len() as u64 } else { 0 };
        }
        block
    }
}

/// Where a rank is when the first one is at `center`: fio's turn of all places by one distance.
#[cold]
fn turned(rank: u64, center: f64, scatter: &Permutation) -> u64 {
    let n = scatter.len();
    let distance = fraction_of(n, center) + (n - scatter.at(0));
    // Below 2^63 each, so that the sum is no overflow.
    (scatter.at(rank) + distance % n) % n
}

/// ⌊n · share⌋, at most n − 1.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "share is 0 to 1; the cast saturates"
)]
pub(crate) fn fraction_of(n: u64, share: f64) -> u64 {
    ((n as f64 * share) as u64).min(n - 1)
}

/// Zipf's law by rejection-inversion (Hörmann, Derflinger, ACM TOMACS 6/3, 1996): no table, the same cost for any
/// number of ranks, at most 1.1 tries on average.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    theta: f64,
    /// 1 − theta.
    rest: f64,
    /// Integral of the hat up to 1.5, less the probability of the first rank, which the hat has exactly.
    area_first: f64,
    /// Distance within which a rank is accepted without computing the hat.
    shortcut: f64,
    /// Number of ranks, and the integral of the hat up to it: kept, since they rarely change.
    ranks: u64,
    area_all: f64,
}

impl Zipf {
    pub(crate) fn new(theta: f64) -> Self {
        assert!(theta >= 0.0 && theta != 1.0, "zipf {theta}; 0 or above and not 1 is possible");
        let mut zipf =
            Self { theta, rest: 1.0 - theta, area_first: 0.0, shortcut: 0.0, ranks: 0, area_all: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.shortcut = 2.0 - zipf.area_inverse(zipf.area(2.5) - 2.0_f64.powf(-theta));
        zipf
    }

    /// A rank from 0, the most popular, to `ranks − 1`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1..=ranks")]
    pub(crate) fn draw(&mut self, ranks: u64, rng: &mut Rng) -> u64 {
        if ranks != self.ranks {
            self.ranks = ranks;
            self.area_all = self.area(ranks as f64 + 0.5);
        }
        loop {
            let area = self.area_all + rng.unit() * (self.area_first - self.area_all);
            let x = self.area_inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, ranks);
            let whole = rank as f64;
            if whole - x <= self.shortcut || area >= self.area(whole + 0.5) - whole.powf(-self.theta) {
                return rank - 1;
            }
        }
    }

    /// ∫₁ˣ t^−theta dt, written so that it stays exact when theta is close to 1.
    fn area(&self, x: f64) -> f64 {
        (self.rest * x.ln()).exp_m1() / self.rest
    }

    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding may put the argument just below −1, where the logarithm ends.
        ((area * self.rest).max(-1.0).ln_1p() / self.rest).exp()
    }
}

/// Normal distribution around the middle. What falls outside the extent is drawn again: cutting it to the edge would
/// make the first and last block the hottest of all.
#[derive(Debug, Clone)]
pub(crate) struct Normal {
    /// Standard deviation as a share of the extent.
    deviation: f64,
    /// The second of two values that Box and Muller's method gives.
    spare: Option<f64>,
}

impl Normal {
    fn new(deviation: f64) -> Self {
        assert!(deviation > 0.0 && deviation <= 1.0, "deviation {deviation}; above 0 to 1 is possible");
        Self { deviation, spare: None }
    }

    fn draw(&mut self, count: u64, rng: &mut Rng) -> u64 {
        loop {
            let share = 0.5 + self.deviation * self.standard(rng);
            if (0.0..1.0).contains(&share) {
                return fraction_of(count, share);
            }
        }
    }

    fn standard(&mut self, rng: &mut Rng) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * rng.unit().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * rng.unit()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }
}

/// Zones of an extent with their shares of the accesses.
#[derive(Debug, Clone)]
pub(crate) struct Zones {
    alias: Alias,
    /// Where each zone ends, as a share of the extent.
    ends: Vec<f64>,
}

impl Zones {
    fn new(zones: &[ZoneShare]) -> Self {
        let access: Vec<f64> = zones.iter().map(|zone| zone.access).collect();
        let whole: f64 = zones.iter().map(|zone| zone.span).sum();
        let ends = zones.iter().scan(0.0, |end, zone| {
            *end += zone.span / whole;
            Some(*end)
        });
        let mut ends: Vec<f64> = ends.collect();
        // The sum of the spans may round to just below 1.
        if let Some(last) = ends.last_mut() {
            *last = 1.0;
        }
        Self { alias: Alias::new(&access), ends }
    }

    /// A zone smaller than a position still has the one it begins in.
    fn draw(&self, count: u64, rng: &mut Rng) -> u64 {
        let zone = self.alias.draw(rng);
        let from = if zone == 0 { 0 } else { fraction_of(count, self.ends[zone - 1]) };
        let to = if self.ends[zone] >= 1.0 { count } else { fraction_of(count, self.ends[zone]) };
        from + rng.below(to.saturating_sub(from).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    const SEED: u64 = 2026;

    fn draws(distribution: &Distribution, count: u64, total: usize) -> Vec<u64> {
        let (mut places, scatter) = (Places::new(distribution), Permutation::new(count, 77));
        let mut rng = Rng::new(SEED);
        (0..total).map(|_| places.draw(OperationKind::Read, count, &scatter, &mut rng)).collect()
    }

    fn zoned(zones: &[(f64, f64)]) -> Distribution {
        Distribution::Zoned(zones.iter().map(|&(access, span)| ZoneShare { access, span }).collect())
    }

    /// Asserts that `hits` of `total` is `share`, within five standard deviations of the binomial.
    fn check_share(what: &str, hits: usize, total: usize, share: f64) {
        let deviation = (share * (1.0 - share) / total as f64).sqrt();
        let got = hits as f64 / total as f64;
        assert!((got - share).abs() <= 5.0 * deviation, "{what}, seed {SEED}: {got}, expected {share}");
    }

    #[test]
    fn listed_blocks_come_in_turn() {
        let listed = |advances| Distribution::Listed { blocks: vec![2, 0, 1], advances };
        assert_eq!(draws(&listed(false), 12, 7), [2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(draws(&listed(true), 12, 7), [2, 0, 1, 5, 3, 4, 8]);
        // Behind the end it begins anew.
        assert_eq!(draws(&listed(true), 4, 7), [2, 0, 1, 1, 3, 0, 0]);
    }

    #[test]
    fn zipf_ranks_follow_the_closed_form() {
        let total = 200_000;
        for (theta, n) in [
            (0.0, 100_u32),
            (0.5, 1000),
            (0.99, 10_000),
            (1.000_001, 10_000),
            (1.2, 1024),
            (2.5, 50),
            (1.1, 1),
        ] {
            let zeta: f64 = (1..=n).map(|r| f64::from(r).powf(-theta)).sum();
            let scatter = Permutation::new(u64::from(n), 77);
            let places = draws(&Distribution::Zipf { theta }, u64::from(n), total);
            for rank in (0..n).take(5).chain([n / 2]) {
                let hits = places.iter().filter(|&&p| p == scatter.at(u64::from(rank))).count();
                let share = f64::from(rank + 1).powf(-theta) / zeta;
                check_share(&format!("zipf {theta} of {n}, rank {rank}"), hits, total, share);
            }
        }
    }

    #[test]
    fn the_most_popular_place_is_at_the_centre() {
        for of in [Distribution::Zipf { theta: 1.2 }, Distribution::Pareto { h: 0.2 }] {
            for (center, at) in [(0.0, 0), (0.3, 307), (0.5, 512), (1.0, 1023)] {
                let places =
                    draws(&Distribution::Centered { of: Box::new(of.clone()), center }, 1024, 20_000);
                let hits = |place: u64| places.iter().filter(|&&p| p == place).count();
                let most = (0..1024).max_by_key(|&place| hits(place)).unwrap();
                assert_eq!(most, at, "{of:?} at {center}, seed {SEED}");
                // The others are where they would be, as seen from there.
                let plain = draws(&of, 1024, 20_000);
                let first = Permutation::new(1024, 77).at(0);
                assert!(
                    plain.iter().zip(&places).all(|(p, q)| (p + at + 1024 - first) % 1024 == *q),
                    "{of:?}"
                );
            }
        }
    }

    #[test]
    fn zipf_needs_no_table_for_many_ranks() {
        let theta = 1.5;
        let n = 1_u64 << 40;
        let top = Permutation::new(n, 77).at(0);
        let places = draws(&Distribution::Zipf { theta }, n, 100_000);
        let hits = places.iter().filter(|&&p| p == top).count();
        // Riemann's zeta(1.5) = 2.612375; the tail beyond 2^40 is 2e-6 of it.
        check_share("zipf 1.5 of 2^40", hits, 100_000, 1.0 / 2.612_375);
    }

    #[test]
    fn pareto_is_self_similar() {
        // The share h of the positions gets the share 1 − h of the accesses, and so on inside it.
        let (h, n, total) = (0.2, 10_000_u64, 200_000);
        let scatter = Permutation::new(n, 77);
        let mut rank_of = vec![0_u64; 10_000];
        for rank in 0..n {
            rank_of[usize::try_from(scatter.at(rank)).unwrap()] = rank;
        }
        let places = draws(&Distribution::Pareto { h }, n, total);
        for (positions, share) in [(2000, 0.8), (400, 0.64)] {
            let hits = places.iter().filter(|&&p| rank_of[usize::try_from(p).unwrap()] < positions).count();
            check_share("pareto 0.2", hits, total, share);
        }
    }

    #[test]
    fn normal_has_its_mean_and_deviation() {
        let (n, total) = (1_000_000_u64, 200_000);
        let places = draws(&Distribution::Normal { deviation: 0.1, scattered: false }, n, total);
        let mean = places.iter().map(|&p| p as f64).sum::<f64>() / total as f64;
        let variance = places.iter().map(|&p| (p as f64 - mean).powi(2)).sum::<f64>() / total as f64;
        // Standard errors: 1e5/sqrt(2e5) = 224 of the mean, 1e5/sqrt(4e5) = 158 of the deviation.
        assert!((mean - 500_000.0).abs() < 5.0 * 224.0, "{mean}");
        assert!((variance.sqrt() - 1e5).abs() < 5.0 * 158.0, "{}", variance.sqrt());
        // A wide one is cut at the edges without piling up there.
        let wide = draws(&Distribution::Normal { deviation: 1.0, scattered: false }, 100, total);
        let first = wide.iter().filter(|&&p| p == 0).count();
        assert!(first < total / 100, "{first}");
    }

    #[test]
    fn zones_get_their_shares() {
        let total = 200_000;
        let places = draws(&zoned(&[(0.5, 0.1), (0.0, 0.3), (0.3, 0.2), (0.2, 0.4)]), 1000, total);
        for (from, to, share) in [(0, 100, 0.5), (100, 400, 0.0), (400, 600, 0.3), (600, 1000, 0.2)] {
            let inside: Vec<u64> = places.iter().copied().filter(|p| (from..to).contains(p)).collect();
            if share == 0.0 {
                assert!(inside.is_empty());
                continue;
            }
            check_share("zone", inside.len(), total, share);
            let lower_half = inside.iter().filter(|&&p| p < u64::midpoint(from, to)).count();
            check_share("half of a zone", lower_half, inside.len(), 0.5);
        }
    }

    #[test]
    fn kinds_may_have_zones_of_their_own() {
        let lists: [&[(f64, f64)]; 3] = [&[(0.9, 0.1), (0.1, 0.9)], &[(0.0, 0.5), (1.0, 0.5)], &[(1.0, 1.0)]];
        let zones =
            lists.map(|zones| zones.iter().map(|&(access, span)| ZoneShare { access, span }).collect());
        let mut places = Places::new(&Distribution::ZonedByKind(zones));
        let (scatter, mut rng, total) = (Permutation::new(1000, 77), Rng::new(SEED), 100_000);
        let mut below = |kind, end: u64| {
            let draws = (0..total).map(|_| places.draw(kind, 1000, &scatter, &mut rng));
            draws.filter(|&place| place < end).count()
        };
        check_share("reads", below(OperationKind::Read, 100), total, 0.9);
        assert_eq!(below(OperationKind::Write, 500), 0, "writes where they have nothing to do");
        check_share("writes", below(OperationKind::Write, 750), total, 0.5);
        check_share("trims", below(OperationKind::Trim, 100), total, 0.1);
    }

    #[test]
    fn scattered_ranks_lie_anywhere() {
        let (n, total) = (10_000_u64, 200_000);
        let scatter = Permutation::new(n, 77);
        let mut rank_of = vec![0_u64; 10_000];
        for rank in 0..n {
            rank_of[usize::try_from(scatter.at(rank)).unwrap()] = rank;
        }
        let hot = Distribution::Hot(ZoneShare { access: 0.9, span: 0.1 });
        let normal = Distribution::Normal { deviation: 0.05, scattered: true };
        // 0.9 of the accesses to a tenth of the blocks; 0.6827 within one standard deviation of the middle.
        for (distribution, from, to, share) in [(hot, 0, 1000, 0.9), (normal, 4500, 5500, 0.6827)] {
            let places = draws(&distribution, n, total);
            let inside = |p: &&u64| (from..to).contains(&rank_of[usize::try_from(**p).unwrap()]);
            check_share("ranks", places.iter().filter(inside).count(), total, share);
            // Where they lie is unrelated to their rank: a quarter of the extent has about a quarter of the accesses.
            let quarter = places.iter().filter(|&&p| p < n / 4).count() as f64 / total as f64;
            assert!((quarter - 0.25).abs() < 0.05, "{distribution:?}: {quarter}");
        }
    }

    fn any_distribution() -> impl Strategy<Value = Distribution> {
        prop_oneof![
            Just(Distribution::Uniform),
            (0.0_f64..5.0).prop_map(|theta| Distribution::Zipf { theta: theta + 1e-9 }),
            (0.01_f64..0.99).prop_map(|h| Distribution::Pareto { h }),
            (0.001_f64..1.0, any::<bool>())
                .prop_map(|(deviation, scattered)| Distribution::Normal { deviation, scattered }),
            (0.01_f64..0.99, 0.01_f64..0.99)
                .prop_map(|(access, span)| Distribution::Hot(ZoneShare { access, span })),
            (0.01_f64..0.99, 0.001_f64..0.999).prop_map(|(a, s)| zoned(&[(a, s), (1.0 - a, 1.0 - s)])),
        ]
    }

    proptest! {
        #[test]
        fn positions_are_in_range(
            distribution in any_distribution(), all in 1_u64..1 << 50, fewer in 1_u64..1 << 50, seed: u64,
        ) {
            let (mut places, scatter) = (Places::new(&distribution), Permutation::new(all, seed));
            let (count, mut rng) = (fewer.min(all), Rng::new(seed));
            for _ in 0..20 {
                prop_assert!(places.draw(OperationKind::Write, count, &scatter, &mut rng) < count);
            }
        }
    }
}
