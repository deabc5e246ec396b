#!/usr/bin/env python3
"""What Hugging Face `transformers` makes of a model folder; the tests call it where FROSTLINE_PYTHON
names an interpreter that has torch and transformers.

    peer.py hidden DIR < IDS     JSON lists of subword ids -> the last hidden states, flattened
    peer.py logits DIR < IDS     ... -> a token classifier's logits, flattened
    peer.py tags DIR < WORDS     JSON lists of words -> [subword ids, tags of the words' first subwords]
"""
import json
import sys

import torch
from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer


def main():
    mode, folder = sys.argv[1:]
    kind = AutoModel if mode == "hidden" else AutoModelForTokenClassification
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()
    # Only byte-level tokenizers heed the space before words given one by one; they need it.
    tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True) if mode == "tags" else None
    for sentence in json.load(sys.stdin):
        encoded = tokenizer(sentence, is_split_into_words=True) if tokenizer else None
        ids = encoded["input_ids"] if encoded else sentence
        with torch.no_grad():
            out = model(input_ids=torch.tensor([ids]))
        if mode == "tags":
            best, owners = out.logits[0].argmax(-1).tolist(), encoded.word_ids()
            tags = [model.config.id2label[best[owners.index(word)]] for word in range(len(sentence))]
            print(json.dumps([ids, tags]))
        else:
            rows = out.last_hidden_state if mode == "hidden" else out.logits
            print(json.dumps(rows[0].flatten().tolist()))


main()
