"""``ElasticSampler`` under the name of Horovod's module of it."""

from weir.torch.elastic._sampler import ElasticSampler  # noqa: F401
