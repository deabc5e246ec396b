//! An encoder's blocks as policies see them.

use frostline_freeze::Blocks;
use frostline_model::{EncoderConfig, LayerKind};
use frostline_record::Cell;

/// Returns how many blocks an encoder has, which of them attend to a window alone, and which have the same weights.
#[must_use]
pub fn encoder_blocks(encoder: &EncoderConfig) -> Blocks {
    let is_local = |block: &usize| encoder.architecture.layer(*block) == LayerKind::Local;
    let blocks = Blocks::new(encoder.depth, (0..encoder.depth).filter(is_local));
    blocks.with_sharing(encoder.architecture.spans())
}

/// Returns the same with the order of blocks by the scores that a cell's policies use.
pub(crate) fn blocks_of_cell(cell: &Cell, encoder: &EncoderConfig) -> Blocks {
    encoder_blocks(encoder).with_orders(cell.block_orders.clone())
}
