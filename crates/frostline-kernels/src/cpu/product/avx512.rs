//! The AVX-512 kernel: tiles of 6 x 64 sums in registers, f32 or bf16 operands.
//!
//! Operands are treated as 32-bit words along k: one f32, or a pair of adjacent bf16 values that
//! `vdpbf16ps` multiplies at once. The right operand is split into panels of 64 columns. A task takes
//! a panel, converts one block of its k at a time into words in a buffer that stays in cache, and
//! multiplies some rows of the left operand with it. Nothing is kept between products, so nothing
//! has to be invalidated when a weight changes.
//!
//! # Source
//! The tiling is that of Goto and van de Geijn, 2008, but each task packs its panel of the right
//! operand itself.

use core::arch::x86_64::*;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::words::{NR, as_bf16, convert, lanes, panel, transposed};
use super::{Left, Right};
use crate::cpu::fresh::{Fresh, Part};

/// Rows of a tile: 6 x 4 registers of sums.
const MR: usize = 6;
/// Rows of a panel of a transposed left operand.
const AW: usize = 8 * MR;
/// The longest block of k per pass: long enough that the weights' gradient of a typical batch is
/// written in one pass, short enough that a panel's block stays in the second-level cache.
const STRETCH: usize = 448;
/// Elements of the left operand that a part of many rows works on, 4 MiB of f32.
const ROWS_TIMES_K: usize = 1 << 20;
/// Below this many multiplications the product runs on one thread.
const PARALLEL_FROM: usize = 1 << 18;

/// One cache line of words, so that whole-register loads are aligned.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u32; 16]);

thread_local! {
    /// The block of a panel that this thread works on.
    static PANEL: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Whether the processor has bf16 multiplication.
pub fn has_bf16() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| is_x86_feature_detected!("avx512bf16") && is_x86_feature_detected!("avx512bw"))
}

/// Writes `left right + bias` to all of `out`.
///
/// # Panics
/// If the processor lacks AVX-512F or, with `BF16`, [`has_bf16`] is false; if k is 0 or a size is wrong.
pub fn product<const BF16: bool>(
    [m, n, k]: [usize; 3],
    left: Left<'_>,
    right: Right<'_>,
    bias: Option<&[f32]>,
    out: &mut [MaybeUninit<f32>],
) {
    assert!(is_x86_feature_detected!("avx512f") && (!BF16 || has_bf16()));
    assert!(out.len() == m * n && k > 0);
    let (Right::Plain(b) | Right::Transposed(b)) = right;
    assert_eq!(b.len(), k * n);
    assert!(bias.is_none_or(|bias| bias.len() == n));
    if m * n == 0 {
        return;
    }
    let words = Words::<BF16>::of(left, m, k);
    let pairs = words_of::<BF16>(k);
    // Passes of equal length, since a short last one would rewrite all of `out` for little work.
    let stretch = pairs.div_ceil(pairs.div_ceil(words_of::<BF16>(STRETCH)));
    let panels = n.div_ceil(NR);
    let threads = if m * n * k < PARALLEL_FROM { 1 } else { rayon::current_num_threads() };
    // With few panels for many threads, rows are split too, and every part converts the panel again.
    let parts = if threads == 1 { 1 } else { (3 * threads).div_ceil(panels).min(m.div_ceil(16 * MR)) };
    // With many rows, those of one part stay in the last-level cache while all panels are multiplied.
    let parts = parts.max((m * k).div_ceil(ROWS_TIMES_K).min(m.div_ceil(256)));
    let rows = m.div_ceil(parts).next_multiple_of(MR);
    let out = Shared(out.as_mut_ptr().cast());
    let job = Job::<BF16> { words: &words, right, bias, out, m, n, k, stretch };
    let task = |task: usize| {
        PANEL.with_borrow_mut(|panel| {
            panel.resize(stretch * NR / 16, Line([0; 16]));
            let first = task / panels * rows;
            job.run(task % panels * NR, first..(first + rows).min(m), panel);
        });
    };
    let tasks = panels * m.div_ceil(rows);
    if threads == 1 { (0..tasks).for_each(task) } else { (0..tasks).into_par_iter().for_each(task) }
}

const fn words_of<const BF16: bool>(k: usize) -> usize {
    if BF16 { k.div_ceil(2) } else { k }
}

