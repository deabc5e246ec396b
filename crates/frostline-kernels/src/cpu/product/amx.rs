//! The engine of Intel's matrix unit (AMX): tiles of 32 x 32 sums, bf16 operands.
//!
//! One instruction, `tdpbf16ps`, adds the products of 16 rows, 16 columns and 32 elements along k. Even and odd elements are summed
//! separately from zero; the two sums are added, and the total is added to what the element was. Numbers below the normal ones
//! are zero before and after each step. The other engines sum in another order, so the unit is used only on request.
//!
//! # Source
//! Intel, *64 and IA-32 Architectures Software Developer's Manual*, `TDPBF16PS`; the Linux kernel's *Using XSTATE features in
//! user space applications*.

use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use core::ptr;
use std::sync::OnceLock;

use super::avx512;
use super::blocked::{Engine, LeftLayout, StripTile};
use super::words::{convert, panel, rows_of_transpose, transposed};
use crate::dispatch::{Isa, isa};

/// Rows, and columns, of a register of the matrix unit.
const SIDE: usize = 16;
/// Columns of a strip and rows of a tile: two registers.
const STRIP: usize = 2 * SIDE;
/// bf16 along k of one instruction.
const AT_ONCE: usize = 32;

/// Words of a block of a left operand, which is what a register holds.
const BLOCK: usize = SIDE * SIDE;

/// Processors with AMX-BF16 where [`is_usable`].
pub struct Amx;

/// Whether the processor has the matrix unit and AVX-512 with bf16, which prepares its operands, and the system lets this
/// process use it.
pub fn is_usable() -> bool {
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| {
        const TILES_AND_BF16: u32 = 1 << 24 | 1 << 22;
        let has_unit = || __cpuid_count(7, 0).edx & TILES_AND_BF16 == TILES_AND_BF16;
        isa() == Isa::Avx512 && avx512::has_bf16() && has_unit() && is_permitted()
    })
}

/// Asks Linux for room for the unit's registers, of which every thread needs 8 KiB. From then on it refuses stacks for signals
/// that are too small to save them.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    const ARCH_PRCTL: usize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let result: isize;
    // SAFETY: this call of the system reads and writes no memory of the process.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, nomem),
        );
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

// SAFETY: the functions do what the trait describes.
unsafe impl Engine for Amx {
    const STRIP: usize = STRIP;
    const TILE_ROWS: usize = STRIP;
    /// Their words along a pass take less than half a megabyte.
    const ROWS: usize = 512;
    const WORDS_PER_PAIR: usize = 1;
    const PLAIN: LeftLayout = LeftLayout::Blocks;
    const TRANSPOSED: LeftLayout = LeftLayout::Blocks;
    const AT_ONCE: usize = AT_ONCE;
    const PREFETCH_EVERY: Option<usize> = None;

    unsafe fn convert(from: *const f32, k: usize, rows: usize, out: *mut u32) {
        let length = k.next_multiple_of(AT_ONCE) / 2;
        for row in 0..rows {
            // SAFETY: the caller guarantees the features and the pointers, and room for whole multiples of AT_ONCE elements.
            unsafe {
                let out = out.add(row / SIDE * SIDE * length + row % SIDE * SIDE);
                if !k.is_multiple_of(AT_ONCE) {
                    out.add((length - SIDE) * SIDE).write_bytes(0, SIDE);
                }
                convert(from.add(row * k), k, BLOCK, out);
            }
        }
    }

    unsafe fn panel<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        cols: usize,
        width: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe {
            panel::<BF16>(from, stride, k, cols, width, out);
            zero_tail(out, k, width);
        }
    }

    unsafe fn transposed<const BF16: bool>(
        from: *const f32,
        stride: usize,
        k: usize,
        rows: usize,
        out: *mut u32,
    ) {
        // SAFETY: as above.
        unsafe {
            transposed::<BF16>(from, stride, k, rows, STRIP, out);
            zero_tail(out, k, STRIP);
        }
    }

    unsafe fn rows<const BF16: bool>(from: *const f32, stride: usize, k: usize, rows: usize, out: *mut u32) {
        // SAFETY: as above.
        unsafe { rows_of_transpose(from, stride, k, rows, k.next_multiple_of(AT_ONCE) / 2, out) }
    }

    unsafe fn begin() {
        // SAFETY: the caller guarantees the unit.
        unsafe { configure(&WHOLE) };
    }

    unsafe fn end() {
        // SAFETY: the unit is usable, and nothing of it is needed any more.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) }
    }

    #[inline]
    unsafe fn tile<const BF16: bool>(tile: &StripTile) {
        const { assert!(BF16, "this engine multiplies bf16 alone") }
        // SAFETY: as above.
        unsafe { multiply(tile) }
    }
}

/// Writes zeros where words end before a multiple of [`AT_ONCE`] elements; `width` words belong to one place along k.
///
/// # Safety
/// `out` must be valid for writing them.
unsafe fn zero_tail(out: *mut u32, k: usize, width: usize) {
    let (written, all) = (k.div_ceil(2), k.next_multiple_of(AT_ONCE) / 2);
    // SAFETY: the caller guarantees the pointer.
    unsafe { out.add(written * width).write_bytes(0, (all - written) * width) }
}

/// What the unit's registers hold, as `ldtilecfg` reads it. Registers 0 to 3 are the quarters of a tile, 4 and 5 the left
/// operand's upper and lower rows, 6 and 7 the right one's columns.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    bytes_per_row: [u16; 16],
    rows: [u8; 16],
}

