//! Every engine of this machine gives the same bits, and they are those of the sum that is defined.

use std::mem::MaybeUninit;

use frostline_random::Stream;

use super::blocked::{self, Engine};
use super::lanes::Portable;
use super::{LeftOperand, ProductStart, ProductSum, RightOperand};

type Product = fn([usize; 3], &[LeftOperand<'_>], &mut [ProductSum<'_>]);
/// An element of a row, a column and what it starts with.
type Element = fn(&[f32], &[f32], f32) -> f32;

fn with<E: Engine, const BF16: bool>(
    sizes: [usize; 3],
    lefts: &[LeftOperand<'_>],
    sums: &mut [ProductSum<'_>],
) {
    // SAFETY: `engines` lists those whose instruction set this processor has.
    unsafe { blocked::products::<E, BF16>(sizes, lefts, sums) }
}

/// The engines that run here.
fn engines<const BF16: bool>() -> Vec<(&'static str, Product)> {
    let mut all: Vec<(&'static str, Product)> = vec![("portable", with::<Portable, BF16>)];
    #[cfg(target_arch = "aarch64")]
    all.push(("neon", with::<super::lanes::Neon, BF16>));
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            all.push(("avx2", with::<super::lanes::Avx2, BF16>));
        }
        if is_x86_feature_detected!("avx512f") && (!BF16 || super::avx512::has_bf16()) {
            all.push(("avx512", with::<super::avx512::Avx512Engine, BF16>));
        }
        if super::isa() == super::Isa::Avx512 {
            all.push(("avx512 in f32", with::<super::avx512::Avx512Widened, BF16>));
        }
    }
    all
}

fn run(
    engine: Product,
    sizes: [usize; 3],
    left: LeftOperand<'_>,
    right: RightOperand<'_>,
    bias: Option<&[f32]>,
) -> Vec<u32> {
    let mut out = vec![MaybeUninit::new(f32::NAN); sizes[0] * sizes[1]];
    let start = bias.map_or(ProductStart::Zero, ProductStart::Bias);
    engine(sizes, &[left], &mut [ProductSum { terms: &[(0, right)], start, out: &mut out }]);
    bits(&out)
}

/// The bits of elements that were all initialised.
fn bits(out: &[MaybeUninit<f32>]) -> Vec<u32> {
    // SAFETY: every vector of these tests is initialised when it is made.
    out.iter().map(|value| unsafe { value.assume_init() }.to_bits()).collect()
}

/// Values around 1, some of them zero, some so small that their products are below the normal numbers.
fn values(name: &str, count: usize, tiny: bool) -> Vec<f32> {
    let stream = Stream::new(5, name);
    (0..count as u64)
        .map(|at| match stream.bits(at) % 8 {
            0 => 0.0,
            1..=3 if tiny => stream.normal(at) as f32 * 1e-20,
            4 if tiny => stream.normal(at) as f32 * 1e-39,
            _ => stream.normal(at) as f32,
        })
        .collect()
}

fn transposed(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..rows * columns).map(|at| data[at % rows * columns + at / rows]).collect()
}

/// The value that a bf16 keeps, written from the definition: the nearest of the two neighbours with 8 significant bits.
fn rounded(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE {
        return 0.0 * value;
    }
    let below = f32::from_bits(value.to_bits() & 0xffff_0000);
    let above = f32::from_bits((value.to_bits() & 0xffff_0000) + 0x1_0000);
    let (down, up) = ((value - below).abs(), (above - value).abs());
    let even = below.to_bits() & 0x1_0000 == 0;
    if down < up || (down == up && even) { below } else { above }
}

/// One element as the module defines it.
fn element<const BF16: bool>(row: &[f32], column: &[f32], bias: f32) -> f32 {
    let unit = if BF16 { 2 } else { 1 };
    let units = row.len().div_ceil(unit);
    let pass = unit * units.div_ceil(units.div_ceil(448 / unit));
    let flushed = |value: f32| if BF16 { flushed(value) } else { value };
    let term = |sum: f32, at: usize| {
        let (a, b) = (row.get(at).copied().unwrap_or(0.0), column.get(at).copied().unwrap_or(0.0));
        let (a, b) = if BF16 { (rounded(a), rounded(b)) } else { (a, b) };
        flushed(a.mul_add(b, sum))
    };
    let sums = (0..row.len().next_multiple_of(unit)).step_by(pass).map(|from| {
        let to = (from + pass).min(row.len().next_multiple_of(unit));
        (from..to).fold(0.0, |sum, at| term(sum, if BF16 { at ^ 1 } else { at }))
    });
    sums.fold(bias, |before, sum| sum + before)
}

fn flushed(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0.0 * value } else { value }
}

/// One element as the manual of the matrix unit's instruction says.
#[cfg(target_arch = "x86_64")]
fn element_of_matrix_unit(row: &[f32], column: &[f32], bias: f32) -> f32 {
    (0..row.len()).step_by(32).fold(bias, |before, from| {
        let mut sums = [0f32; 2];
        for at in from..row.len().min(from + 32) {
            let sum = &mut sums[at % 2];
            *sum = flushed(rounded(row[at]).mul_add(rounded(column[at]), *sum));
        }
        flushed(before + flushed(sums[0] + sums[1]))
    })
}

fn check<const BF16: bool>(sizes: [usize; 3], tiny: bool) {
    check_engines(&engines::<BF16>(), element::<BF16>, sizes, tiny);
}