/// The left operand as words. Word (row i, p) is at `i * across + p * along` inside its block.
struct Words<'a, const BF16: bool> {
    /// Owns converted words.
    _owned: Vec<Line>,
    /// Borrows unconverted words.
    _borrowed: &'a [f32],
    start: *const u32,
    /// Rows of a block; 0 where all rows are one block.
    block: usize,
    pairs: usize,
}

// SAFETY: the words that `start` points to are only read, and live as long as the struct.
unsafe impl<const BF16: bool> Sync for Words<'_, BF16> {}

impl<'a, const BF16: bool> Words<'a, BF16> {
    fn of(left: Left<'a>, m: usize, k: usize) -> Self {
        let pairs = words_of::<BF16>(k);
        let several = m * k >= 1 << 15 && rayon::current_num_threads() > 1;
        match left {
            Left::Plain(data) if !BF16 => {
                assert_eq!(data.len(), m * k);
                Self { _owned: vec![], _borrowed: data, start: data.as_ptr().cast(), block: 0, pairs }
            }
            Left::Plain(data) => {
                assert_eq!(data.len(), m * k);
                let mut owned = Fresh::new((m * pairs).div_ceil(16), Line([0; 16]));
                let task = |(out, rows): (Part<'_, Line>, &[f32])| {
                    let out = as_words(out.zeroed());
                    for (out, row) in out.chunks_mut(pairs).zip(rows.chunks(k)) {
                        // SAFETY: `product` checked the features; `out` has ceil(k / 2) words.
                        unsafe { convert(row.as_ptr(), k, out.as_mut_ptr()) }
                    }
                };
                // 32 rows are whole lines.
                let all = owned.chunks(2 * pairs).zip(data.par_chunks(32 * k));
                all.with_min_len(if several { 1 } else { m }).for_each(task);
                let owned = owned.finish();
                Self { start: owned.as_ptr().cast(), _owned: owned, _borrowed: &[], block: 0, pairs }
            }
            Left::Transposed(data) => {
                assert_eq!(data.len(), m * k);
                let mut owned = Fresh::new(m.div_ceil(AW) * AW / 16 * pairs, Line([0; 16]));
                let task = |(number, out): (usize, Part<'_, Line>)| {
                    let out = as_words(out.zeroed());
                    let row = number * AW;
                    let here = AW.min(m - row);
                    // SAFETY: `product` checked the features; rows row..row+here of the transpose are
                    // columns of `data`, and `out` has AW words for each word along k.
                    unsafe { panel::<BF16>(data.as_ptr().add(row), m, k, here, AW, out.as_mut_ptr()) }
                };
                let all = owned.chunks(AW / 16 * pairs).enumerate();
                all.with_min_len(if several { 1 } else { m }).for_each(task);
                let owned = owned.finish();
                Self { start: owned.as_ptr().cast(), _owned: owned, _borrowed: &[], block: AW, pairs }
            }
        }
    }

    /// Distance between rows, and between neighbours along k.
    fn steps(&self) -> (usize, usize) {
        if self.block == 0 { (self.pairs, 1) } else { (1, AW) }
    }

    /// Where row i begins; i is a multiple of [`MR`], so that no tile crosses two blocks.
    fn row(&self, i: usize) -> *const u32 {
        let at = if self.block == 0 { i * self.pairs } else { i / AW * AW * self.pairs + i % AW };
        self.start.wrapping_add(at)
    }
}

fn as_words(lines: &mut [Line]) -> &mut [u32] {
    // SAFETY: a Line is 16 words without padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 16) }
}

/// The output, in which every task writes its own rows and columns.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: tasks write disjoint elements.
unsafe impl Sync for Shared {}

struct Job<'a, const BF16: bool> {
    words: &'a Words<'a, BF16>,
    right: Right<'a>,
    bias: Option<&'a [f32]>,
    out: Shared,
    m: usize,
    n: usize,
    k: usize,
    stretch: usize,
}

