//! What an LRU cache would make of places: of a trace, exactly, and of independent draws, by theory. For tests of what
//! emits places, here and in the engine.
#![expect(unreachable_pub, reason = "a module of test files")]

use std::collections::HashMap;

/// Share of the second half of a trace that an LRU cache of each size, in blocks, would miss.
pub fn miss_ratios(trace: &[u64], sizes: &[u64]) -> Vec<f64> {
    // tree[i] counts, Fenwick's way, the instants that are the last touch of some block.
    let mut tree = vec![0_i64; trace.len() + 1];
    let add = |tree: &mut Vec<i64>, at: usize, by: i64| {
        let mut i = at + 1;
        while i < tree.len() {
            tree[i] += by;
            i += i & i.wrapping_neg();
        }
    };
    let sum = |tree: &Vec<i64>, up_to: usize| {
        let (mut i, mut total) = (up_to, 0);
        while i > 0 {
            total += tree[i];
            i -= i & i.wrapping_neg();
        }
        total
    };
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut misses = vec![0_u64; sizes.len()];
    let mut judged = 0_u64;
    for (now, &block) in trace.iter().enumerate() {
        let before = last.insert(block, now);
        // Blocks touched since: the last touches after that instant.
        let distance = before.map(|then| {
            add(&mut tree, then, -1);
            u64::try_from(sum(&tree, now) - sum(&tree, then)).expect("a count")
        });
        add(&mut tree, now, 1);
        if now >= trace.len() / 2 {
            judged += 1;
            for (missed, &size) in misses.iter_mut().zip(sizes) {
                *missed += u64::from(distance.is_none_or(|distance| distance >= size));
            }
        }
    }
    misses.into_iter().map(|missed| missed as f64 / judged as f64).collect()
}

/// Misses of an LRU cache under independent draws, by Che's approximation (Che, Tung, Wang, IEEE JSAC 20/7, 2002): a
/// block of probability p is there with 1 − e^(−pT), where T makes these sum to the cache's size. `weights` are (how many
/// blocks, the probability of each).
pub fn independent(weights: &[(f64, f64)], size: u64) -> f64 {
    let held = |t: f64| weights.iter().map(|&(count, p)| count * -(-p * t).exp_m1()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if held(middle) < size as f64 { low = middle } else { high = middle }
    }
    weights.iter().map(|&(count, p)| count * p * (-p * low).exp()).sum()
}
