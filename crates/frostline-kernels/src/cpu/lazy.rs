//! A table of which a step updates only the rows that it reads.
//!
//! A step reads a few hundred rows of a word table. AdamW moves all others too, by their moments and their decay, which costs
//! memory traffic for the whole table. Here a row gets these updates when it is next read, one after the other and in
//! registers: the same operations in the same order, so the same bits.

use rayon::prelude::*;

use super::adamw::{StepConstants, replay, step_chunk};
use crate::profile::{Operation, timed};
use crate::{AdamW, LazyTable};

/// Rows that a thread takes at once.
const MIN_ROWS: usize = 8;

/// The table in memory.
pub struct MemoryTable {
    width: usize,
    /// The table and its two moments, \[V, H\] each.
    values: [Vec<f32>; 3],
    /// How many of the updates each row has had.
    had: Vec<usize>,
    /// Whether a row has moments: one that has none is only decayed.
    moves: Vec<bool>,
    updates: Vec<StepConstants>,
    /// The rows that were read last.
    read: Vec<u32>,
}

/// A row: its values and moments.
struct TableRow<'a> {
    values: [&'a mut [f32]; 3],
    had: &'a mut usize,
    moves: &'a mut bool,
}

impl TableRow<'_> {
    /// Makes up for the updates that the row has missed.
    fn catch_up(&mut self, updates: &[StepConstants]) {
        let missed = &updates[std::mem::replace(self.had, updates.len())..];
        let [values, first, second] = &mut self.values;
        if *self.moves {
            replay(missed, values, first, second);
        } else {
            // Without moments, an update is its decay.
            for rule in missed.iter().filter(|rule| rule.keep != 1.0) {
                values.iter_mut().for_each(|value| *value *= rule.keep);
            }
        }
    }
}

impl MemoryTable {
    /// A table of rows of this width, with its moments.
    ///
    /// # Panics
    /// If the three do not have the same whole number of rows.
    pub fn new(width: usize, values: [Vec<f32>; 3]) -> Self {
        let [table, first, second] = &values;
        assert!(
            [first.len(), second.len()] == [table.len(); 2] && table.len().is_multiple_of(width),
            "a table and its moments differ in size"
        );
        let is_there = |row: &[f32]| row.iter().any(|moment| moment.to_bits() != 0);
        let moments = first.par_chunks(width).zip(second.par_chunks(width)).with_min_len(MIN_ROWS);
        let moves: Vec<bool> = moments.map(|(first, second)| is_there(first) || is_there(second)).collect();
        Self { width, had: vec![0; moves.len()], moves, values, updates: Vec::new(), read: Vec::new() }
    }

    /// These rows, which ascend.
    fn rows<'a>(&'a mut self, rows: &[u32]) -> (Vec<TableRow<'a>>, &'a [StepConstants]) {
        let Self { width, values: [table, first, second], had, moves, updates, .. } = self;
        let mut parts =
            picked(table, *width, rows).zip(picked(first, *width, rows)).zip(picked(second, *width, rows));
        let mut counts = picked(had, 1, rows).zip(picked(moves, 1, rows));
        let row = |_| {
            let ((table, first), second) = parts.next()?;
            let (had, moves) = counts.next()?;
            Some(TableRow { values: [table, first, second], had: &mut had[0], moves: &mut moves[0] })
        };
        (rows.iter().map_while(row).collect(), updates)
    }
}

/// Parts of this width with these numbers, which ascend.
fn picked<'a, T>(mut left: &'a mut [T], width: usize, rows: &[u32]) -> impl Iterator<Item = &'a mut [T]> {
    let mut passed = 0;
    rows.iter().map(move |&row| {
        let row = row as usize;
        let (part, rest) = std::mem::take(&mut left)[(row - passed) * width..].split_at_mut(width);
        (left, passed) = (rest, row + 1);
        part
    })
}

impl LazyTable for MemoryTable {
    fn read(&mut self, rows: &[u32]) -> Vec<f32> {
        let width = self.width;
        let _timed = timed(Operation::AdamW, 0, 7 * rows.len() * width);
        let mut out = vec![0f32; rows.len() * width];
        let (found, updates) = self.rows(rows);
        found.into_par_iter().zip(out.par_chunks_mut(width)).with_min_len(MIN_ROWS).for_each(
            |(mut row, out)| {
                row.catch_up(updates);
                out.copy_from_slice(row.values[0]);
            },
        );
        self.read = rows.to_vec();
        out
    }

    fn update(&mut self, rule: &AdamW, scale: f64, gradient: &[f32]) {
        let (read, width) = (std::mem::take(&mut self.read), self.width);
        assert_eq!(gradient.len(), read.len() * width, "a gradient for each of the rows that were read");
        let _timed = timed(Operation::AdamW, 0, 7 * gradient.len());
        let constants = StepConstants::new(rule, scale);
        let (found, updates) = self.rows(&read);
        let had = updates.len() + 1;
        found.into_par_iter().zip(gradient.par_chunks(width)).with_min_len(MIN_ROWS).for_each(
            |(row, gradient)| {
                let [values, first, second] = row.values;
                step_chunk(constants, values, gradient, first, second);
                (*row.had, *row.moves) = (had, true);
            },
        );
        self.updates.push(constants);
    }

    fn finish(mut self: Box<Self>) -> [Vec<f32>; 3] {
        let all: Vec<u32> = (0..self.had.len() as u32).collect();
        let _timed = timed(Operation::AdamW, 0, 6 * self.values[0].len());
        let (found, updates) = self.rows(&all);
        found.into_par_iter().with_min_len(MIN_ROWS).for_each(|mut row| row.catch_up(updates));
        self.values
    }
}
