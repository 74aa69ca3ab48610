//! SHA-256 (FIPS 180-4), by which exporters name the data of payloads.

use alloc::string::String;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
];

/// Returns the hash of the parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut state: [u32; 8] =
        [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    let (mut block, mut filled, mut size) = ([0; 64], 0usize, 0u64);
    for part in parts {
        size += part.len() as u64;
        let mut rest = *part;
        while !rest.is_empty() {
            let (_, free) = block.split_at_mut(filled);
            let (now, later) = rest.split_at(free.len().min(rest.len()));
            free.iter_mut().zip(now).for_each(|(place, byte)| *place = *byte);
            (filled, rest) = (filled + now.len(), later);
            if filled == block.len() {
                compress(&mut state, &block);
                filled = 0;
            }
        }
    }
    // A bit, zeros, and the number of bits in the last eight bytes.
    let (_, free) = block.split_at_mut(filled);
    free.fill(0);
    if let Some(first) = free.first_mut() {
        *first = 0x80;
    }
    if free.len() < 9 {
        compress(&mut state, &block);
        block.fill(0);
    }
    if let Some(last) = block.last_chunk_mut() {
        *last = (size * 8).to_be_bytes();
    }
    compress(&mut state, &block);
    let mut hash = [0; 32];
    hash.chunks_exact_mut(4).zip(state).for_each(|(place, word)| place.copy_from_slice(&word.to_be_bytes()));
    hash
}

#[expect(clippy::indexing_slicing, reason = "all indices are below 64 by the ranges of the loops")]
fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    for at in 16..64 {
        let (near, far) = (words[at - 2], words[at - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ (near >> 10);
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ (far >> 3);
        words[at] = words[at - 16].wrapping_add(far).wrapping_add(words[at - 7]).wrapping_add(near);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (constant, word) in K.iter().zip(words) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let chosen = (e & f) ^ (!e & g);
        let first = h.wrapping_add(mixed).wrapping_add(chosen).wrapping_add(*constant).wrapping_add(word);
        let mixed = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = mixed.wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    let new = [a, b, c, d, e, f, g, h];
    state.iter_mut().zip(new).for_each(|(word, new)| *word = word.wrapping_add(new));
}

/// Formats a hash as hexadecimal digits.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_standard() {
        let hash = |text: &str| hex(&sha256(&[text.as_bytes()]));
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hash(long), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        let millions = [b'a'; 1000];
        let parts = [&millions[..]; 1000];
        assert_eq!(hex(&sha256(&parts)), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
        // All lengths around the size of a block, in one part or two.
        for size in 0..130 {
            let text = &millions[..size];
            let (first, second) = text.split_at(size / 3);
            assert_eq!(sha256(&[text]), sha256(&[first, second]), "{size}");
        }
    }
}
