"""Trains a small GPT-2 on Shakespeare, letter by letter, with the Trainer of Transformers.

    torchrun --nproc-per-node 2 train.py --compression dgc
    torchrun --nproc-per-node 2 train.py --compression dgc --resume    # Goes on from the last checkpoint.
"""

import argparse
import pathlib

import torch
import transformers

import weir.transformers

TEXT = pathlib.Path(__file__).parent.parent / "data" / "tinyshakespeare.txt"
LENGTH = 64


class Pieces(torch.utils.data.Dataset):
    def __init__(self, text):
        self.bytes = torch.tensor(list(text), dtype=torch.long)

    def __len__(self):
        return len(self.bytes) // LENGTH

    def __getitem__(self, i):
        piece = self.bytes[i * LENGTH:(i + 1) * LENGTH]
        return {"input_ids": piece, "labels": piece}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compression", default="none")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--folder", default="shakespeare")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()

    transformers.set_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=256, n_positions=LENGTH, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    arguments = transformers.TrainingArguments(
        output_dir=options.folder, max_steps=options.steps, per_device_train_batch_size=8, use_cpu=True,
        learning_rate=0.1, lr_scheduler_type="constant_with_warmup", warmup_steps=10, max_grad_norm=1.0,
        optim="sgd", optim_args="momentum=0.9", logging_steps=10, save_steps=20, report_to="none",
        ddp_find_unused_parameters=False)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Pieces(TEXT.read_bytes()))
    weir.transformers.compress(trainer, options.compression)
    trainer.train(resume_from_checkpoint=options.resume or None)
    trainer.accelerator.end_training()  # PyTorch's threads must not outlive the interpreter.


if __name__ == "__main__":
    main()
