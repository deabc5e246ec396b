//! The product of every instruction set: panels, passes over k, tiles of sums in registers.
//!
//! Operands are treated as 32-bit words along k: one f32, or what an engine makes of a pair of adjacent bf16 values. The right operand is split into
//! panels of [`NR`] columns. A task takes a panel, converts one block of its k at a time into words in a buffer that stays in
//! cache, and multiplies some rows of the left operand with it. Nothing is kept between products, so nothing has to be
//! invalidated when a weight changes.
//!
//! What an instruction set does on its own, an [`Engine`] does: packing words and multiplying a tile. The order of every sum
//! is decided here, from k alone: passes of equal length, each summed from zero in ascending k with fused multiply-adds, then
//! added to what the sum starts with and to each other in ascending order, one term after the other. So an element has the
//! same bits on every engine but the matrix unit's, whose instruction has an order of its own.
//!
//! # Source
//! The tiling is that of Goto and van de Geijn, 2008, but each task packs its panel of the right
//! operand itself.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::{LeftOperand, ProductStart, ProductSum, RightOperand};
use crate::cpu::fresh::{Fresh, FreshPart};
use crate::cpu::prefetch::{Ahead, OperandLines};

/// Columns of a panel of the right operand.
pub const NR: usize = 64;
/// Rows of a tile whose sums are in registers of vectors.
pub const MR: usize = 6;
/// Rows of a transposed left operand that one task converts: whole cache lines.
pub const AW: usize = 8 * MR;
/// Rows of another left operand that one task converts: whole cache lines.
pub const RW: usize = 32;
/// Rows of an operand that are prefetched before they are read. They are far apart, which the hardware's prefetcher does not detect.
pub const ROWS_AHEAD: usize = 16;
/// The longest block of k per pass: long enough that the weights' gradient of a typical batch is
/// written in one pass, short enough that a panel's block stays in the second-level cache.
const STRETCH: usize = 448;
/// Elements of the left operand that a part of many rows works on, 4 MiB of f32.
const ROWS_TIMES_K: usize = 1 << 20;
/// Below this many multiplications, some 20 µs of one thread with AVX-512, the product runs on one thread: waking another
/// one can take as long.
pub const PARALLEL_FROM: usize = 1 << 21;

/// What an instruction set does on its own. Words of [`NR`] columns lie in strips: word p of all columns of a strip, then
/// word p + 1; one strip after the other.
///
/// # Safety
/// All functions of an implementation must do exactly what is described here. They may only be called on a processor that
/// has the instruction set.
pub unsafe trait Engine {
    /// Columns of a strip and of a tile; divides [`NR`].
    const STRIP: usize;
    /// Rows of a tile.
    const TILE_ROWS: usize;
    /// Rows that are multiplied with one strip after the other, so that they stay in cache meanwhile.
    const ROWS: usize;
    /// Words of a pair of bf16: 1 with the instruction that multiplies both, 2 where they are f32.
    const WORDS_PER_PAIR: usize;
    /// Where the words of a left operand lie that is not transposed.
    const PLAIN: LeftLayout;
    /// Where those of one lie that is.
    const TRANSPOSED: LeftLayout;
    /// bf16 along k that are multiplied at once. A row or column has as many zeros at its end as make a multiple of it.
    const AT_ONCE: usize;
    /// For how many elements along k a tile prefetches one line of the next operand, if it does.
    const PREFETCH_EVERY: Option<usize>;

    /// Converts up to [`RW`] rows of k f32 into words of pairs of bf16, laid out as [`Engine::PLAIN`].
    ///
    /// # Safety
    /// As for the trait; `from` must be valid for reading k elements of each of `rows` rows, one after the other, and `out` for
    /// writing all words along k of each, of whole blocks where there are blocks, aligned to 64 bytes.
    unsafe fn convert(from: *const f32, k: usize, rows: usize, out: *mut u32);

