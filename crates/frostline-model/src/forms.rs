//! The form of attention in each block, with its rotations.

use frostline_kernels::{AttentionForm, Rotary};

use crate::{EncoderConfig, LayerKind};

/// The forms of attention of an encoder, with the rotations computed once for each base.
pub(crate) struct AttentionForms<'a> {
    config: &'a EncoderConfig,
    rotations: Vec<(f64, Rotary)>,
}

impl<'a> AttentionForms<'a> {
    /// Computes the rotations of an encoder.
    pub fn new(config: &'a EncoderConfig) -> Self {
        let mut forms = Self { config, rotations: Vec::new() };
        for block in 0..config.depth {
            if let Some(base) = forms.base(block)
                && !forms.rotations.iter().any(|(known, _)| *known == base)
            {
                let channels = config.hidden / config.heads;
                forms.rotations.push((base, Rotary::new(base, channels, config.positions)));
            }
        }
        forms
    }

    /// Returns the base of the rotations in a block.
    fn base(&self, block: usize) -> Option<f64> {
        let architecture = &self.config.architecture;
        architecture.rotary.map(|bases| match architecture.layer(block) {
            LayerKind::Global => bases.global,
            LayerKind::Local => bases.local,
        })
    }

    /// Returns the form of attention in a block.
    pub fn of_block(&self, block: usize) -> AttentionForm {
        let architecture = &self.config.architecture;
        let rotary = self.base(block).and_then(|base| {
            let found = self.rotations.iter().find(|(known, _)| *known == base);
            found.map(|(_, rotary)| rotary.clone())
        });
        let window = (architecture.layer(block) == LayerKind::Local).then_some(architecture.window);
        AttentionForm { heads: self.config.heads, rotary, window }
    }
}
