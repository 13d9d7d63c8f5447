"""Images of many bands as a user has them: checked, looked at, loaded, packed, measured, by every command."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.encoded_images import bands, bands_tiff

import augrecipes as ar

RECIPE = """
version: 1
recipe: bands
inputs: {{image: {{channels: {count}}}}}
steps:
  - RandomCrop: {{height: 32, width: 32}}
  - HorizontalFlip
  - VerticalFlip
eval:
  - CenterCrop: {{height: 32, width: 32}}
output: {{normalize: {{mean: {mean}, std: {std}}}}}
"""


@pytest.mark.parametrize(("count", "kind"), [(4, "tif"), (5, "tif"), (8, "npy")])
def test_from_files_to_batches(finish: Callable[..., str], tmp_path: Path, count: int, kind: str) -> None:
    mean, std = [k / 16 for k in range(count)], [0.25] * count
    (tmp_path / "bands.yaml").write_text(RECIPE.format(count=count, mean=mean, std=std))
    for name in ("field", "water"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for k in range(3):
            file = tmp_path / "data" / name / f"{k}.{kind}"
            image = np.roll(bands(count), k, axis=1)
            np.save(file, image) if kind == "npy" else file.write_bytes(bands_tiff(image, "tiff_lzw"))
    finish("check bands.yaml")
    assert "6 images, all fine" in finish("check-data bands.yaml data --content")
    for how in ("", " --stages"):
        finish(f"preview bands.yaml data --out sheet.png{how}")
        assert (tmp_path / "sheet.png").stat().st_size > 10_000
    assert "every contract holds" in finish("verify bands.yaml data --samples 12")
    finish("bench bands.yaml data --samples 6 --seconds 0.1")
    finish("explain bands.yaml")

    found: list[Any] = []
    for optimize in ("none", "exact", "fast"):
        ds = ar.ImageFolder(tmp_path / "data", tmp_path / "bands.yaml", seed=3, optimize=optimize)
        found += [next(iter(ar.loader(ds, 6, shuffle=True, seed=0)))]
        assert found[-1]["image"].shape == (6, count, 32, 32)
        assert torch.equal(found[-1]["image"], found[0]["image"])
    evaluated = ar.ImageFolder(tmp_path / "data", tmp_path / "bands.yaml", mode="eval")
    middle = bands(count)[9:41, 19:51].transpose(2, 0, 1) / 255
    expected = (middle - np.reshape(mean, (-1, 1, 1))) / 0.25
    np.testing.assert_allclose(evaluated[0]["image"].numpy(), expected, atol=1e-5)
    for form in ("raw", "lossless"):
        finish(f"pack bands.yaml data --out {form} --format {form} --workers 0")
        packed = ar.Packed(tmp_path / form, tmp_path / "bands.yaml", seed=3)
        batch = next(iter(ar.loader(packed, 6, shuffle=True, seed=0)))
        assert torch.equal(batch["image"], found[0]["image"])
        finish(f"verify-store {form}")


def test_without_the_channels_every_command_says_what_to_write(run: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.tif").write_bytes(bands_tiff(bands(4)))
    cure = "a.tif: an image of 4 channels, and 3 are wanted: to take all, say `inputs: {image: {channels: 4}}`"
    (tmp_path / "plain.yaml").write_text("{version: 1, recipe: plain, steps: [HorizontalFlip], eval: []}")
    for command in ("check-data", "preview", "verify", "bench"):
        result = run(command, "plain.yaml", "data")
        assert result.exit_code != 0
        assert cure in " ".join(result.output.split()), command
    with pytest.raises(ar.DataError, match=r"a\.tif: an image of 4 channels"):
        ar.ImageFolder(tmp_path / "data", tmp_path / "plain.yaml")[0]
