"""Who may ask the studio: nobody from elsewhere, nobody without the token, and nothing beyond its folder."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import pytest
from starlette.datastructures import Headers
from starlette.routing import Route
from studio_pages import Page, Reply, image_of

from augrecipes.studio import app as application
from augrecipes.studio.app import HEADERS, MOST_BODY, Guard

TEXT = "version: 1\nrecipe: mine\nsteps: [HorizontalFlip]\neval: derived\n"
ROUTES = [
    ("GET", "/api/alive"), ("GET", "/api/recipe"), ("PUT", "/api/recipe"),
    ("POST", "/api/source"), ("GET", "/api/schema"), ("GET", "/api/gallery"), ("GET", "/api/image/00.png"),
    ("POST", "/api/check"), ("POST", "/api/draws"), ("POST", "/api/stages"), ("POST", "/api/slide"),
    ("POST", "/api/extremes"), ("POST", "/api/compare"), ("POST", "/api/cost"), ("POST", "/api/import"),
    ("POST", "/api/export"),
]  # fmt: skip


def test_every_route_is_tried_here(page: Page) -> None:
    app: Any = page.running.application
    routes = [route for route in app.app.routes if isinstance(route, Route)]
    found = {(method, route.path.replace("{address}", "00")) for route in routes for method in route.methods}
    assert {one for one in found if one[1].startswith("/api/") and one[0] != "HEAD"} == set(ROUTES)


# What a page elsewhere in the same browser, or another program of this machine without the token, can send.
FOREIGN: list[tuple[dict[str, str | None], int]] = [
    ({"X-Studio-Token": None}, 401),
    ({"X-Studio-Token": "0" * 43}, 401),
    ({"X-Studio-Token": ""}, 401),
    ({"Host": "evil.example"}, 403),
    ({"Host": "evil.example:PORT"}, 403),
    ({"Host": "127.0.0.1"}, 403),
    ({"Host": "127.0.0.1:1"}, 403),
    ({"Host": "127.0.0.1:PORT.evil.example"}, 403),
    ({"Host": "0.0.0.0:PORT"}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://127.0.0.1:1"}, 403),
    ({"Origin": "http://localhost:PORT"}, 403),  # the page has been opened by its number
    ({"Origin": "https://127.0.0.1:PORT"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
]


def refused(page: Page, headers: dict[str, str | None], status: int) -> list[str]:
    """Routes that let such a request through, or answer it in a way that another page could read."""
    sent = {name: value and value.replace("PORT", str(page.running.port)) for name, value in headers.items()}
    found = []
    for method, path in ROUTES:
        body = {"text": TEXT, "base_sha": "", "force": True} if method != "GET" else None
        with page.open(method, path, body, sent) as response:
            reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        fine = reply.status == status and "error" in reply.json
        if not fine or any(name.startswith("access-control") for name in reply.headers):
            found.append(f"{method} {path}: {reply.status}")
    return found


@pytest.mark.parametrize(("headers", "status"), FOREIGN)
def test_requests_from_elsewhere_are_refused(page: Page, headers: dict[str, str | None], status: int) -> None:
    assert refused(page, headers, status) == []


def test_requests_of_the_page_are_answered(page: Page) -> None:
    port = page.running.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        sent = {"Host": host, "Origin": f"http://{host}", "Sec_Fetch_Site": "same-origin"}
        assert page.ask("GET", "/api/alive", **sent).status == 200
        assert page.ask("POST", "/api/check", {"text": TEXT}, **sent).status == 200


@pytest.mark.parametrize("fault", ["host", "origin", "sec-fetch-site", "x-studio-token"])
def test_a_guard_that_does_not_look_is_noticed(
    open_page: Callable[..., Page], photos: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Planted: a check left out. The requests above get through, and are noticed."""
    real: Any = Guard._check

    def blind(self: Any, headers: Headers, path: str) -> None:
        good = {"host": next(host for host in self._hosts if host[0] == "1"), "x-studio-token": self._token}
        seen = {name: value for name, value in headers.items() if name != fault}
        real(self, Headers({**seen, **({fault: good[fault]} if fault in good else {})}), path)

    monkeypatch.setattr(Guard, "_check", blind)
    page = open_page(None, photos)
    passed = [headers for headers, status in FOREIGN if refused(page, headers, status)]
    assert passed
    assert all(fault in {name.lower() for name in one} for one in passed)


