"""``ElasticSampler`` under the name of Horovod's module."""

from weir.torch.elastic._sampler import ElasticSampler  # noqa: F401
