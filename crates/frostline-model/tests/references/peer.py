#!/usr/bin/env python3
"""What Hugging Face `transformers` makes of model folders; the tests call it where FROSTLINE_PYTHON
names an interpreter that has torch and transformers.

    peer.py < REQUESTS     one JSON line [mode, folder, sentences] each, answered by one JSON line: a list

    hidden   sentences are subword ids; gives the last hidden states of each, flattened
    logits   ... a token classifier's logits, flattened
    tags     sentences are words; gives [subword ids, tags of the words' first subwords] of each
"""
import json
import sys

import torch
from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer


def answer(mode, folder, sentences):
    kind = AutoModel if mode == "hidden" else AutoModelForTokenClassification
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    # Only byte-level tokenizers heed the space before words given one by one; they need it.
    tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True) if mode == "tags" else None
    for sentence in sentences:
        encoded = tokenizer(sentence, is_split_into_words=True) if tokenizer else None
        ids = encoded["input_ids"] if encoded else sentence
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]))
        if mode == "tags":
            best, owners = out.logits[0].argmax(-1).tolist(), encoded.word_ids()
            yield ids, [model.config.id2label[best[owners.index(word)]] for word in range(len(sentence))]
        else:
            rows = out.last_hidden_state if mode == "hidden" else out.logits
            yield rows[0].flatten().tolist()


for line in sys.stdin:
    print(json.dumps(list(answer(*json.loads(line)))), flush=True)