impl<const BF16: bool> Job<'_, BF16> {
    /// Computes the columns from `j` on, up to a panel's width, of some rows.
    fn run(&self, j: usize, rows: std::ops::Range<usize>, panel_lines: &mut [Line]) {
        let Self { n, k, stretch, .. } = *self;
        debug_assert!(rows.end <= self.m);
        let (pairs, per_word) = (self.words.pairs, if BF16 { 2 } else { 1 });
        let cols = NR.min(n - j);
        let (across, along) = self.words.steps();
        let words: *mut u32 = panel_lines.as_mut_ptr().cast();
        let mut bias = [0f32; NR];
        if let Some(all) = self.bias {
            bias[..cols].copy_from_slice(&all[j..j + cols]);
        }
        for from in (0..pairs).step_by(stretch) {
            let length = stretch.min(pairs - from);
            let (at, left) = (per_word * from, (per_word * stretch).min(k - per_word * from));
            // SAFETY: `product` checked the features; from the given start the operand has `left`
            // elements along k and `cols` along n; the buffer has `stretch` words of NR columns.
            unsafe {
                match self.right {
                    Right::Plain(b) => panel::<BF16>(b.as_ptr().add(at * n + j), n, left, cols, NR, words),
                    Right::Transposed(b) => {
                        transposed::<BF16>(b.as_ptr().add(j * k + at), k, left, cols, words)
                    }
                }
            }
            let mut ahead =
                self.ahead(j, at + per_word * stretch, per_word * stretch, rows.len().div_ceil(MR));
            for i in rows.clone().step_by(MR) {
                ahead.prefetch();
                let tile = Tile {
                    a: self.words.row(i).wrapping_add(from * along),
                    across,
                    along,
                    b: words,
                    length,
                    c: self.out.0.wrapping_add(i * n + j),
                    n,
                    cols,
                    bias: &bias,
                    add: from > 0,
                };
                // SAFETY: `product` checked the features; the tile's elements are inside `out`, and no
                // other task uses them; its words are inside the left operand and the buffer.
                unsafe {
                    match rows.end - i {
                        1 => tile.run::<1, BF16>(),
                        2 => tile.run::<2, BF16>(),
                        3 => tile.run::<3, BF16>(),
                        4 => tile.run::<4, BF16>(),
                        5 => tile.run::<5, BF16>(),
                        _ => tile.run::<MR, BF16>(),
                    }
                }
            }
        }
    }
}

/// The part of the right operand that is needed next: its cache lines are prefetched tile by tile, so
/// that they are in cache when the panel is converted.
struct Ahead {
    from: *const f32,
    /// Elements between rows.
    stride: usize,
    rows: usize,
    lines_per_row: usize,
    lines_per_tile: usize,
    /// The next line to prefetch: its row, and its index in the row.
    row: usize,
    line: usize,
}

impl<const BF16: bool> Job<'_, BF16> {
    /// The block after the one that ends at `at`: the next one of the same columns, or the first one
    /// of the next panel.
    fn ahead(&self, j: usize, at: usize, depth: usize, tiles: usize) -> Ahead {
        let (j, at) = if at < self.k { (j, at) } else { (j + NR, 0) };
        let (depth, cols) = (depth.min(self.k - at), NR.min(self.n.saturating_sub(j)));
        let (from, stride, rows, length) = match self.right {
            Right::Plain(b) => (b.as_ptr().wrapping_add(at * self.n + j), self.n, depth, cols),
            Right::Transposed(b) => (b.as_ptr().wrapping_add(j * self.k + at), self.k, cols, depth),
        };
        let lines_per_row = length.div_ceil(16);
        let lines_per_tile = (rows * lines_per_row).div_ceil(tiles);
        Ahead { from, stride, rows, lines_per_row, lines_per_tile, row: 0, line: 0 }
    }
}

impl Ahead {
    /// Prefetches one tile's share of the lines.
    #[inline]
    fn prefetch(&mut self) {
        for _ in 0..self.lines_per_tile {
            if self.row == self.rows {
                return;
            }
            let at = self.from.wrapping_add(self.row * self.stride + 16 * self.line);
            // SAFETY: a prefetch never faults, wherever it points.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
            self.line += 1;
            if self.line == self.lines_per_row {
                (self.row, self.line) = (self.row + 1, 0);
            }
        }
    }
}

