"""The networks of trials: plain ones of 190,000 to 340,000 parameters, trained many times within minutes."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

_LARGEST, _LARGEST_TILE = 48, 32  # px: the longer side at which classifiers see an image, and a tile of a bag
_MOMENTUM = 0.25
_LARGEST_MAP = 96  # px: the longer side at which pixels are segmented


def downsample(images: Tensor, largest: int) -> Tensor:
    """Downsample images (n, C, H, W) by averaging until the longer side has at most `largest` px; never enlarge.

    >>> downsample(torch.ones(1, 3, 256, 128), 64).shape
    torch.Size([1, 3, 64, 32])
    """
    height, width = images.shape[-2:]
    factor = largest / max(height, width)
    if factor >= 1:
        return images
    return functional.adaptive_avg_pool2d(images, (max(1, round(height * factor)), max(1, round(width * factor))))


def convolutions(channels: int, width: int, count: int = 2) -> nn.Sequential:
    """3×3 convolutions, each with batch normalisation and ReLU; the momentum is high because trainings are short."""
    layers: list[nn.Module] = []
    for k in range(count):
        layers += [nn.Conv2d(width if k else channels, width, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(width, momentum=_MOMENTUM), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


def stages(channels: int, widths: Sequence[int]) -> nn.ModuleList:
    """The stages of an encoder, meant for halved resolution each; the first is a single convolution."""
    deeper = (convolutions(*pair) for pair in pairwise(widths))
    return nn.ModuleList((convolutions(channels, widths[0], 1), *deeper))


def feature_maps(stages: nn.ModuleList, images: Tensor) -> list[Tensor]:
    """Return the output of every stage, with 2×2 max pooling between stages."""
    levels: list[Tensor] = []
    for stage in stages:
        levels.append(stage(functional.max_pool2d(levels[-1], 2, ceil_mode=True) if levels else images))
    return levels


class ConvNet(nn.Module):
    """Classify images (n, C, H, W), downsampled to at most 48 px a side: logits (n, classes).

    Four stages of convolutions with max pooling between them, then global max pooling.
    """

    def __init__(self, channels: int, classes: int, largest: int = _LARGEST) -> None:
        super().__init__()
        self.largest = largest
        self.stages = stages(channels, (16, 32, 64, 128))
        self.classes = nn.Linear(128, classes)

    def embed(self, images: Tensor) -> Tensor:
        """Embeddings (n, 128)."""
        return feature_maps(self.stages, downsample(images, self.largest))[-1].amax((-2, -1))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        return self.classes(self.embed(images))


class AttentionBag(nn.Module):
    """Classify bags of tiles (n, tiles, C, H, W): gated attention over the tiles' embeddings, logits (n, classes).

    Source: Ilse, Tomczak and Welling, "Attention-based deep multiple instance learning", ICML 2018.
    """

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.tiles = ConvNet(channels, classes, _LARGEST_TILE)
        width = self.tiles.classes.in_features
        self.value, self.gate, self.weight = nn.Linear(width, 64), nn.Linear(width, 64), nn.Linear(64, 1)

    def forward(self, bags: Tensor, padding: Tensor | None = None) -> Tensor:
        """Logits; `padding` (n, tiles) is True where a bag has no tile."""
        embeddings = self.tiles.embed(bags.flatten(0, 1)).reshape(*bags.shape[:2], -1)
        attention = self.weight(torch.tanh(self.value(embeddings)) * torch.sigmoid(self.gate(embeddings)))[..., 0]
        if padding is not None:
            attention = attention.masked_fill(padding, -torch.inf)
        return self.tiles.classes((attention.softmax(1)[..., None] * embeddings).sum(1))


class UNet(nn.Module):
    """Segment images (n, C, H, W), downsampled to at most 96 px a side: logits (n, classes, H, W).

    Source: Ronneberger, Fischer and Brox, "U-Net", MICCAI 2015; with bilinear upsampling.
    """

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        widths = (16, 32, 64, 96)
        self.down = stages(channels, widths)
        self.up = nn.ModuleList(convolutions(sum(pair), pair[0], 1) for pair in [*pairwise(widths)][::-1])
        self.classes = nn.Conv2d(widths[0], classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        *levels, values = feature_maps(self.down, downsample(images, _LARGEST_MAP))
        for stage, level in zip(self.up, levels[::-1], strict=True):
            values = stage(torch.cat((level, _enlarge(values, level.shape[-2:])), 1))
        return _enlarge(self.classes(values), images.shape[-2:])


class Enlarger(nn.Module):
    """Upscale images (n, C, H, W) by an integer factor: residual blocks, then a pixel shuffle.

    Source: the residual blocks of EDSR (Lim et al., CVPR Workshops 2017) and the sub-pixel layer of Shi et al., CVPR
    2016; the network's output is added to the bilinear upsampling.
    """

    def __init__(self, channels: int, factor: int, width: int = 48, blocks: int = 4) -> None:
        super().__init__()
        self.factor = factor
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        layer = partial(nn.Conv2d, width, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(layer(), nn.ReLU(inplace=True), layer()) for _ in range(blocks))
        self.last = nn.Conv2d(width, channels * factor**2, 3, padding=1)
        nn.init.zeros_(self.last.weight)  # training starts from bilinear upsampling

    def forward(self, images: Tensor) -> Tensor:
        """Upscaled images."""
        values = self.first(images)
        for block in self.blocks:
            values = values + block(values)
        height, width = images.shape[-2:]
        plain = _enlarge(images, (height * self.factor, width * self.factor))
        return plain + functional.pixel_shuffle(self.last(values), self.factor)


def _enlarge(values: Tensor, size: tuple[int, ...]) -> Tensor:
    return functional.interpolate(values, size=size, mode="bilinear", align_corners=False)