fn check_engines(engines: &[(&str, Product)], element: Element, [m, n, k]: [usize; 3], tiny: bool) {
    let (a, b) = (values("a", m * k, tiny), values("b", k * n, tiny));
    let bias = values("bias", n, false);
    let (a_turned, b_turned) = (transposed(&a, m, k), transposed(&b, k, n));
    let lefts = [("plain", LeftOperand::Plain(&a)), ("transposed", LeftOperand::Transposed(&a_turned))];
    let rights = [("plain", RightOperand::Plain(&b)), ("transposed", RightOperand::Transposed(&b_turned))];
    let expected: Vec<u32> = (0..m * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            element(&a[i * k..(i + 1) * k], &b_turned[j * k..(j + 1) * k], bias[j]).to_bits()
        })
        .collect();
    for (name, engine) in engines {
        for (one, left) in lefts {
            for (other, right) in rights {
                let found = run(*engine, [m, n, k], left, right, Some(&bias));
                let differ = found.iter().zip(&expected).position(|(a, b)| a != b);
                let bits = differ.map(|at| [found[at], expected[at]].map(f32::from_bits));
                assert!(bits.is_none(), "{name}: [{m}, {n}, {k}], {one} times {other}: {differ:?}, {bits:?}");
            }
        }
    }
}

/// Sizes on both sides of a strip, a panel, a tile, a block of rows, a pass and what is worth several threads.
const SIZES: [[usize; 3]; 12] = [
    [1, 1, 1],
    [5, 3, 2],
    [6, 16, 17],
    [7, 17, 31],
    [13, 63, 64],
    [12, 65, 449],
    [48, 64, 448],
    [97, 40, 33],
    [50, 130, 900],
    [200, 20, 447],
    [2, 70, 1345],
    [400, 70, 449],
];

#[test]
fn every_engine_gives_the_bits_of_the_defined_sum() {
    for sizes in SIZES {
        check::<false>(sizes, false);
        check::<true>(sizes, false);
    }
}

#[test]
fn small_numbers_are_flushed_alike() {
    for sizes in SIZES {
        check::<false>(sizes, true);
        check::<true>(sizes, true);
    }
}

/// Two outputs of three operands, one of them of two terms: the first is added to what it holds.
fn check_sums(engines: &[(&str, Product)], element: Element, [m, n, k]: [usize; 3]) {
    let a = ["a", "c", "e"].map(|name| values(name, m * k, false));
    let b = ["b", "d", "f"].map(|name| values(name, k * n, false));
    let turned: [Vec<f32>; 3] = std::array::from_fn(|at| transposed(&b[at], k, n));
    let (held, bias) = (values("held", m * n, false), values("bias", n, false));
    let term = |at: usize, before: f32, (i, j): (usize, usize)| {
        element(&a[at][i * k..(i + 1) * k], &turned[at][j * k..(j + 1) * k], before)
    };
    let elements = || (0..m * n).map(|at| (at, (at / n, at % n)));
    let expected: [Vec<u32>; 2] = [
        elements().map(|(at, place)| term(2, term(0, held[at], place), place).to_bits()).collect(),
        elements().map(|(_, place)| term(1, bias[place.1], place).to_bits()).collect(),
    ];
    let a_turned = transposed(&a[0], m, k);
    let lefts = [LeftOperand::Transposed(&a_turned), LeftOperand::Plain(&a[1]), LeftOperand::Plain(&a[2])];
    let (two, one) = (
        [(0, RightOperand::Plain(&b[0])), (2, RightOperand::Transposed(&turned[2]))],
        [(1, RightOperand::Plain(&b[1]))],
    );
    for (name, engine) in engines {
        let mut first: Vec<_> = held.iter().copied().map(MaybeUninit::new).collect();
        let mut second = vec![MaybeUninit::new(f32::NAN); m * n];
        let mut sums = [
            ProductSum { terms: &two, start: ProductStart::Out, out: &mut first },
            ProductSum { terms: &one, start: ProductStart::Bias(&bias), out: &mut second },
        ];
        engine([m, n, k], &lefts, &mut sums);
        assert!([bits(&first), bits(&second)] == expected, "{name}: [{m}, {n}, {k}]");
    }
}

#[test]
fn a_sum_of_products_has_its_terms_in_their_order() {
    for sizes in SIZES {
        check_sums(&engines::<false>(), element::<false>, sizes);
        check_sums(&engines::<true>(), element::<true>, sizes);
    }
}

#[test]
fn a_product_without_a_bias_is_one_with_zeros() {
    let (a, b) = (values("a", 20 * 70, false), values("b", 70 * 33, false));
    for (name, engine) in engines::<false>() {
        let [without, with] = [None, Some([0.0; 33])].map(|bias| {
            run(
                engine,
                [20, 33, 70],
                LeftOperand::Plain(&a),
                RightOperand::Plain(&b),
                bias.as_ref().map(|bias| &bias[..]),
            )
        });
        assert!(without == with, "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn the_matrix_unit_gives_the_bits_that_its_manual_says() {
    if !super::has_matrix_unit() {
        return frostline_testing::skipped(frostline_testing::Lack::Processor, "no matrix unit (AMX) here");
    }
    let engine: [(&str, Product); 1] = [("amx", with::<super::amx::Amx, true>)];
    // With more rows than are multiplied with one strip after the other.
    for sizes in SIZES.into_iter().chain([[530, 20, 40]]) {
        check_engines(&engine, element_of_matrix_unit, sizes, false);
        check_engines(&engine, element_of_matrix_unit, sizes, true);
        check_sums(&engine, element_of_matrix_unit, sizes);
    }
}
