"""ResNets for images of 32 x 32 (He et al., CVPR 2016, section 4.2)."""

import torch
import torch.nn.functional as F


def _norm(channels):
    return torch.nn.BatchNorm2d(channels)


class Block(torch.nn.Module):
    """Two convolutions, and a shortcut without parameters: where channels come in, zeros stand for them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.norm1 = _norm(after)
        self.conv2 = torch.nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm2 = _norm(after)
        self._stride, self._new = stride, after - before

    def forward(self, x):
        shortcut = x[:, :, ::self._stride, ::self._stride]
        shortcut = F.pad(shortcut, (0, 0, 0, 0, 0, self._new))
        return F.relu(shortcut + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class ResNet(torch.nn.Module):
    """6 n + 2 = `depth` layers; `width` channels in the first stage, twice and four times as many in the others."""

    def __init__(self, depth=20, width=16, classes=10):
        super().__init__()
        count, rest = divmod(depth - 2, 6)
        if depth < 8 or rest:
            raise ValueError(f"depth={depth}: give 6 n + 2, such as 8, 20 or 110")
        self.conv = torch.nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = _norm(width)
        blocks, before = [], width
        for stage in range(3):
            for i in range(count):
                after = width << stage
                blocks.append(Block(before, after, 2 if stage > 0 and i == 0 else 1))
                before = after
        self.blocks = torch.nn.Sequential(*blocks)
        self.head = torch.nn.Linear(before, classes)
        for module in self.modules():
            if isinstance(module, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(module.weight)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3)))
