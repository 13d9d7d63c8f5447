"""A real server of S3, with faults: a store and pictures are packed, merged and read there."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.kinds import KINDS, packed, recipe_of
from test_stores_elsewhere import alike, opened

import augrecipes as ar
from augrecipes.cache import CACHE
from augrecipes.errors import StoreError
from augrecipes.packing.parts import merge_parts
from augrecipes.packing.run import pack
from augrecipes.recipe.parse import parse_text
from augrecipes.remote import RemotePath

pytest.importorskip("s3fs")
pytest.importorskip("moto")
import s3fs

IMAGE = KINDS[0]
Fault = Callable[[str, int, str], None]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that is there for these tests."""
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("s3_server.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as program:
        assert program.stdout is not None
        yield f"http://127.0.0.1:{int(program.stdout.readline())}"
        program.communicate("")


@pytest.fixture
def fault(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fault]:
    """The bucket `shop` is there, this process knows its way to it, and the server can be told to fail."""
    said = {"ENDPOINT_URL": server, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}
    for name, value in said.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().makedirs("shop", exist_ok=True)

    def told(kind: str, times: int, name: str) -> None:
        urllib.request.urlopen(f"{server}/fault/{kind}/{times}/{name}").close()

    yield told
    told("", 0, "-")


def sent(folder: Path, name: str) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            RemotePath(f"s3://shop/{name}/{path.relative_to(folder).as_posix()}").send(path)


def test_packed_merged_and_read_there(fault: Fault, roots: dict[str, Path]) -> None:
    sent(roots["image"], "photos")
    recipe, here = parse_text(recipe_of(IMAGE)), packed(IMAGE, roots["image"], shard_size=12_000)
    wanted = [{**one, "path": None} for one in opened(here)]
    for part in ("2/2", "1/2"):
        pack(recipe, "s3://shop/photos", "s3://shop/parts", part=part, shard_size=12_000, workers=0)
    merge_parts("s3://shop/parts")
    pack(recipe, "s3://shop/photos/*/*.png", "s3://shop/packed", shard_size=12_000)
    for store in ("parts", "packed"):
        assert alike(wanted, [{**one, "path": None} for one in opened(f"s3://shop/{store}")])
        assert ar.verify_store(f"s3://shop/{store}") == []
    with pytest.raises(StoreError, match="exists already"):
        pack(recipe, "s3://shop/photos", "s3://shop/packed", workers=0)


def test_faults_on_the_way(fault: Fault, roots: dict[str, Path], tmp_path: Path) -> None:
    here = packed(IMAGE, roots["image"], shard_size=3_000)
    sent(here, "faults")
    wanted, shards = list(opened(here)), sorted(path.name for path in here.glob("*.bin"))
    ds = opened("s3://shop/faults")
    for kind, name in (("error", shards[0]), ("cut", shards[1]), ("slow", shards[2])):
        fault(kind, 2, name)
        ds[0]
    assert alike(wanted, list(ds))
    changed = bytearray((here / shards[-1]).read_bytes())
    changed[-1] ^= 1
    RemotePath(f"s3://shop/faults/{shards[-1]}").write_bytes(bytes(changed))
    assert alike(wanted, list(opened("s3://shop/faults")))  # what was fetched of the store is the store
    for kept in (tmp_path / "cache" / "remote").glob("*.fetched"):
        kept.unlink()
    with pytest.raises(StoreError, match="is not the file that the store's index speaks of"):
        list(opened("s3://shop/faults"))
