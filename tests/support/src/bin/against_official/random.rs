//! Numbers that look random and are the same on every run.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// SplitMix64.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of a list.
    pub fn pick<'t, T>(&mut self, list: &'t mut [T]) -> Option<&'t mut T> {
        if list.is_empty() { None } else { Some(&mut list[self.below(list.len())]) }
    }

    /// A number at which things go wrong.
    pub fn number(&mut self) -> i64 {
        const NUMBERS: &[i64] = &[
            -2,
            -1,
            0,
            1,
            2,
            3,
            4,
            5,
            8,
            15,
            16,
            17,
            99,
            127,
            255,
            256,
            65_536,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            1 << 32,
            i64::MAX,
            i64::MIN,
            -16,
            -8,
        ];
        if self.one_in(6) { self.next() as i64 } else { NUMBERS[self.below(NUMBERS.len())] }
    }
}
