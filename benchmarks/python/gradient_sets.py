"""The gradients of well-known models: shapes of their parameters, and the arithmetic each takes.

The shapes are those of torchvision's vgg16 and resnet50, and of the language model of 2 x 1500 LSTM
cells on the Penn Treebank (Zaremba et al. 2014) with tied embeddings (Press and Wolf 2017).
"""

import math
from typing import NamedTuple


class Layer(NamedTuple):
    """Parameters whose gradients are ready together. `work`: arithmetic of its backward pass, in a
    unit that all layers of a set share."""

    name: str
    shapes: tuple
    work: float


def _convolution(name, out, into, side, positions, bias=False):
    """`positions`: places of the output image; every weight is used at each."""
    weights = (out, into, side, side)
    return Layer(name, (weights, (out,)) if bias else (weights,), math.prod(weights) * positions)


def _norm(name, channels, positions):
    return Layer(name, ((channels,), (channels,)), channels * positions)


def _linear(name, out, into):
    return Layer(name, ((out, into), (out,)), out * into)


def vgg16():
    """138,357,544 parameters; images of 224 x 224."""
    layers, into, side = [], 3, 224
    for out, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers.append(_convolution(f"conv{len(layers)}", out, into, 3, side**2, bias=True))
            into = out
        side //= 2
    return [*layers, _linear("fc0", 4096, 512 * 7 * 7), _linear("fc1", 4096, 4096),
            _linear("fc2", 1000, 4096)]


def _bottleneck(name, into, width, side, stride, projects):
    out, before, after = 4 * width, side**2, (side // stride) ** 2
    layers = [_convolution(f"{name}.conv1", width, into, 1, before),
              _norm(f"{name}.bn1", width, before),
              _convolution(f"{name}.conv2", width, width, 3, after),
              _norm(f"{name}.bn2", width, after),
              _convolution(f"{name}.conv3", out, width, 1, after),
              _norm(f"{name}.bn3", out, after)]
    if projects:
        layers += [_convolution(f"{name}.project", out, into, 1, after),
                   _norm(f"{name}.project_bn", out, after)]
    return layers


def resnet50():
    """25,557,032 parameters; images of 224 x 224."""
    layers = [_convolution("conv1", 64, 3, 7, 112**2), _norm("bn1", 64, 112**2)]
    into, side = 64, 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            layers += _bottleneck(f"layer{stage}.{block}", into, width, side, stride, block == 0)
            into, side = 4 * width, side // stride
    return [*layers, _linear("fc", 1000, 2048)]


def lstm():
    """51,034,000 parameters. The embedding is the decoder's matrix, too: most of its arithmetic
    comes first in the backward pass, and its gradient is ready last."""
    units, words = 1500, 10000
    shapes = ((4 * units, units), (4 * units, units), (4 * units,), (4 * units,))
    cells = [Layer(f"lstm{i}", shapes, 8 * units**2) for i in range(2)]
    return [Layer("embedding", ((words, units),), units), *cells,
            Layer("decoder", ((words,),), words * units)]


def _decoder(words):
    """8 layers of width 512, and 1,024 positions (Radford et al. 2019). The embedding is the decoder's matrix,
    too."""
    width, layers = 512, []
    for i in range(8):
        layers += [_norm(f"h{i}.ln1", width, 1), _linear(f"h{i}.qkv", 3 * width, width),
                   _linear(f"h{i}.proj", width, width), _norm(f"h{i}.ln2", width, 1),
                   _linear(f"h{i}.fc", 4 * width, width), _linear(f"h{i}.out", width, 4 * width)]
    return [Layer("words", ((words, width),), width), Layer("positions", ((1024, width),), width), *layers,
            _norm("ln", width, 1)]


def gpt():
    """51,475,968 parameters: the words of GPT-2."""
    return _decoder(50257)


def small_gpt():
    """30,864,384 parameters: 10,000 words."""
    return _decoder(10000)


def many(count):
    """Vectors of 64 elements that are ready together."""
    return [Layer("parts", ((64,),) * count, 1)]


def tiny():
    """107,841 parameters, for tests of the benchmark itself."""
    return [_linear("fc0", 128, 512), _norm("bn", 128, 1), _linear("fc1", 320, 128),
            _linear("fc2", 1, 320), _norm("bn2", 160, 1)]


SETS = {"vgg16": vgg16, "resnet50": resnet50, "lstm": lstm, "gpt": gpt,
        "small-gpt": small_gpt, "small-200": lambda: many(200), "small-2000": lambda: many(2000), "tiny": tiny}


def elements(layers):
    return sum(math.prod(shape) for layer in layers for shape in layer.shapes)