    /// Writes words of `width` columns from rows `stride` apart: word p of all columns, then word p + 1. The operand has
    /// `cols` columns; the rest of `width` becomes zero.
    ///
    /// # Safety
    /// As for the trait; `from` must be valid for reading `min(cols, width)` elements of each of k rows, and `out` for
    /// writing `width` words for each word along k. `width` must be a multiple of 16 and `out` aligned to 64 bytes.
    unsafe fn panel<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        cols: usize,
        width: usize,
        out: *mut u32,
    );

    /// Writes words of [`Engine::STRIP`] columns from the transpose: row i of `from` becomes column i.
    ///
    /// # Safety
    /// As for the trait; `from` must be valid for reading k elements of each of `min(rows, STRIP)` rows (`stride` apart),
    /// and `out` for writing `STRIP` words for each word along k, aligned to 64 bytes.
    unsafe fn transposed<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        rows: usize,
        out: *mut u32,
    );

    /// Writes words of up to [`AW`] rows of a transposed left operand, laid out as [`Engine::TRANSPOSED`].
    ///
    /// # Safety
    /// As for the trait; `from` must be valid for reading `rows` elements of each of k lines (`stride` apart), and `out` for
    /// writing [`AW`] words for each word along k, aligned to 64 bytes.
    unsafe fn rows<const BF16: bool>(from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32);

    /// Prepares this thread for tiles.
    ///
    /// # Safety
    /// As for the trait.
    unsafe fn begin() {}

    /// Ends what [`Engine::begin`] began.
    ///
    /// # Safety
    /// As for the trait.
    unsafe fn end() {}

    /// Computes a tile.
    ///
    /// # Safety
    /// As for the trait, after [`Engine::begin`] on this thread, with the tile's pointers as its fields describe them.
    unsafe fn tile<const BF16: bool>(tile: &StripTile);
}

/// Computes with the number of a tile's rows, up to [`MR`], as a constant.
macro_rules! with_rows {
    ($tile:expr, $R:ident => $body:expr) => {
        match $tile.rows {
            1 => with_rows!(@ $R = 1, $body),
            2 => with_rows!(@ $R = 2, $body),
            3 => with_rows!(@ $R = 3, $body),
            4 => with_rows!(@ $R = 4, $body),
            5 => with_rows!(@ $R = 5, $body),
            _ => with_rows!(@ $R = 6, $body),
        }
    };
    (@ $R:ident = $rows:literal, $body:expr) => {{
        const $R: usize = $rows;
        $body
    }};
}
pub(super) use with_rows;

/// Where the words of a left operand lie.
#[derive(Clone, Copy)]
pub enum LeftLayout {
    /// Each row's words one after the other.
    Rows,
    /// Word p of so many rows, then word p + 1; then the next rows.
    Abreast(usize),
    /// Sixteen words of a row, then those of the next one, of sixteen rows; then the next sixteen words; then the next rows.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    Blocks,
}

/// Some rows times a block of a strip.
pub struct StripTile {
    /// Rows, from 1 to [`Engine::TILE_ROWS`].
    pub rows: usize,
    /// The left operand's words, valid for reading `length` words of each row.
    pub a: *const u32,
    /// Words between rows of `a`; between rows of whole blocks where there are blocks.
    pub across: usize,
    /// Words between neighbours of `a` along k; between sixteen of them, as if they were as far apart, where there are blocks.
    pub along: usize,
    /// The strip, valid for reading `length` x [`Engine::STRIP`] words at a 64-byte boundary.
    pub b: *const u32,
    /// Words along k.
    pub length: usize,
    /// The output, valid for reading (if `add`) and writing `cols` elements of each row. No other thread accesses them.
    pub c: *mut f32,
    /// Elements between rows of `c`.
    pub n: usize,
    /// Columns that are written, at most [`Engine::STRIP`].
    pub cols: usize,
    /// What a row's sums start with, valid for reading [`Engine::STRIP`] elements.
    pub bias: *const f32,
    /// Whether to add to the values in `c` instead.
    pub add: bool,
    /// Whether a sum of products of bf16 may be below the normal numbers, where it becomes zero.
    pub flush: bool,
    /// The next operand's lines to prefetch.
    pub operand: Option<OperandLines>,
}

/// One cache line of words, so that whole-register loads are aligned.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct CacheLine([u32; 16]);

