"""A Trainer's program that is resumed, and then trained a second time in the same process.

    torchrun --nproc-per-node 2 trainer_again.py train|resume
"""

import sys

import torch
import transformers

import weir.transformers

STEPS = {"train": 4, "resume": 6}


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        x = torch.full((4,), i / 256)
        return {"x": x, "labels": x.sum()}


class Line(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        return {"loss": (self.layer(x)[:, 0] - labels).square().mean()}


def is_same_on_all_ranks(model):
    ours = torch.cat([one.detach().flatten() for one in model.parameters()])
    return torch.equal(weir.torch.broadcast(ours, 0), ours)


def main():
    part = sys.argv[1]
    transformers.set_seed(1)
    model = Line()
    arguments = transformers.TrainingArguments(
        output_dir="job", max_steps=STEPS[part], per_device_train_batch_size=4, use_cpu=True, learning_rate=0.01,
        optim="sgd", optim_args="momentum=0.9", save_steps=2, report_to="none", ddp_find_unused_parameters=False)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Numbers())
    weir.transformers.compress(trainer, weir.torch.Compression.dgc(density=0.25, min_elements=1))
    trainer.train(resume_from_checkpoint=part == "resume" or None)
    if part == "train":
        return
    same = is_same_on_all_ranks(model)
    trainer.args.max_steps = 8
    trainer.train()
    if is_same_on_all_ranks(model) and same and weir.torch.rank() == 0:
        print("same on all ranks after 6 and after 8 steps")


if __name__ == "__main__":
    main()
    # A thread of PyTorch that lets go of tensors while the interpreter ends aborts the process.
    torch.distributed.destroy_process_group()
