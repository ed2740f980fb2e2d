"""A rank of the benchmark routes: steps of every route at every density, on one network.

In its folder: options.json, the benchmark's options; it writes what it measured to rank3.json.
"""

import argparse
import json
import pathlib
import random
import time

import numpy

import netlab
import route_bytes
from dgc_selection import Selection
from route_bytes import Case, Tensor
from routes_table import ROUTES
from weir import _core, _job
from weir.errors import InvalidArgument

SHARED = numpy.float32(0.5)  # Correlation of two ranks' gradients: their choices overlap in part.


FEW = 0.005


def tensors_of(density, small):
    """About 2.1 million elements: three buckets of one tensor, one of three. Twelve times as many where
    few of them are sent, so that headers and rounds do not outweigh what is measured. `small`: a
    seventh, in two buckets, for tests of the benchmark itself."""
    few = [Tensor("bias", (64,)), Tensor("c", (96, 100)), Tensor("d", (50, 64)),
           Tensor("tiny", (5, 5))]
    if small:
        return [Tensor("a", (600, 512)), *few]
    scale = 12 if density < FEW else 1
    return [Tensor("a", (1024 * scale, 1024)), *few, Tensor("b", (640 * scale, 1024)),
            Tensor("e", (384 * scale, 1024))]


def gradients(tensors, rank, step):
    """Flat normal numbers by tensor, the same in each run."""
    shared, own = (numpy.random.default_rng(seed) for seed in ([step], [step, rank]))
    other = numpy.sqrt(1 - SHARED)
    return [numpy.sqrt(SHARED) * shared.standard_normal(tensor.elements, numpy.float32)
            + other * own.standard_normal(tensor.elements, numpy.float32) for tensor in tensors]


def wait(handle):
    _job.engine().wait(handle)


def barrier():
    wait(_job.engine().barrier("routes.barrier"))


def of_all_ranks(chosen, folder):
    """Every rank's choices, from this one's. By files, since all hosts are on this machine.
    Collective."""
    rank, ranks = _job.engine().rank, _job.engine().size
    numpy.save(folder / f"chosen{rank}.npy",
               numpy.packbits(numpy.concatenate([mask for mask in chosen if mask is not None])))
    barrier()
    found = []
    for other in range(ranks):
        bits, at, masks = numpy.unpackbits(numpy.load(folder / f"chosen{other}.npy")), 0, []
        for mask in chosen:
            masks.append(None if mask is None else bits[at:at + len(mask)].view(bool))
            at += 0 if mask is None else len(mask)
        found.append(masks)
    barrier()  # Before anybody writes the next ones.
    return found


class Exchange:
    """One route at work. Collective."""

    def __init__(self, name, options, tensors):
        specs = [_core.GradientSpec(tensor.name, tensor.shape, _core.DTYPES["float32"], 0, 0)
                 for tensor in tensors]
        average = 0
        self._group = _core.register(_job.engine(), name, specs, options, {}, average, 1.0, 1.0)
        self.updates = [numpy.empty(tensor.elements, numpy.float32) for tensor in tensors]

    def step(self, given):
        self._group.begin_step([], 1.0, False, [], [])
        for i in range(len(given))[::-1]:
            self._group.submit(i, given[i].ctypes.data, self.updates[i].ctypes.data)
        self._group.end_step()
        self._group.wait_step()

    def close(self):
        self._group.close()


def measure(exchange, given):
    """One step: its seconds on this rank, what the engine handed to the transport, and what left
    this host."""
    barrier()
    totals = _job.engine().network_totals()
    sent = netlab.sent() if netlab.on_host() else None
    begin = time.perf_counter()
    exchange.step(given)
    seconds = time.perf_counter() - begin
    after = _job.engine().network_totals()
    barrier()  # Only when all ranks are through has all that this host sends left it.
    negotiation = after["negotiation_bytes"] - totals["negotiation_bytes"]
    found = {"seconds": seconds, "negotiation": negotiation,
             "payload": after["sent_bytes"] - totals["sent_bytes"] - negotiation}
    if sent is not None:
        left = netlab.sent() - sent
        found.update(interface=left.bytes, packets=left.packets, resent=left.resent)
    return found


class Run:
    """All routes of one density, step by step in turn, on the same gradients."""

    def __init__(self, options, tensors, density, folder):
        self._options, self._tensors = options, tensors
        self._density, self._folder = density, folder
        self._elements = sum(tensor.elements for tensor in tensors)
        self._selection = Selection(tensors, density)
        self._shuffle = random.Random(1)
        self.exchanges, self.records = {}, []

    def open(self, names):
        """{route: why the engine refuses it}, as on all ranks: nothing was asked of them yet."""
        refused = {}
        for name in names:
            route = ROUTES[name]
            options = dict(route.options)
            if route.compresses:
                options["density"] = str(self._density)
            try:
                self.exchanges[name] = Exchange(f"{name} at {self._density}", options,
                                                 self._tensors)
            except InvalidArgument as error:
                refused[name] = str(error)
        return refused

    def step(self, number, measured):
        job = _job.engine()
        given = gradients(self._tensors, job.rank, number)
        masks = ()
        if "split" in self.exchanges:
            masks = of_all_ranks(self._selection.step(given), self._folder)
        case = Case(self._tensors, self._options.hosts, self._options.slots, self._density, masks)
        names = list(self.exchanges)
        self._shuffle.shuffle(names)
        for name in names:
            found = measure(self.exchanges[name], given)
            sent = ROUTES[name].count(case, job.rank)
            if measured:
                self.records.append({
                    "route": name, "density": self._density, "elements": self._elements,
                    "step": number, **found,
                    "union": union_of(case),
                    "counted": sum(sent),
                    "leaving": route_bytes.between_hosts(sent, job.rank, self._options.slots)})

    def close(self):
        for exchange in self.exchanges.values():
            exchange.close()


def union_of(case):
    """Entries that any rank has chosen, if it is known."""
    if not case.chosen:
        return None
    chosen = [numpy.logical_or.reduce(masks) for masks in zip(*case.chosen)
              if masks[0] is not None]
    return int(sum(map(numpy.count_nonzero, chosen)))


def routes_at(options, density, refused):
    """Their names. What does not compress is measured once, on the smaller tensors."""
    first = min((other for other in options.densities if other >= FEW),
                default=options.densities[0])
    return [name for name in options.routes
            if ROUTES[name].least_on_host <= options.slots and name not in refused
            and (ROUTES[name].compresses or density == first)]


def measure_all(options, folder):
    refused, records = {}, []
    for density in options.densities:
        run = Run(options, tensors_of(density, options.small), density, folder)
        refused.update(run.open(routes_at(options, density, refused)))
        for number in range(options.warmup + options.steps):
            run.step(number, number >= options.warmup)
        run.close()
        records += run.records
    return {"refused": refused, "records": records}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where options.json is")
    folder = parser.parse_args().folder
    options = argparse.Namespace(**json.loads((folder / "options.json").read_text()))
    _job.enter()
    rank = _job.engine().rank
    found = measure_all(options, folder)
    (folder / f"rank{rank}.json").write_text(json.dumps(found))
    barrier()
    _job.shutdown()


if __name__ == "__main__":
    main()
