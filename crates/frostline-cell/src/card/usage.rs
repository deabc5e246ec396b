//! The programs in a model card: how the model is used with `transformers` and with Frostline.

use super::{Card, ModelForm};

/// Returns the section's text.
pub(super) fn usage_section(card: &Card) -> String {
    match card.form {
        ModelForm::Transformers => with_transformers(card),
        ModelForm::Onnx => {
            let about = match card.labels_words() {
                true => {
                    "With onnxruntime, words in and a label for each out. A word's label is read at its first subword:"
                }
                false => "With onnxruntime, a label for each sentence:",
            };
            format!("{about}\n\n{}", onnx_python(card))
        }
        ModelForm::TransformersJs => format!(
            "With transformers.js, in a browser or in Node.js. {}:\n\n{}",
            match (card.labels_words(), card.record.cell.settings.data.lowercase) {
                (true, false) => "The label of a word is the one at its first subword",
                (true, true) =>
                    "Words are lowercased, and the label of a word is the one at its first subword",
                (false, false) => "A label for each sentence",
                (false, true) => "A label for each sentence, whose words are lowercased",
            },
            javascript(card)
        ),
    }
}

fn with_transformers(card: &Card) -> String {
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
fn preparation_code(card: &Card) -> &'static str {
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
        words = preparation_code(card),
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
        words = preparation_code(card),
        length = card.record.cell.settings.data.max_length
    )
}

fn onnx_python(card: &Card) -> String {
    let read = match card.labels_words() {
        true => {
            "labels = {}\n\
             for position, word in enumerate(encoded.word_ids):\n    \
                 if word is not None:\n        \
                     labels.setdefault(word, names[str(logits[position].argmax())])\n\
             print([(word, labels.get(number)) for number, word in enumerate(words)])"
        }
        false => "print(names[str(logits.argmax())])",
    };
    format!(
        r#"```python
import json
import numpy
import onnxruntime
from tokenizers import Tokenizer

folder = "FOLDER"
names = json.load(open(f"{{folder}}/config.json"))["id2label"]
tokenizer = Tokenizer.from_file(f"{{folder}}/tokenizer.json")
tokenizer.enable_truncation({length})
session = onnxruntime.InferenceSession(f"{{folder}}/model.onnx")

words = ["The", "ice", "melts", "."]
encoded = tokenizer.encode({words}, is_pretokenized=True)
ids = numpy.array([encoded.ids], dtype=numpy.int64)
inputs = {{"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}}
inputs = {{wanted.name: inputs[wanted.name] for wanted in session.get_inputs()}}
logits = session.run(["logits"], inputs)[0][0]
{read}
```
"#,
        words = preparation_code(card),
        length = card.record.cell.settings.data.max_length
    )
}

fn javascript(card: &Card) -> String {
    let (kind, options) = match card.labels_words() {
        true => ("token-classification", ", { ignore_labels: [] }"),
        false => ("text-classification", ""),
    };
    let text = if card.record.cell.settings.data.lowercase { "the ice melts ." } else { "The ice melts ." };
    format!(
        r#"```js
import {{ pipeline }} from "@huggingface/transformers";

// The folder's name on the hub. "fp32" reads onnx/model.onnx, "q8" onnx/model_quantized.onnx if the folder has it.
const model = await pipeline("{kind}", "FOLDER", {{ dtype: "fp32" }});
console.log(await model("{text}"{options}));
```
"#
    )
}