impl TileConfig {
    const fn of(rows: [usize; 2], cols: [usize; 2]) -> Self {
        let [upper, lower] = [rows[0] as u8, rows[1] as u8];
        let [left, right] = [4 * cols[0] as u16, 4 * cols[1] as u16];
        let (all, side) = (4 * SIDE as u16, SIDE as u8);
        Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes_per_row: [left, right, left, right, all, all, left, right, 0, 0, 0, 0, 0, 0, 0, 0],
            rows: [upper, upper, lower, lower, upper, lower, side, side, 0, 0, 0, 0, 0, 0, 0, 0],
        }
    }
}

/// What a whole tile needs.
static WHOLE: TileConfig = TileConfig::of([SIDE; 2], [SIDE; 2]);

/// Gives the unit's registers of this thread their shapes.
///
/// # Safety
/// The matrix unit must be usable.
unsafe fn configure(shapes: &TileConfig) {
    // SAFETY: the caller guarantees the unit; the shapes are 64 bytes that it accepts.
    unsafe {
        asm!("ldtilecfg [{shapes}]", shapes = in(reg) shapes, options(nostack, readonly, preserves_flags))
    }
}

/// Computes a tile, quarter by quarter along k.
///
/// # Safety
/// The matrix unit must be usable. `tile` must be as [`Engine::tile`] says, with rows of the left operand one after the other
/// and a length of whole multiples of [`AT_ONCE`] elements.
unsafe fn multiply(tile: &StripTile) {
    debug_assert!(tile.along == SIDE && tile.length.is_multiple_of(SIDE) && tile.length > 0);
    let has_lower_rows = tile.rows > SIDE;
    let has_right_columns = tile.cols > SIDE;
    // Where a quarter begins, null for one that the tile does not have.
    let quarters = |first: *const f32, row: usize| {
        let place = |is_there: bool, at: usize| if is_there { first.wrapping_add(at) } else { ptr::null() };
        let low = SIDE * row;
        [
            first,
            place(has_right_columns, SIDE),
            place(has_lower_rows, low),
            place(has_lower_rows && has_right_columns, low + SIDE),
        ]
    };
    // A bias is one row, which is read for each of them.
    let (start, start_row) = if tile.add { (tile.c.cast_const(), tile.n) } else { (tile.bias, 0) };
    let places = [quarters(start, start_row), quarters(tile.c, tile.n)];
    let is_whole = tile.rows == STRIP && tile.cols == STRIP;
    if !is_whole {
        let halves = |all: usize| [all.min(SIDE), all.saturating_sub(SIDE).max(1)];
        // SAFETY: the caller guarantees the unit.
        unsafe { configure(&TileConfig::of(halves(tile.rows), halves(tile.cols))) };
    }
    // Without lower rows, the first one is multiplied once more, for nothing.
    let low = tile.a.wrapping_add(if has_lower_rows { SIDE * tile.across } else { 0 });
    // SAFETY: the caller guarantees the unit and the pointers: registers have the rows and columns of their quarters. The
    // compiler does not use them, and none is read after the end. What is in those of quarters that are not there is not read.
    unsafe {
        asm!(
            "mov {x}, [{places}]",
            "tileloadd tmm0, [{x} + {start_row}*1]",
            "mov {x}, [{places} + 8]",
            "test {x}, {x}",
            "jz 2f",
            "tileloadd tmm1, [{x} + {start_row}*1]",
            "2:",
            "mov {x}, [{places} + 16]",
            "test {x}, {x}",
            "jz 2f",
            "tileloadd tmm2, [{x} + {start_row}*1]",
            "mov {x}, [{places} + 24]",
            "test {x}, {x}",
            "jz 2f",
            "tileloadd tmm3, [{x} + {start_row}*1]",
            "2:",
            "tileloadd tmm4, [{a} + {line}*1]",
            "tileloadd tmm6, [{b} + {strip}*1]",
            "tileloadd tmm7, [{b} + {strip}*1 + 64]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{low} + {line}*1]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a}, 1024",
            "add {low}, 1024",
            "add {b}, 2048",
            "dec {count}",
            "jnz 2b",
            "mov {x}, [{places} + 32]",
            "tilestored [{x} + {row}*1], tmm0",
            "mov {x}, [{places} + 40]",
            "test {x}, {x}",
            "jz 2f",
            "tilestored [{x} + {row}*1], tmm1",
            "2:",
            "mov {x}, [{places} + 48]",
            "test {x}, {x}",
            "jz 2f",
            "tilestored [{x} + {row}*1], tmm2",
            "mov {x}, [{places} + 56]",
            "test {x}, {x}",
            "jz 2f",
            "tilestored [{x} + {row}*1], tmm3",
            "2:",
            x = out(reg) _,
            places = in(reg) places.as_ptr(),
            start_row = in(reg) 4 * start_row,
            row = in(reg) 4 * tile.n,
            a = inout(reg) tile.a => _,
            low = inout(reg) low => _,
            line = in(reg) 4 * SIDE,
            b = inout(reg) tile.b => _,
            strip = in(reg) 4 * STRIP,
            count = inout(reg) tile.length / SIDE => _,
            options(nostack),
        );
    }
    if !is_whole {
        // SAFETY: the caller guarantees the unit.
        unsafe { configure(&WHOLE) };
    }
}