thread_local! {
    /// The block of a panel that this thread works on.
    static PANEL: RefCell<Vec<CacheLine>> = const { RefCell::new(Vec::new()) };
    /// Buffers of left operands' words, kept for the next products. The allocator has pages of its own for each thread, and would hold
    /// more of them.
    static SPARE: RefCell<Vec<Vec<CacheLine>>> = const { RefCell::new(Vec::new()) };
}

/// How many buffers a thread keeps: as many as a product has left operands.
const SPARES: usize = 3;

/// A buffer of this many lines.
fn lines(length: usize) -> Fresh<CacheLine> {
    Fresh::within(SPARE.with_borrow_mut(Vec::pop).unwrap_or_default(), length)
}

impl<const BF16: bool> Drop for Words<'_, BF16> {
    fn drop(&mut self) {
        let owned = std::mem::take(&mut self.owned);
        SPARE.with_borrow_mut(|spare| {
            if owned.capacity() > 0 && spare.len() < SPARES {
                spare.push(owned);
            }
        });
    }
}

/// Writes all elements of the sums, whose products are of one size. A left operand of several products is converted once.
///
/// # Safety
/// The processor must have the engine's instruction set.
///
/// # Panics
/// If k is 0 or a size is wrong.
pub unsafe fn products<E: Engine, const BF16: bool>(
    [m, n, k]: [usize; 3],
    lefts: &[LeftOperand<'_>],
    sums: &mut [ProductSum<'_>],
) {
    assert!(k > 0 && sums.iter().all(|sum| sum.fits([m, n, k], lefts.len())));
    if m * n == 0 {
        return;
    }
    let terms: usize = sums.iter().map(|sum| sum.terms.len()).sum();
    let threads = if super::is_shared(terms * m * n * k) { rayon::current_num_threads() } else { 1 };
    let words: Vec<_> = lefts.iter().map(|left| Words::<BF16>::of::<E>(*left, m, k, threads > 1)).collect();
    // Passes of equal length, since a short last one would rewrite all of `out` for little work. Counted in pairs, if there
    // are pairs, so that it does not depend on the engine; the matrix unit has an order of its own.
    let unit = if BF16 { E::AT_ONCE } else { 1 };
    let units = k.div_ceil(unit);
    let stretch = words_of::<E, BF16>(unit * units.div_ceil(units.div_ceil(STRETCH / unit)));
    let mut jobs = Vec::with_capacity(sums.len());
    for sum in sums {
        let out = SharedOutput(sum.out.as_mut_ptr().cast());
        jobs.push(ProductJob { words: &words, terms: sum.terms, start: sum.start, out, m, n, k, stretch });
    }
    let panels = n.div_ceil(NR);
    // With few panels for many threads, rows are split too, and every part converts the panel again.
    let all = panels * jobs.len();
    let parts = if threads == 1 { 1 } else { (3 * threads).div_ceil(all).min(m.div_ceil(16 * MR)) };
    // With many rows, those of one part stay in the last-level cache while all panels are multiplied.
    let parts = parts.max((m * k).div_ceil(ROWS_TIMES_K).min(m.div_ceil(256)));
    let rows = m.div_ceil(parts).next_multiple_of(E::TILE_ROWS);
    let task = |task: usize| {
        PANEL.with_borrow_mut(|panel| {
            panel.resize(stretch * NR / 16, CacheLine([0; 16]));
            let (first, at) = (task / all * rows, task % all);
            let rows = first..(first + rows).min(m);
            // SAFETY: the caller guarantees the instruction set; a task has its own rows and columns of one output.
            unsafe {
                E::begin();
                jobs[at / panels].run::<E>(at % panels * NR, rows, panel);
                E::end();
            }
        });
    };
    let tasks = all * m.div_ceil(rows);
    if threads == 1 {
        (0..tasks).for_each(task)
    } else {
        (0..tasks).into_par_iter().with_max_len(1).for_each(task)
    }
}

/// Words of k elements.
const fn words_of<E: Engine, const BF16: bool>(k: usize) -> usize {
    if BF16 { k.next_multiple_of(E::AT_ONCE) / 2 * E::WORDS_PER_PAIR } else { k }
}

/// The left operand as words. Word p of row i is at `i * across + p * along` inside its block, or the first word of
/// sixteen is.
struct Words<'a, const BF16: bool> {
    /// Owns converted words.
    owned: Vec<CacheLine>,
    /// Borrows unconverted words.
    _borrowed: &'a [f32],
    start: *const u32,
    layout: LeftLayout,
    /// Words of a row.
    length: usize,
    /// See [`smallest`]; 0 where nobody asks.
    smallest: u32,
}

// SAFETY: the words that `start` points to are only read, and live as long as the struct.
unsafe impl<const BF16: bool> Sync for Words<'_, BF16> {}

impl<'a, const BF16: bool> Words<'a, BF16> {
    fn of<E: Engine>(left: LeftOperand<'a>, m: usize, k: usize, parallel: bool) -> Self {
        let length = words_of::<E, BF16>(k);
        let several = parallel && m * k >= 1 << 15;
        let least = AtomicU32::new(u32::MAX);
        let note = |words: &[u32]| {
            if BF16 && E::WORDS_PER_PAIR == 2 {
                least.fetch_min(smallest(words), Ordering::Relaxed);
            }
        };
        match left {
            LeftOperand::Plain(data) if !BF16 => {
                assert_eq!(data.len(), m * k);
                Self {
                    owned: vec![],
                    _borrowed: data,
                    start: data.as_ptr().cast(),
                    layout: LeftLayout::Rows,
                    length,
                    smallest: 0,
                }
            }
            LeftOperand::Plain(data) => {
                assert_eq!(data.len(), m * k);
                let rows = if matches!(E::PLAIN, LeftLayout::Blocks) { m.next_multiple_of(16) } else { m };
                let mut owned = lines((rows * length).div_ceil(16));
                let task = |(out, rows): (FreshPart<'_, CacheLine>, &[f32])| {
                    // SAFETY: the words of all rows are written, and where that is not all of the part, zeros before them.
                    let out = unsafe { room(out, rows.len() == RW * k) };
                    // SAFETY: the caller of `product` guarantees the instruction set; `out` has the words of the rows.
                    unsafe { E::convert(rows.as_ptr(), k, rows.len() / k, out.as_mut_ptr().cast()) }
                    // SAFETY: as above.
                    note(unsafe { as_words(out) });
                };
                let all = owned.chunks(RW / 16 * length).zip(data.par_chunks(RW * k));
                all.with_min_len(if several { 1 } else { m }).for_each(task);
                Self::owning(owned.finish(), E::PLAIN, length, least.into_inner())
            }
            LeftOperand::Transposed(data) => {
                assert_eq!(data.len(), m * k);
                let mut owned = lines(m.div_ceil(AW) * AW / 16 * length);
                let task = |(number, out): (usize, FreshPart<'_, CacheLine>)| {
                    let row = number * AW;
                    let here = AW.min(m - row);
                    // SAFETY: the words of all rows are written, and where these are few, zeros before them.
                    let out = unsafe { room(out, here == AW) };
                    // SAFETY: the caller of `product` guarantees the instruction set; rows row..row+here of the transpose
                    // are columns of `data`, and `out` has AW words for each word along k.
                    unsafe { E::rows::<BF16>(data.as_ptr().add(row), m, k, here, out.as_mut_ptr().cast()) }
                    // SAFETY: as above.
                    note(unsafe { as_words(out) });
                };
                let all = owned.chunks(AW / 16 * length).enumerate();
                all.with_min_len(if several { 1 } else { m }).for_each(task);
                Self::owning(owned.finish(), E::TRANSPOSED, length, least.into_inner())
            }
        }
    }

    fn owning(owned: Vec<CacheLine>, layout: LeftLayout, length: usize, smallest: u32) -> Self {
        Self { start: owned.as_ptr().cast(), owned, _borrowed: &[], layout, length, smallest }
    }

    /// Distance between rows, and between neighbours along k.
    fn steps(&self) -> (usize, usize) {
        match self.layout {
            LeftLayout::Rows => (self.length, 1),
            LeftLayout::Abreast(rows) => (1, rows),
            LeftLayout::Blocks => (self.length, 16),
        }
    }

    /// Where row i begins, in words; i is a multiple of [`Engine::TILE_ROWS`], so that no tile crosses two blocks.
    fn row(&self, i: usize) -> usize {
        match self.layout {
            LeftLayout::Abreast(rows) => i / rows * rows * self.length + i % rows,
            LeftLayout::Rows | LeftLayout::Blocks => i * self.length,
        }
    }
}

/// The bits of the smallest magnitude above zero among f32 words; `u32::MAX` where all are 0.
fn smallest(words: &[u32]) -> u32 {
    let least = words.iter().fold(u32::MAX, |least, &word| least.min((word & 0x7fff_ffff).wrapping_sub(1)));
    least.saturating_add(1)
}

/// Whether a sum of products may be other than zero and yet below the normal numbers, given the operands' smallest numbers.
///
/// A bf16 has 8 significant bits. So the numbers of one operand are multiples of its smallest one's power of two times 2^-7,
/// the products are multiples of 2^-14 times both powers, and so is each rounded sum of them. Where that is at least the
/// smallest normal number, 2^-126, a sum is either zero or normal.
fn may_be_subnormal(left: u32, right: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23) as i32 - 127;
    left != u32::MAX && right != u32::MAX && exponent(left) + exponent(right) - 14 < -126
}

