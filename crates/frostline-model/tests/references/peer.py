#!/usr/bin/env python3
"""What Hugging Face `transformers` makes of model folders; the tests call it where FROSTLINE_PYTHON
names an interpreter that has torch and transformers.

    peer.py < REQUESTS     one JSON line [mode, folder, sentences] each, answered by one JSON line: a list

    hidden   sentences are subword ids; gives the last hidden states of each, flattened
    logits   ... a token classifier's logits, flattened
    tags     sentences are words; gives [subword ids, tags of the words' first subwords] of each
    ids      sentences are words; gives the subword ids of each
    peft     as logits, of the model with the adapter in its folder's `adapter/`; needs peft
"""
import json
import sys

import torch
from transformers import AutoModel, AutoModelForTokenClassification, AutoTokenizer


def answer(mode, folder, sentences):
    kind = AutoModel if mode == "hidden" else AutoModelForTokenClassification
    model = kind.from_pretrained(folder, dtype=torch.float32).eval() if mode != "ids" else None
    if mode == "peft":
        from peft import PeftModel, get_peft_model_state_dict
        from safetensors.torch import load_file

        model = PeftModel.from_pretrained(model, f"{folder}/adapter").eval()
        known = load_file(f"{folder}/adapter/adapter_model.safetensors")
        # peft only warns of names that it does not find.
        assert set(known) == set(get_peft_model_state_dict(model)), set(known) ^ set(get_peft_model_state_dict(model))
    # Only byte-level tokenizers heed the space before words given one by one; they need it.
    tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True) if mode in ("tags", "ids") else None
    for sentence in sentences:
        encoded = tokenizer(sentence, is_split_into_words=True) if tokenizer else None
        ids = encoded["input_ids"] if encoded else sentence
        if mode == "ids":
            yield ids
            continue
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