def test_no_answer_is_for_other_pages(page: Page) -> None:
    """Neither CORS headers, nor an answer to the preflight that a foreign page's request would send."""
    for method, path in ROUTES:
        reply = page.ask(
            "OPTIONS", path, Origin="https://evil.example", Access_Control_Request_Method=method,
            Access_Control_Request_Headers="x-studio-token", X_Studio_Token=None,
        )  # fmt: skip
        assert reply.status in (401, 403)
        assert not [name for name in reply.headers if name.startswith("access-control")]
    reply = page.ask("GET", "/")
    assert reply.status == 200
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert page.studio.token.encode() not in reply.body


def test_tokens_are_long_and_differ(open_page: Callable[..., Page], photos: Path) -> None:
    tokens = {open_page(None, photos).studio.token for _ in range(3)}
    assert len(tokens) == 3
    assert all(len(token) >= 43 for token in tokens)  # 256 bits


def test_it_listens_on_loopback_only(page: Page) -> None:
    assert page.running._socket.getsockname()[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((str(address), page.running.port), timeout=0.5).close()


@pytest.mark.parametrize(
    "path",
    ["/../serving.py", "/..%2fserving.py", "/%2e%2e/serving.py", "/page/../../guard.py", "/..\\serving.py",
     "//etc/passwd",     "/%00", "/a%00.js", "/__init__.py", "/" + "a" * 5000 + ".js"],
)  # fmt: skip
def test_only_files_of_the_page_are_handed_out(page: Page, path: str) -> None:
    reply = page.ask("GET", path)
    assert reply.status in (400, 404)
    assert b"root:" not in reply.body


def test_a_link_out_of_the_page_is_not_followed(
    open_page: Callable[..., Page], photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.js").write_text("secret")
    root = tmp_path / "augrecipes" / "page"
    root.mkdir(parents=True)
    for name in ("augrecipes/__init__.py", "augrecipes/page/mine.js"):
        (tmp_path / name).write_text("")
    (root / "link.js").symlink_to(tmp_path / "secret.js")
    monkeypatch.setattr(application, "_PAGE", (str(tmp_path / "augrecipes"), "page"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace(origin=f"{name}/__init__.py"))
    page = open_page(None, photos)
    statuses = [page.ask("GET", f"/{name}").status for name in ("mine.js", "link.js", "../../secret.js")]
    assert statuses == [200, 404, 404]


def test_bodies_are_bounded(page: Page) -> None:
    huge = b'{"text": "' + b"x" * MOST_BODY + b'"}'
    with suppress(ConnectionError):  # it has hung up while more was coming
        assert page.ask("POST", "/api/check", huge).status == 413
    assert page.ask("POST", "/api/check", {"text": "#" * 1_000_001}).status == 413
    assert page.ask("POST", "/api/check", b"[" * 100_000).status == 400
    assert page.ask("POST", "/api/check", b"[]").status == 400
    assert page.ask("POST", "/api/check", b"\xff").status == 400
    assert page.ask("POST", "/api/check", {"text": "\ud800"}).status == 400  # half a character
    assert page.ask("GET", "/api/alive").status == 200


def test_a_body_without_a_length_is_bounded(page: Page) -> None:
    with socket.create_connection(("127.0.0.1", page.running.port), timeout=20) as connection:
        host, token = f"127.0.0.1:{page.running.port}", page.studio.token
        head = f"POST /api/check HTTP/1.1\r\nHost: {host}\r\nX-Studio-Token: {token}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        try:
            for _ in range(MOST_BODY // 65536 + 4):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        except OSError:
            pass  # it has hung up
        else:
            assert b"413" in connection.recv(64)
    assert page.ask("GET", "/api/alive").status == 200


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "a: &x [1]\nb: *x", "a: !!python/object:os.system x", "{" * 100, "steps: [" + "A," * 60_000 + "]",
     "\x00", "version: 1\nrecipe: x\nsteps:\n" + "  - OneOf:\n      steps:\n" * 40,
     "extends: ../../../etc/passwd",     "version: 1\nextends: /etc/passwd\nrecipe: x\n"],
)  # fmt: skip
def test_limits_of_yaml_are_those_of_check(page: Page, text: str) -> None:
    found = page.post("/api/check", text=text)
    assert any(problem["severity"] == "error" for problem in found["problems"])
    assert "root:" not in json.dumps(found)
    for path in ("/api/draws", "/api/stages", "/api/cost", "/api/export"):
        assert page.ask("POST", path, {"text": text, "as": "python"}).status in (400, 413, 422)


def test_extends_stays_beside_the_recipe(open_page: Callable[..., Page], photos: Path, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.yaml", tmp_path / "recipes"
    folder.mkdir()
    outside.write_text(TEXT.replace("mine", "secret-name"))
    (folder / "link.yaml").symlink_to(outside)
    (folder / "base.yaml").write_text(TEXT)
    (folder / "my.yaml").write_text("version: 1\nextends: base.yaml\nrecipe: my\n")
    page = open_page(folder / "my.yaml", photos)
    assert page.post("/api/check", text=page.get("/api/recipe")["text"])["resolved"].startswith("version: 1")
    for name in ("link.yaml", "../outside.yaml", str(outside)):
        found = page.post("/api/check", text=f"version: 1\nextends: {name}\nrecipe: my\n")
        assert [problem["code"] for problem in found["problems"]] == ["E502"]
        assert found["resolved"] is None


def test_requests_name_no_files(page: Page, tmp_path: Path) -> None:
    """A page asks for samples by number: nothing that it sends is a path."""
    assert cv2.imwrite(str(tmp_path / "secret.png"), image_of(9))
    for body in ({"indices": ["../secret.png"]}, {"indices": [-1]}, {"indices": [1.5]}, {"indices": [True]},
                 {"indices": [10**30]}, {"indices": []}, {"indices": list(range(3000))}, {"epochs": ["0"]},
                 {"seed": "0"}, {"size": 10**9}, {"size": -1}, {"optimize": "all"}):  # fmt: skip
        reply = page.ask("POST", "/api/draws", {"text": TEXT, **body})
        assert reply.status in (400, 404), body


def test_links_out_of_the_data_show_nothing_more_than_datasets_do(
    open_page: Callable[..., Page], photos: Path, tmp_path: Path
) -> None:
    """What a folder of data links to outside of itself is not shown."""
    assert cv2.imwrite(str(tmp_path / "secret.png"), image_of(9))
    (photos / "zz.png").symlink_to(tmp_path / "secret.png")
    page = open_page(None, photos)
    line = page.lines("/api/draws", text=TEXT, indices=[4])[0]
    assert line["pictures"] == []
    assert "leads out of" in line["error"]["message"]
    assert page.lines("/api/draws", text=TEXT, indices=[3])[0]["pictures"]


def test_hostile_names_are_text(open_page: Callable[..., Page], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    names = ["<img src=x onerror=alert(1)>.png", "a\x1b[31m\nb.png", "'\";--.png", "\u202egnp.exe.png", "%2e%2e.png"]
    for name in names:
        assert cv2.imwrite(str(tmp_path / "one.png"), image_of(1))
        (tmp_path / "one.png").rename(folder / name)
    (folder / b"\xff\xfe.png".decode("utf-8", "surrogateescape")).write_bytes((folder / names[0]).read_bytes())
    page = open_page(None, folder)
    found = page.post("/api/source", text=TEXT)
    assert found["count"] == 6
    assert "data/<img src=x onerror=alert(1)>.png" in found["names"]
    assert all(name.isprintable() for name in found["names"])
    lines = page.lines("/api/draws", text=TEXT, indices=list(range(6)))
    assert all(line.get("pictures") for line in lines[:-1]), lines
    reply = page.ask("POST", "/api/source", {"text": TEXT})
    assert reply.headers["content-type"].startswith("application/json")


def told_of_broken(open_page: Callable[..., Page], folder: Path) -> None:
    """A broken file whose name is no text is told of by every view, and the others are shown."""
    folder.mkdir()
    assert cv2.imwrite(str(folder / "one.png"), image_of(1))
    (folder / b"\xff\xfe.png".decode("utf-8", "surrogateescape")).write_bytes(b"no picture")
    page = open_page(None, folder)
    lines = page.lines("/api/draws", text=TEXT, indices=[0, 1])
    assert sorted(bool(line.get("pictures")) for line in lines[:-1]) == [False, True]
    assert [line["error"]["code"] for line in lines[:-1] if "error" in line] == ["data"]
    assert page.lines("/api/stages", text=TEXT, index=1)[-1]["done"] is True
    broken = next(line["index"] for line in lines[:-1] if "error" in line)
    for path in ("/api/cost", "/api/compare", "/api/extremes"):
        body = {"a": {"text": TEXT}, "b": {"text": TEXT}, "text": TEXT, "path": "steps.0", "index": broken}
        reply = page.ask("POST", path, body)
        assert (reply.status, "not an image" in reply.json["error"]["message"]) == (422, True), path


def test_broken_files_of_hostile_names_are_told(open_page: Callable[..., Page], tmp_path: Path) -> None:
    told_of_broken(open_page, tmp_path / "data")


def test_planted_names_that_must_be_text_are_noticed(
    open_page: Callable[..., Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "encoded", lambda value: json.dumps(value, ensure_ascii=False).encode())
    with pytest.raises(AssertionError):
        told_of_broken(open_page, tmp_path / "data")


def test_a_picture_of_too_many_pixels_is_not_shown(open_page: Callable[..., Page], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "bomb.ppm").write_bytes(b"P6 12000 12000 255\n" + b"\0" * (3 * 12000 * 12000))
    page = open_page(None, folder)
    line = page.lines("/api/draws", text=TEXT)[0]
    assert line["pictures"] == []
    assert "pixels" in line["error"]["message"]


def test_what_is_dropped_is_not_run(page: Page, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"import albumentations as A\nopen({str(mark)!r}, 'w')\ntrain = A.Compose([A.HorizontalFlip()])\n"
    for name in ("x.py", "x.yaml", "../../x.py", "x.py:train", "os:system"):
        page.ask("POST", "/api/import", {"name": name, "text": code})
    assert not mark.exists()


def test_a_config_that_stands_for_ever_more_is_not_written_out(page: Page) -> None:
    rows = [f"a{k}: ['${{a{k - 1}}}', '${{a{k - 1}}}']" for k in range(1, 60)]
    step = "train: [{_target_: albumentations.Blur, blur_limit: '${a59}'}]"
    reply = page.ask("POST", "/api/import", {"name": "x.yaml", "text": "\n".join(["a0: 3", *rows, step])})
    assert reply.status == 200
    assert "single value of this file" in reply.body.decode()
    assert len(reply.body) < 2_000
    assert page.post("/api/import", name="y.yaml", text="a: 3\n" + step.replace("a59", "a"))["notes"] == [
        "eval: the source has none"
    ]


def test_every_answer_has_the_headers(page: Page) -> None:
    for method, path in [*ROUTES, ("GET", "/"), ("GET", "/nothing.js")]:
        headers = page.ask(method, path, {} if method != "GET" else None).headers
        assert HEADERS.keys() <= headers.keys(), path