/// A part of the words, zeroed if it is not `whole`.
///
/// # Safety
/// The caller must write all of a whole part.
unsafe fn room<'a>(part: FreshPart<'a, CacheLine>, whole: bool) -> &'a mut [MaybeUninit<CacheLine>] {
    // SAFETY: what the caller does not write is written here.
    let room = unsafe { part.room() };
    if !whole {
        room.fill(MaybeUninit::new(CacheLine([0; 16])));
    }
    room
}

/// The words of lines that have been written.
///
/// # Safety
/// All of them must have been.
unsafe fn as_words(lines: &[MaybeUninit<CacheLine>]) -> &[u32] {
    // SAFETY: a Line is 16 words without padding, all of which the caller guarantees.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len() * 16) }
}

/// The output, in which every task writes its own rows and columns.
#[derive(Clone, Copy)]
struct SharedOutput(*mut f32);
// SAFETY: tasks write disjoint elements.
unsafe impl Sync for SharedOutput {}

struct ProductJob<'a, const BF16: bool> {
    words: &'a [Words<'a, BF16>],
    terms: &'a [(usize, RightOperand<'a>)],
    start: ProductStart<'a>,
    out: SharedOutput,
    m: usize,
    n: usize,
    k: usize,
    stretch: usize,
}

impl<const BF16: bool> ProductJob<'_, BF16> {
    /// Computes the columns from `j` on, up to a panel's width, of some rows.
    ///
    /// # Safety
    /// The processor must have the engine's instruction set, this thread must be prepared for it, and no other task may use the
    /// same elements of the output.
    unsafe fn run<E: Engine>(&self, j: usize, rows: Range<usize>, panel: &mut [CacheLine]) {
        let Self { n, k, stretch, .. } = *self;
        debug_assert!(rows.end <= self.m);
        let per_word = if BF16 { 2 / E::WORDS_PER_PAIR } else { 1 };
        let cols = NR.min(n - j);
        let buffer: *mut u32 = panel.as_mut_ptr().cast();
        let mut bias = [0f32; NR];
        if let ProductStart::Bias(all) = self.start {
            bias[..cols].copy_from_slice(&all[j..j + cols]);
        }
        for (term, &(left, right)) in self.terms.iter().enumerate() {
            let words = &self.words[left];
            for from in (0..words.length).step_by(stretch) {
                let length = stretch.min(words.length - from);
                let (at, left) = (per_word * from, (per_word * stretch).min(k - per_word * from));
                for strip in (0..cols).step_by(E::STRIP) {
                    let (j, cols) = (j + strip, E::STRIP.min(cols - strip));
                    let out = buffer.wrapping_add(strip * stretch);
                    // SAFETY: the caller guarantees the instruction set; from the given start the operand has `left` elements
                    // along k and `cols` along n; the buffer has `stretch` words of NR columns.
                    unsafe {
                        match right {
                            RightOperand::Plain(b) => {
                                E::panel::<BF16>(b.as_ptr().add(at * n + j), n, left, cols, E::STRIP, out);
                            }
                            RightOperand::Transposed(b) => {
                                E::transposed::<BF16>(b.as_ptr().add(j * k + at), k, left, cols, out);
                            }
                        }
                    }
                }
                let flush = BF16 && E::WORDS_PER_PAIR == 2 && {
                    let strips = (0..cols).step_by(E::STRIP).map(|strip| {
                        // SAFETY: the strip's words were just written.
                        let strip = unsafe {
                            std::slice::from_raw_parts(buffer.add(strip * stretch), E::STRIP * length)
                        };
                        smallest(strip)
                    });
                    may_be_subnormal(words.smallest, strips.min().unwrap_or(u32::MAX))
                };
                let tiles = rows.len().div_ceil(E::TILE_ROWS) * cols.div_ceil(E::STRIP);
                let mut ahead = self.ahead(term, j, at + per_word * stretch, per_word * stretch);
                for first in rows.clone().step_by(E::ROWS) {
                    let block = first..rows.end.min(first.saturating_add(E::ROWS));
                    for strip in (0..cols).step_by(E::STRIP) {
                        let tile = StripTile {
                            rows: 0,
                            a: words.start.wrapping_add(from * words.steps().1),
                            across: words.steps().0,
                            along: words.steps().1,
                            b: buffer.wrapping_add(strip * stretch),
                            length,
                            c: self.out.0.wrapping_add(j + strip),
                            n,
                            cols: E::STRIP.min(cols - strip),
                            bias: bias.as_ptr().wrapping_add(strip),
                            add: from > 0 || term > 0 || matches!(self.start, ProductStart::Out),
                            flush,
                            operand: None,
                        };
                        // SAFETY: the caller guarantees the instruction set; the strip's block of `length` words was just
                        // written, and its columns are inside `out`.
                        unsafe { column::<E, BF16>(words, tile, block.clone(), tiles, &mut ahead) };
                    }
                }
            }
        }
    }

    /// The block after the one of a term that ends at `at`: the next one of the same columns, or the first one of the next
    /// term, or of the next panel.
    fn ahead(&self, term: usize, j: usize, at: usize, depth: usize) -> Ahead {
        let (term, j, at) = match () {
            () if at < self.k => (term, j, at),
            () if term + 1 < self.terms.len() => (term + 1, j, 0),
            () => (0, j + NR, 0),
        };
        let (depth, cols) = (depth.min(self.k - at), NR.min(self.n.saturating_sub(j)));
        let (from, stride, rows, length) = match self.terms[term].1 {
            RightOperand::Plain(b) => (b.as_ptr().wrapping_add(at * self.n + j), self.n, depth, cols),
            RightOperand::Transposed(b) => (b.as_ptr().wrapping_add(j * self.k + at), self.k, cols, depth),
        };
        Ahead::new(from, stride, [rows, length])
    }
}

