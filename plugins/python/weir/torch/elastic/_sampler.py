"""A sampler that knows which samples of the epoch were processed, whatever happens in between."""

import itertools
import math
from typing import Any, Dict, Iterable, Iterator, List, Set, Sized

import torch

from weir import _job


class ElasticSampler(torch.utils.data.Sampler):
    """Divides the unprocessed samples of an epoch over all ranks.

    Ranks get equally many: some samples come twice if they do not divide. Call ``set_epoch`` at the end
    of an epoch and ``record_batch`` after every batch. Not thread-safe.
    """

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0) -> None:
        self.dataset, self.shuffle, self.seed = dataset, shuffle, seed
        self.epoch = 0
        self.processed_indices: Set[int] = set()
        self.indices: List[int] = []
        self.reset()

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch, without processed samples."""
        self.epoch, self.processed_indices = epoch, set()
        self.reset()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """Notes that this rank has processed the batch of that number, since the last ``iter``."""
        self.record_indices(self.get_indices(batch_idx, batch_size))

    def record_indices(self, indices: Iterable[int]) -> None:
        """Notes that this rank has processed these samples."""
        self.processed_indices.update(indices)

    def get_indices(self, batch_idx: int, batch_size: int) -> List[int]:
        """Returns this rank's samples in the batch of that number."""
        return self.indices[batch_idx * batch_size:(batch_idx + 1) * batch_size]

    @property
    def processed_num(self) -> int:
        """Number of this epoch's samples that all ranks have processed: those known to be when the sampler was last
        reset, and for each rank as many as this one has recorded since."""
        return self._processed_at_reset + self.num_replicas * (len(self.processed_indices) - self._processed_at_reset)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the epoch, and the samples that this rank has processed."""
        return {"epoch": self.epoch, "processed_indices": set(self.processed_indices)}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Continues from a ``state_dict``."""
        self.epoch = state_dict["epoch"]
        self.processed_indices = set(state_dict["processed_indices"])
        self.reset()

    def reset(self) -> None:
        """Divides the remaining samples over the present ranks."""
        self.rank, self.num_replicas = _job.rank(), _job.size()
        self._processed_at_reset = len(self.processed_indices)
        self.remaining_indices = [i for i in range(len(self.dataset))
                                  if i not in self.processed_indices]
        self.num_samples = math.ceil(len(self.remaining_indices) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        order = self.remaining_indices[:]
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed + self.epoch)
            order = [order[i] for i in torch.randperm(len(order), generator=generator).tolist()]
        padded = list(itertools.islice(itertools.cycle(order), self.total_size))
        self.indices = padded[self.rank::self.num_replicas]
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples
