"""Models of well-known sizes for benchmarks on a GPU, on made-up data: only the time of a step matters."""

import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                      nn.BatchNorm2d(outputs))

    def forward(self, x):
        return functional.relu(self.body(x) + self.skip(x))


def resnet50():
    """He et al., 2016: 25,557,032 parameters in 161 tensors."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


class Transformer(nn.Module):
    """A language model of GPT-2's smallest size, about 124 million parameters, embedding and output tied."""

    def __init__(self, words=50257, width=768, layers=12, heads=12, length=512):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, functional.gelu, batch_first=True, norm_first=True)
            for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, tokens):
        x = self.words(tokens) + self.places
        for layer in self.layers:
            x = layer(x, src_mask=self.mask, is_causal=True)
        return functional.linear(self.norm(x), self.words.weight)


def training(name, wrap):
    """Returns a step of `name` on the current GPU, forward, backward and update, as a function that
    does not wait for the GPU. wrap(model, optimizer) returns their replacements."""
    torch.manual_seed(1)
    if name == "resnet50":
        model = resnet50().cuda().to(memory_format=torch.channels_last)
        inputs = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
        targets = torch.randint(1000, (64,), device="cuda")
    else:
        model = Transformer().cuda()
        inputs = torch.randint(50257, (8, 512), device="cuda")
        targets = torch.randint(50257, (8, 512), device="cuda")
    model, optimizer = wrap(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))

    def step():
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            outputs = model(inputs)
        functional.cross_entropy(outputs.float().flatten(0, -2), targets.flatten()).backward()
        optimizer.step()
    return step


def steps_of(step, count):
    """Runs so many steps, until the GPU is done."""
    def run():
        for _ in range(count):
            step()
        torch.cuda.synchronize()
    return run