/// Multiplies rows with one strip; `tile` has everything but the place of its rows.
///
/// # Safety
/// As [`ProductJob::run`]; `tile.a` must be where the strip's block begins in the left operand's first row, and `tile.c` the first
/// row's first element.
#[inline]
unsafe fn column<E: Engine, const BF16: bool>(
    words: &Words<'_, BF16>,
    mut tile: StripTile,
    rows: Range<usize>,
    tiles: usize,
    ahead: &mut Ahead,
) {
    let (a, c) = (tile.a, tile.c);
    for i in rows.clone().step_by(E::TILE_ROWS) {
        if let Some(every) = E::PREFETCH_EVERY {
            let elements = if BF16 { 2 / E::WORDS_PER_PAIR } else { 1 } * tile.length;
            tile.operand = ahead.next(elements.div_ceil(every));
        } else {
            ahead.prefetch(tiles);
        }
        tile.rows = E::TILE_ROWS.min(rows.end - i);
        tile.a = a.wrapping_add(words.row(i));
        tile.c = c.wrapping_add(i * tile.n);
        // SAFETY: the caller guarantees the instruction set; the tile's elements are inside `out`, and no other task uses
        // them; its words are inside the left operand and the buffer.
        unsafe { E::tile::<BF16>(&tile) }
    }
}
