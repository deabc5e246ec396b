//! Rows of a table, and the sum of their gradients.

/// table \[V, H\] -> \[N, H\].
pub fn forward(table: &[f32], h: usize, rows: &[u32]) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows.len() * h);
    for &row in rows {
        out.extend_from_slice(&table[row as usize * h..][..h]);
    }
    out
}

/// The table's gradient \[V, H\]: rows are added in their order.
pub fn backward(gradient: &[f32], height: usize, h: usize, rows: &[u32]) -> Vec<f32> {
    let mut out = vec![0f32; height * h];
    for (&row, gradient) in rows.iter().zip(gradient.chunks_exact(h)) {
        super::linear::add_rows(gradient, &mut out[row as usize * h..][..h]);
    }
    out
}
