"""Pipelines in the styles in which people publish them, and the steps that a recipe of each has."""

from __future__ import annotations

import re

_HEAD = "import albumentations as A\nimport cv2\nimport numpy as np\nfrom albumentations.pytorch import ToTensorV2\n"
# Behind `#:` the name of a style, the steps (those of Resize with its size), and `eval` where a section for validation
# comes of it; below it the source, which has the usual imports in front where it has none.
_SOURCES = """
#: assigned: Resize 224x224, HorizontalFlip
train = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: returned: Resize 224x224, HorizontalFlip
def get_train_transforms():
    return A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: passed: Resize 224x224, HorizontalFlip
ds = Data(df, transform=A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)]), mode=1)
#: passed on: Resize 224x224, HorizontalFlip
loader = DataLoader(Data(df, A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])), 8)
#: attribute: Resize 224x224, HorizontalFlip
class D:
    def __init__(self, root):
        self.transform = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: class attribute: Resize 224x224, HorizontalFlip
class D:
    transform = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: method with the size of the object: Resize 224x224
class D:
    def __init__(self, size=224):
        self.size = size
    def build(self):
        return A.Compose([A.Resize(self.size, self.size)])
#: lambda: Resize 224x224
make = lambda size=224: A.Compose([A.Resize(size, size)])
#: bound by a call: Resize 224x224
def make(size):
    return A.Compose([A.Resize(size, size)])
train = make(size=224)
#: both by one function: HorizontalFlip; eval
def make(train):
    if train:
        return A.Compose([A.HorizontalFlip()])
    return A.Compose([A.Resize(224, 224)])
train_tf, val_tf = make(True), make(False)
#: phases: Resize 224x224, HorizontalFlip; eval
def make(phase):
    if phase == 'train':
        t = [A.HorizontalFlip()]
    elif phase in ('val', 'test'):
        t = []
    else:
        raise ValueError(phase)
    return A.Compose([A.Resize(224, 224), *t])
#: is_test first: Resize 224x224, HorizontalFlip; eval
def make(is_test=True):
    if is_test:
        return A.Compose([A.Resize(224, 224)])
    else:
        return A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: dictionary: Resize 224x224, HorizontalFlip; eval
tf = {'train': A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)]), 'valid': A.Compose([A.Resize(224, 224)])}
#: dictionary by key: Resize 224x224, HorizontalFlip; eval
tf = {}
tf['train'] = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
tf['val'] = A.Compose([A.Resize(9, 9)])
#: returned pair: Resize 224x224, HorizontalFlip; eval
def make():
    train = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
    val = A.Compose([A.Resize(9, 9)])
    return train, val
#: config class: Resize 224x224
class CFG:
    size = 224
    p = 0.5
train = A.Compose([A.Resize(CFG.size, CFG.size)])
#: config object: Resize 224x224
class CFG:
    size: int = 224
cfg = CFG()
train = A.Compose([A.Resize(cfg.size, cfg.size)])
#: config dictionary: Resize 224x224
CONFIG = {'data': {'size': 112}}
s = CONFIG['data']['size'] * 2
train = A.Compose([A.Resize(s, s)])
#: namespace: Resize 224x224
from types import SimpleNamespace
cfg = SimpleNamespace(size=(224, 224))
train = A.Compose([A.Resize(*cfg.size)])
#: dataclass: Resize 224x224
@dataclass
class Cfg:
    size: int = 9
cfg = Cfg(size=224)
train = A.Compose([A.Resize(cfg.size, cfg.size)])
#: argparse: Resize 224x224
import argparse
p = argparse.ArgumentParser()
p.add_argument('--img-size', type=int, default=224)
args = p.parse_args()
train = A.Compose([A.Resize(args.img_size, args.img_size)])
#: main: Resize 224x224
def main():
    s = 224
    train_tf = A.Compose([A.Resize(s, s)])
if __name__ == '__main__':
    main()
#: list first: Blur, Resize 224x224, HorizontalFlip, VerticalFlip, Transpose
t = [A.Resize(224, 224)]
t.append(A.HorizontalFlip())
t += [A.VerticalFlip()]
t.extend([A.Transpose()])
t.insert(0, A.Blur())
train = A.Compose(t)
#: lists together: Resize 224x224, HorizontalFlip
common = [A.Resize(224, 224)]
augs = common + [A.HorizontalFlip()]
train = A.Compose([*augs, A.Normalize(), ToTensorV2()])
#: helper of a list: HorizontalFlip, VerticalFlip, Resize 224x224
def geo(p=0.5):
    return [A.HorizontalFlip(p=p), A.VerticalFlip(p=p)]
train = A.Compose(geo() + [A.Resize(224, 224)])
#: list alone: Resize 224x224, HorizontalFlip
train_transforms = [A.Resize(224, 224), A.HorizontalFlip()]
#: comprehension: Resize 9x9, Resize 224x224
train = A.Compose([A.Resize(s, s) for s in (9, 224)])
#: nested: HorizontalFlip, Resize 224x224
geo = A.Compose([A.HorizontalFlip()])
train = A.Compose([geo, A.Resize(224, 224)])
#: known choice: HorizontalFlip, Resize 224x224
AUG = True
train = A.Compose([A.HorizontalFlip() if AUG else A.NoOp(), A.Resize(224, 224)])
#: partial: Resize 224x224
from functools import partial
R = partial(A.Resize, height=224, width=224)
train = A.Compose([R()])
#: spread arguments: Resize 224x224
kw = dict(height=224, width=224)
train = A.Compose([A.Resize(**kw)])
#: arithmetic: Resize 224x224
S = 512
train = A.Compose([A.Resize(int(S * 0.4375), max(S // 3, 224))])
#: arrays: Resize 224x224, Rotate
s = (np.array([1.0, 2.0]).tolist(), np.pi)
train = A.Compose([A.Resize(224, 224), A.Rotate(limit=(-30, 30), border_mode=cv2.BORDER_REFLECT_101)])
#: loop: HorizontalFlip; eval
tf = {}
for phase in ['train', 'val']:
    tf[phase] = A.Compose([A.HorizontalFlip()] if phase == 'train' else [A.Resize(9, 9)])
#: unknown loop: Resize 224x224
for fold in range(cfg.folds):
    train_tf = A.Compose([A.Resize(224, 224)])
    fit(train_tf)
#: lightning: Resize 224x224
class DM(pl.LightningDataModule):
    def __init__(self, size=224):
        self.save_hyperparameters()
        self.size = size
    def train_dataloader(self):
        ds = Data(transform=A.Compose([A.Resize(self.size, self.size)]))
        return DataLoader(ds)
#: property: Resize 224x224
class D:
    size = 224
    @property
    def train_transform(self):
        return A.Compose([A.Resize(self.size, self.size)])
#: try: Resize 224x224
try:
    train = A.Compose([A.Resize(224, 224)])
except Exception:
    train = None
#: given where nothing is: Resize 224x224, HorizontalFlip
class D:
    def __init__(self, tf=None):
        if tf is None:
            tf = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
        self.tf = tf
#: replayed: Resize 224x224, HorizontalFlip
train = A.ReplayCompose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)])
#: f-string: Resize 224x224
m = 224
name = f'resize_{m}'
train = A.Compose([A.Resize(m, m)], p=1.0)
#: boxes: Resize 224x224, HorizontalFlip
train = A.Compose([A.Resize(224, 224), A.HorizontalFlip(p=0.5)], bbox_params=A.BboxParams('coco', label_fields=['l']))
#: other names: Resize 224x224, HorizontalFlip, Transpose
import albumentations as albu
from albumentations import Compose, HorizontalFlip as HF
import albumentations
train = Compose([albu.Resize(224, 224), HF(), albumentations.Transpose()])
#: old modules: Resize 224x224, HorizontalFlip
from albumentations.augmentations.transforms import HorizontalFlip, Resize
from albumentations.core.composition import Compose
from albumentations.pytorch.transforms import ToTensor
train = Compose([Resize(224, 224), HorizontalFlip(), ToTensor()])
#: old tensors behind Normalize: Resize 224x224, HorizontalFlip
from albumentations import Compose, HorizontalFlip, Normalize, Resize
from albumentations.pytorch import ToTensor
train = Compose([Resize(224, 224), HorizontalFlip(), Normalize(), ToTensor()])
#: an enumeration of a class: Resize 224x224, ImageCompression
import albumentations as A
train = A.Compose([A.Resize(224, 224),
                   A.ImageCompression(60, 90, compression_type=A.ImageCompression.ImageCompressionType.WEBP)])
#: star: Resize 224x224, HorizontalFlip
from albumentations import *
train = Compose([Resize(224, 224), HorizontalFlip()])
#: torchvision: Resize 224x224, HorizontalFlip
from torchvision import transforms
train = transforms.Compose([transforms.Resize((224, 224)), transforms.RandomHorizontalFlip(), transforms.ToTensor()])
#: torchvision v2: Resize 224x224
from torchvision.transforms import v2 as T
from torchvision.transforms import InterpolationMode
train = T.Compose([T.Resize((224, 224), interpolation=InterpolationMode.BICUBIC), T.ToImage()])
#: MM: Resize 224x224, HorizontalFlip
norm = dict(mean=[0.0, 0.0, 0.0], std=[255.0, 255.0, 255.0])
train_pipeline = [dict(type='LoadImageFromFile'), dict(type='Resize', scale=(224, 224), keep_ratio=False),
                  dict(type='RandomFlip', prob=0.5),
                  dict(type='Normalize', **norm)]
"""

# Source, steps, and whether there is a section for validation.
STYLES: dict[str, tuple[str, list[str], bool]] = {}
for _part in re.split(r"^#: ", _SOURCES, flags=re.MULTILINE)[1:]:
    _title, _, _text = _part.partition("\n")
    _name, _said = _title.split(": ", 1)
    _steps, _eval = _said.removesuffix("; eval").split(", "), _said.endswith("; eval")
    STYLES[_name] = (_text if "albumentations" in _text else _HEAD + _text, _steps, _eval)
