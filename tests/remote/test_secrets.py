"""What an address says of who asks is shown nowhere: in no message, log, traceback, store, cache or JSON."""

import json
import logging
import pickle
import re
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import shop
from support.kinds import IMAGE, recipe_of
from test_stores_elsewhere import alike

import augrecipes as ar
from augrecipes import errors, remote
from augrecipes.cli.terminal import as_json
from augrecipes.errors import AugrecipesError, DataError, StoreError
from augrecipes.redaction import redact, redact_from
from augrecipes.remote import RemotePath

SECRET = "HUSHhush"
WORD = st.text("abcXYZ019-_.~", min_size=1, max_size=8)
CODED = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda text: quote(SECRET + text, safe="/+="))
USERS = st.builds("{}:{}@".format, WORD, CODED.map(lambda text: text.replace("/", "")))
# How servers sign addresses: of AWS (both ways), Google, Azure, CloudFront, and with tokens.
SIGNED = (
    "X-Amz-Algorithm=AWS4&X-Amz-Credential={0}&X-Amz-Date=2026&X-Amz-Security-Token={0}&X-Amz-Signature={0}",
    "AWSAccessKeyId={0}&Signature={0}&Expires=7", "X-Goog-Credential={0}&X-Goog-Signature={0}", "sv=1&se=2&sig={0}",
    "Policy={0}&Signature={0}&Key-Pair-Id={0}", "access_token={0}", "api_key={0}&n=1", "user=me&password={0}",
    "jwt={0}",
)  # fmt: skip
QUERIES = st.builds(lambda form, secret: "?" + form.format(secret), st.sampled_from(SIGNED), CODED)
ADDRESSES = st.one_of(
    st.builds("{}://{}host/{}/a.jpg".format, st.sampled_from(["https", "sftp", "ftp", "smb", "webdav"]), USERS, WORD),
    st.builds("s3://{}:{}{}@bucket/{}".format, WORD, st.sampled_from(["", "7/", "80/"]), CODED, WORD),
    st.builds("https://{}@host/{}".format, CODED.map(lambda text: text.replace("/", "")), WORD),
    st.builds("https://host/{}.jpg{}".format, WORD, QUERIES),
    st.builds("zip://{}::https://{}host/a.zip".format, WORD, USERS),
)
AROUND = ("{}", "cannot read {}: no such file", "url='{}', 404", "({}).", "a {}, b", "[{}]\nnext", "<{}>")
ROUND = st.sampled_from(AROUND)


@given(ADDRESSES, ROUND)
def test_nothing_shown_has_a_secret(address: str, around: str) -> None:
    text = around.format(address)
    shown = [redact(text), str(DataError(text, address)), repr(StoreError(text, address)), as_json({"a": [text]})]
    shown += [str(errors.LoaderError(text)), repr(RemotePath(address)), errors.harmless(text)]
    assert not [one for one in shown if SECRET in one]
    assert redact(redact(text)) == redact(text)
    back = pickle.loads(pickle.dumps(DataError(text, address)))
    assert back.path == address, "who asks again has to know"
    assert around.partition("{}")[2].strip("'") in redact(text) or "\n" in around


def test_a_planted_mask_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: only what stands in front of the path is looked at."""
    monkeypatch.setattr(errors, "redact", lambda text: re.sub(r"://[^/]*@", "://***@", text))
    with pytest.raises(AssertionError):
        test_nothing_shown_has_a_secret.hypothesis.inner_test(f"https://host/a.jpg?sig={SECRET}", "{}")  # type: ignore[attr-defined]


class Vault(shop.Shop):
    """The shop, behind a password: `vault://me:PASSWORD@shop/store`."""

    protocol = "vault"

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        text = str(path)
        if text.startswith("vault://"):
            text = "shop://" + text.removeprefix("vault://").rpartition("@")[2]
        return shop.Shop._strip_protocol(text)


fsspec.register_implementation("vault", Vault, clobber=True)
OURS = f"vault://me:{SECRET}@"


def test_stores_caches_states_and_logs_have_none(
    elsewhere: Path, roots: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: Any
) -> None:
    shutil.copytree(roots["image"], elsewhere / "photos")
    (elsewhere / "photos" / "cat" / "broken.jpg").write_bytes(b"no picture")
    caplog.set_level(logging.DEBUG)
    recipe = ar.load(recipe_of(IMAGE))
    ar.pack(recipe, f"{OURS}photos", f"{OURS}store", shard_size=3_000, workers=0, on_error="skip")
    ar.pack(recipe, f"{OURS}photos", tmp_path / "here", workers=0, on_error="skip")
    packed = ar.Packed(f"{OURS}store", recipe, seed=0, on_error="skip")
    here = ar.Packed(tmp_path / "here", recipe, seed=0)
    assert alike([packed[i] for i in (1, 2, 3)], [here[i] for i in (1, 2, 3)])
    loader = ar.loader(packed, 2)
    next(iter(loader))
    assert ar.verify_store(f"{OURS}store") == []
    shown = [repr(packed), repr(packed.store), json.dumps(loader.state_dict(), default=str), caplog.text]
    shown += [*capsys.readouterr(), *(str(path) for path in tmp_path.rglob("*"))]
    assert not [one for one in shown if SECRET in one]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


class NoCredentialsError(Exception):
    """As botocore's."""


KINDS = OSError, PermissionError, FileNotFoundError, ValueError, TypeError, NoCredentialsError


@pytest.mark.parametrize("said", [f"{OURS}shop/a", f"me:{SECRET}@shop/a", f"401 for {SECRET}", f"{SECRET}: unknown"])
@pytest.mark.parametrize("how", ["said", "because", "while"])
@pytest.mark.parametrize("kind", KINDS)
def test_tracebacks_have_none(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, how: str, said: str) -> None:
    """Drivers say the address, or a part of it, or what they met with does."""

    def failing(*_: Any, **__: Any) -> Any:
        if how == "said":
            raise kind(said)
        try:
            raise ConnectionError(said)
        except ConnectionError as error:
            if how == "because":
                raise kind("cannot") from error
            raise kind("cannot")  # noqa: B904

    monkeypatch.setattr(remote, "PAUSE", 0.0)

    for name in ("info", "exists", "isdir", "cat_file", "find", "get_file"):
        monkeypatch.setattr(Vault, name, failing)
    works: list[Callable[[], Any]] = [
        lambda: ar.Packed(f"{OURS}shop/a", "folder-128"), lambda: ar.ImageFolder(f"{OURS}shop/a", "folder-128"),
        lambda: RemotePath(f"{OURS}shop/a").fetch(elsewhere / "a"),
    ]  # fmt: skip
    for work in works:
        with pytest.raises((AugrecipesError, remote.RemoteError, FileNotFoundError, PermissionError)) as found:
            work()
        assert SECRET not in "".join(traceback.format_exception(found.value))
    assert redact_from(f"{OURS}shop/a", said).count("***") == 1
