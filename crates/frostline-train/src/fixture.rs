//! For tests: a model whose steps threads share, where its sentences are long.

use burn::backend::{Autodiff, Flex};
use frostline_align::{Aligner, VocabOptions};
use frostline_model::{EncoderConfig, HeadShape, Network, RandomInit, Vocabulary};

use crate::{Dataset, Split, TaggedSentence, Unit};

/// What its steps compute on.
pub(crate) type Processor = Autodiff<Flex>;

/// An encoder of one wide block with a head of two labels, and what they learn from.
pub(crate) struct Fixture {
    pub encoder: EncoderConfig,
    pub train: Dataset,
    pub model: Network<Processor>,
}

impl Fixture {
    /// Four sentences of so many words. With 254, a step of two of them is one that threads share.
    pub(crate) fn new(words: usize) -> Self {
        let text = r#"{"model_type": "distilbert", "vocab_size": 5, "dim": 64, "n_layers": 1, "n_heads": 2,
            "hidden_dim": 1024, "max_position_embeddings": 256}"#;
        let encoder = EncoderConfig::parse(text, "test").expect("a config");
        let aligner = Aligner::from_vocab("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n", &VocabOptions::default())
            .expect("a vocabulary");
        let tags = ["DET", "NOUN"];
        let sentence =
            TaggedSentence { words: vec!["a"; words], tags: tags.into_iter().cycle().take(words).collect() };
        let sentences = vec![sentence; 4];
        let split = Split { name: "train", sentences: &sentences, unit: Unit::Words };
        let mut train = Dataset::build(&split, &aligner, &tags.map(String::from)).expect("a dataset");
        let vocabulary = Vocabulary::full(5);
        train.compact(&vocabulary);
        let draw = RandomInit::new(5, 0.02);
        let heads = [HeadShape::linear(2)];
        let model = Network::build(&encoder, &vocabulary, &heads, [&draw, &draw], &Default::default());
        Self { encoder, train, model: model.expect("a model") }
    }
}
