//! The programs in a model card: how the model is used with `transformers` and with Frostline.

use super::Card;

/// Returns the section's text.
pub(super) fn section(card: &Card) -> String {
    match card.labels_words() {
        true => format!(
            "With `transformers`, words in and a label for each out. A word's label is read at its first subword:\n\n{}\n\
             With Frostline, in Rust. Words of any case go in as they are, and sentences of any length:\n\n{}\n\
             On the command line: `frostline tag --run FOLDER --input FILE`.\n",
            python_words(card),
            RUST
        ),
        false => format!(
            "With `transformers`, a label for each sentence:\n\n{}\n\
             With Frostline, on the command line: `frostline logits --model FOLDER --input FILE`.\n",
            python_sentences(card)
        ),
    }
}

const RUST: &str = r#"```rust
let tagger = frostline_tagger::Tagger::load("FOLDER")?;
let tags = tagger.tag(&["The", "ice", "melts", "."])?;
```
"#;

/// Returns code that brings words into the form used in training.
fn prepared(card: &Card) -> &'static str {
    if card.record.cell.settings.data.lowercase { "[word.lower() for word in words]" } else { "words" }
}

fn python_words(card: &Card) -> String {
    format!(
        r#"```python
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

folder = "FOLDER"  # this folder, or its name on the hub
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForTokenClassification.from_pretrained(folder).eval()

words = ["The", "ice", "melts", "."]
inputs = tokenizer(
    {words}, is_split_into_words=True, truncation=True, max_length={length}, return_tensors="pt"
)
with torch.no_grad():
    best = model(**inputs).logits[0].argmax(-1)
labels = {{}}
for position, word in enumerate(inputs.word_ids()):
    if word is not None and word not in labels:
        labels[word] = model.config.id2label[int(best[position])]
print([(word, labels.get(number)) for number, word in enumerate(words)])
```
"#,
        words = prepared(card),
        length = card.record.cell.settings.data.max_length
    )
}

fn python_sentences(card: &Card) -> String {
    format!(
        r#"```python
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

folder = "FOLDER"  # this folder, or its name on the hub
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

words = ["The", "ice", "melts", "."]
inputs = tokenizer(
    {words}, is_split_into_words=True, truncation=True, max_length={length}, return_tensors="pt"
)
with torch.no_grad():
    print(model.config.id2label[int(model(**inputs).logits[0].argmax(-1))])
```
"#,
        words = prepared(card),
        length = card.record.cell.settings.data.max_length
    )
}
