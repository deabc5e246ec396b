"""Light ways to learn in Python's `peft`: the peer of the policies `+lora`, `+dora`, `+ia3` and `+bitfit`.

One call trains one tagger as hf_trainer.py does, but with the encoder's own weights frozen: LoRA, DoRA or IA3 in
every block learns, or every bias does; the classifier learns in all. The last line of standard output
is one JSON object; everything else goes to standard error.

    python peft_tagger.py --model DIR --treebank DIR --way lora --seed 42 --epochs 3 --first 2500

peft has no method of its own for learning biases alone: LoraConfig(bias="all") lets them learn, and
here LoRA's own matrices are then frozen at their start, where they add nothing.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from hf_trainer import quiet_start, study_accuracy, tagging

# This project's name of a linear layer to its names in BERT and in DistilBERT.
MATRICES = {
    "query": ("query", "q_lin"),
    "key": ("key", "k_lin"),
    "value": ("value", "v_lin"),
    "attention_output": ("attention.output.dense", "out_lin"),
    "intermediate": ("intermediate.dense", "lin1"),
    "output": (r"layer\.\d+\.output\.dense", "lin2"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--model", required=True, type=Path, help="encoder folder in the Hugging Face layout")
    parser.add_argument("--treebank", required=True, type=Path, help="folder with *-ud-train.conllu, -dev and -test")
    parser.add_argument("--way", choices=["lora", "dora", "ia3", "bitfit"], required=True, help="what learns besides the classifier")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--alpha", type=float, default=16)
    parser.add_argument("--matrices", default="query,value", help=f"which layers get LoRA: {', '.join(MATRICES)}")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="sentences per step")
    parser.add_argument("--first", type=int, default=0, help="learn from the first N train sentences; 0 means all")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--threads", type=int, default=0, help="PyTorch's threads; 0 leaves its default")
    given = parser.parse_args()
    given.matrices = given.matrices.split(",")
    if unknown := [name for name in given.matrices if name not in MATRICES]:
        parser.error(f"there is no matrix `{unknown[0]}`; there are: {', '.join(MATRICES)}")
    return given


def thawed(model, given):
    """The model as peft prepares it for this way of learning."""
    from peft import IA3Config, LoraConfig, TaskType, get_peft_model

    if given.way == "ia3":
        # The layers of the paper, and of the policy.
        inner = [rf".*({name})$" for name in MATRICES["output"]]
        outer = [name for matrix in ("key", "value") for name in MATRICES[matrix]]
        config = IA3Config(
            task_type=TaskType.TOKEN_CLS,
            target_modules="|".join([*inner, *(rf".*\.{name}$" for name in outer)]),
            feedforward_modules="|".join(inner),
            modules_to_save=["classifier"],
        )
        return get_peft_model(model, config)
    names = [name for matrix in given.matrices for name in MATRICES[matrix]]
    config = LoraConfig(
        task_type=TaskType.TOKEN_CLS,
        r=given.rank,
        lora_alpha=given.alpha,
        lora_dropout=0.0,
        use_dora=given.way == "dora",
        target_modules=rf".*({'|'.join(names)})$",
        bias="all" if given.way == "bitfit" else "none",
        modules_to_save=["classifier"],
    )
    model = get_peft_model(model, config)
    if given.way == "bitfit":
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.requires_grad = False
    return model


def main():
    given = arguments()
    quiet_start(given)
    import peft
    import torch
    import transformers
    from transformers import (
        AutoModelForTokenClassification,
        DataCollatorForTokenClassification,
        Trainer,
        TrainingArguments,
    )

    tokenizer, config, (train, dev, test) = tagging(given, ["dev", "test"])
    model = thawed(AutoModelForTokenClassification.from_pretrained(given.model, config=config), given)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=scratch,
                num_train_epochs=given.epochs,
                per_device_train_batch_size=given.batch,
                per_device_eval_batch_size=32,
                learning_rate=given.lr,
                weight_decay=0.01,
                seed=given.seed,
                save_strategy="no",
                logging_strategy="epoch",
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
                label_names=["labels"],
            ),
            train_dataset=train,
            data_collator=DataCollatorForTokenClassification(tokenizer),
            compute_metrics=study_accuracy,
        )
        trainer.remove_callback(transformers.trainer_callback.PrinterCallback)
        trainer.train()
        scores = {name: trainer.evaluate(split)["eval_accuracy"] for name, split in (("dev", dev), ("test", test))}
    learning = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    print(
        json.dumps(
            {
                "way": given.way,
                "seed": given.seed,
                **scores,
                "trainable_params": learning,
                "peft": peft.__version__,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