/// Writes a tile's sums. This is a macro because functions with target features cannot be forced
/// inline, and a call would pass all sums through memory.
macro_rules! store {
    ($tile:expr, $sums:expr) => {
        for (r, sums) in $sums.iter().enumerate() {
            for (j, &sum) in sums.iter().enumerate() {
                let to = $tile.c.wrapping_add(r * $tile.n + 16 * j);
                let mask = lanes($tile.cols as isize - 16 * j as isize);
                // Unmasked lanes are inside the row; the bias has NR elements.
                let before = if $tile.add {
                    _mm512_maskz_loadu_ps(mask, to)
                } else {
                    _mm512_loadu_ps($tile.bias.as_ptr().add(16 * j))
                };
                _mm512_mask_storeu_ps(to, mask, _mm512_add_ps(sum, before));
            }
        }
    };
}

/// Some rows times a block of a panel.
struct Tile<'a> {
    a: *const u32,
    across: usize,
    along: usize,
    b: *const u32,
    length: usize,
    c: *mut f32,
    n: usize,
    cols: usize,
    bias: &'a [f32; NR],
    /// Whether to add to the values in `c`, instead of starting with the bias.
    add: bool,
}

impl Tile<'_> {
    /// Computes the tile with R rows.
    ///
    /// # Safety
    /// The processor must have AVX-512F and, with `BF16`, [`has_bf16`] must be true. The pointers must
    /// be valid: `a` for reading `length` words of each of R rows (`across` apart, words `along` apart),
    /// `b` for reading `length` x [`NR`] words at a 64-byte boundary, and `c` for reading (if `add`) and
    /// writing `cols` elements of each of R rows (`n` apart). No other thread may access those of `c`.
    #[inline]
    unsafe fn run<const R: usize, const BF16: bool>(&self) {
        // SAFETY: the caller guarantees the features and the pointers.
        unsafe { if BF16 { self.run_bf16::<R>() } else { self.run_f32::<R>() } }
    }

    /// The tile with f32 words.
    ///
    /// # Safety
    /// As [`Self::run`] without `BF16`.
    #[target_feature(enable = "avx512f")]
    unsafe fn run_f32<const R: usize>(&self) {
        let mut sums = [[_mm512_setzero_ps(); 4]; R];
        let (mut a, mut b) = (self.a, self.b);
        // SAFETY: the caller guarantees the pointers.
        unsafe {
            self.prefetch::<R>();
            for _ in 0..self.length {
                let mut right = [_mm512_setzero_ps(); 4];
                for (j, right) in right.iter_mut().enumerate() {
                    *right = _mm512_load_ps(b.add(16 * j).cast());
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let left = _mm512_set1_ps(*a.add(r * self.across).cast());
                    for (sum, &right) in sums.iter_mut().zip(&right) {
                        *sum = _mm512_fmadd_ps(left, right, *sum);
                    }
                }
                a = a.wrapping_add(self.along);
                b = b.wrapping_add(NR);
            }
            store!(self, sums);
        }
    }

    /// The tile with pairs of bf16.
    ///
    /// # Safety
    /// As [`Self::run`] with `BF16`.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn run_bf16<const R: usize>(&self) {
        let mut sums = [[_mm512_setzero_ps(); 4]; R];
        let (mut a, mut b) = (self.a, self.b);
        // SAFETY: the caller guarantees the pointers.
        unsafe {
            self.prefetch::<R>();
            for _ in 0..self.length {
                let mut right = [as_bf16(_mm512_setzero_si512()); 4];
                for (j, right) in right.iter_mut().enumerate() {
                    *right = as_bf16(_mm512_load_si512(b.add(16 * j).cast()));
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let left = as_bf16(_mm512_set1_epi32(*a.add(r * self.across) as i32));
                    for (sum, &right) in sums.iter_mut().zip(&right) {
                        *sum = _mm512_dpbf16_ps(*sum, left, right);
                    }
                }
                a = a.wrapping_add(self.along);
                b = b.wrapping_add(NR);
            }
            store!(self, sums);
        }
    }

    /// Prefetches the output's cache lines before the sums are ready. A prefetch never faults, so the
    /// pointers need not be valid.
    ///
    /// # Safety
    /// The processor must have AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn prefetch<const R: usize>(&self) {
        for r in 0..R {
            for j in 0..4 {
                _mm_prefetch::<_MM_HINT_T0>(self.c.wrapping_add(r * self.n + 16 * j).cast());
            }
        }
    }
}
