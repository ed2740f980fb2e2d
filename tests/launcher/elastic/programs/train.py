"""Trains for some steps, under every kind of compressor, in a job whose ranks may be lost.

    train.py STEPS DEATHS

DEATHS: "0:kill:7,2:raise:12", by the number that a process had at first. Its deed comes in that step, or
before the first one of the epoch in which the place stands: "1:kill:epoch2".
"""

import hashlib
import os
import signal
import sys

import torch

import weir.torch as hvd

COMMIT_EVERY = 5
COMPRESSIONS = {
    "none": hvd.Compression.none,
    "topk": hvd.Compression.topk(0.05, min_elements=0),
    "powersgd": hvd.Compression.powersgd(2, min_elements=0),
    "dgc": hvd.Compression.dgc(density=0.05, min_elements=100, warmup_steps=6),
}


def digest(*values):
    return hashlib.sha1(b"".join(bytes(value) for value in values)).hexdigest()[:12]


def model_digest(nets):
    return digest(*(parameter.detach().numpy().tobytes() for net in nets for parameter in net.parameters()))


def unsent_digest(optimizers):
    """Of what this rank's compressors have kept."""
    return digest(*(exchange.numpy().tobytes() for optimizer in optimizers
                    for exchange in optimizer.state_dict()["weir"]["exchanges"] if exchange is not None))


class Death:
    def __init__(self, text, start_rank):
        self.deeds = {}
        for entry in filter(None, text.split(",")):
            rank, deed, place = entry.split(":")
            if int(rank) == start_rank:
                self.deeds[place] = deed

    def come_at(self, place):
        deed = self.deeds.pop(str(place), None)
        if deed == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if deed == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if deed == "raise":
            raise RuntimeError("made up")
        if deed == "exit":
            sys.exit(0)


def main():
    steps, deaths = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    hvd.init()
    death = Death(deaths, hvd.rank())
    sets = [hvd.add_process_set(ranks) for ranks in ([0, 1], [1, 3], [2])] if hvd.size() == 4 else []
    torch.manual_seed(hvd.rank())
    nets = [torch.nn.Sequential(torch.nn.Linear(12, 40), torch.nn.Tanh(), torch.nn.Linear(40, 4))
            for _ in COMPRESSIONS]
    optimizers = [hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9),
                                           named_parameters=net.named_parameters(), compression=compression)
                  for net, compression in zip(nets, COMPRESSIONS.values())]
    committed = {}

    @hvd.elastic.run
    def train(state):
        print(f"enters as rank {hvd.rank()} of {hvd.size()} at step {state.step}, sets "
              f"{[one.ranks for one in sets if one.process_set_id is not None]}", flush=True)
        if committed:
            print(f"has its unsent part: {committed['unsent'] == unsent_digest(optimizers)}", flush=True)
        death.come_at(f"epoch{train.epoch}")
        train.epoch += 1
        while state.step < steps:
            death.come_at(state.step)
            generator = torch.Generator().manual_seed(100 * state.step + hvd.rank())
            inputs = torch.randn(8, 12, generator=generator)
            labels = (inputs.sum(1) > 0).long()
            for net, optimizer in zip(nets, optimizers):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(net(inputs), labels).backward()
                optimizer.step()
            state.step += 1
            if state.step % COMMIT_EVERY == 0:
                state.commit()
                committed["unsent"] = unsent_digest(optimizers)
        return state.step

    train.epoch = 1
    extra = {f"optimizer{i}": optimizer for i, optimizer in enumerate(optimizers)}
    state = hvd.elastic.TorchState(torch.nn.ModuleList(nets), step=0, **extra)
    train(state)
    for one in sets:
        if one.included():
            one_sum = hvd.allreduce(torch.tensor([1.0]), op=hvd.Sum, process_set=one).item()
            print(f"set of {len(one.ranks)}: {one_sum:.0f}", flush=True)
    everyone = hvd.allgather_object(model_digest(nets))
    print(f"done as rank {hvd.rank()} of {hvd.size()}, replicas equal: {len(set(everyone)) == 1}", flush=True)


if __name__ == "__main__":
    main()
