"""Training that goes on after an error, with the names and meanings of ``horovod.torch.elastic``.

    @hvd.elastic.run
    def train(state):
        for state.epoch in range(state.epoch, epochs):
            ...
            state.commit()

    train(hvd.elastic.TorchState(model, optimizer, epoch=0))

In an elastic job (``weirrun --min-np``) the ranks that are left go on when one is lost, with new
numbers, from what they have committed; ranks that come are brought level with rank 0. In any other job
an exception that all ranks see is recovered from, and a rank that dies ends the job.
"""

from weir._init import init  # noqa: F401
from weir.errors import HostsUpdatedInterrupt  # noqa: F401
from weir.torch.elastic import sampler, state  # noqa: F401
from weir.torch.elastic._run import reset, run  # noqa: F401
from weir.torch.elastic._sampler import ElasticSampler  # noqa: F401
from weir.torch.elastic._state import TorchState  # noqa: F401
