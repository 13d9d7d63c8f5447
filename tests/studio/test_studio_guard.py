"""Who may ask the studio: nobody from elsewhere, nobody without the token, and nothing beyond its folder."""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import cv2
import pytest
from starlette.datastructures import Headers
from starlette.routing import Mount
from studio_pages import QUICK, Page, image_of

from augrecipes.studio import app as application
from augrecipes.studio import view
from augrecipes.studio.app import HEADERS, MOST_BODY, Guard
from augrecipes.studio.studio import Studio


def routes_of(page: Page) -> list[tuple[str, str]]:
    """Method and path of every route, but for the files of the page."""
    app: Any = page.running.application
    *routes, files = app.app.routes
    assert isinstance(files, Mount)
    return sorted((method, one.path.replace("{address}", "00")) for one in routes for method in one.methods - {"HEAD"})


# What a page elsewhere in the same browser, or another program of this machine without the token, can send.
HOSTS = ("evil.example", "evil.example:PORT", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:PORT.evil.example", "0.0.0.0:PORT")
# The page has been opened by its number, so another name is another origin.
ORIGINS = ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost:PORT", "https://127.0.0.1:PORT")
FOREIGN: list[tuple[dict[str, str | None], int]] = [
    *(({"X-Studio-Token": token}, 401) for token in (None, "0" * 43, "")),
    *(({"Host": host}, 403) for host in HOSTS),
    *(({"Origin": origin}, 403) for origin in ORIGINS),
    *(({"Sec-Fetch-Site": site}, 403) for site in ("cross-site", "same-site")),
]


def refused(page: Page, headers: dict[str, str | None], status: int) -> list[str]:
    """Routes that let such a request through, or answer it in a way that another page could read."""
    sent = {name: value and value.replace("PORT", str(page.running.port)) for name, value in headers.items()}
    found = []
    for method, path in routes_of(page):
        body = {"text": QUICK, "base_sha": "", "force": True} if method != "GET" else None
        reply = page.ask(method, path, body, **sent)
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
        assert page.ask("POST", "/api/check", {"text": QUICK}, **sent).status == 200


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
    for method, path in routes_of(page):
        reply = page.ask(
            "OPTIONS", path, Origin="https://evil.example", Access_Control_Request_Method=method,
            Access_Control_Request_Headers="x-studio-token", X_Studio_Token=None,
        )  # fmt: skip
        assert reply.status in (401, 403)
        assert not [name for name in reply.headers if name.startswith("access-control")]
    for method, path in [*routes_of(page), ("GET", "/"), ("GET", "/nothing.js")]:
        reply = page.ask(method, path, {} if method != "GET" else None)
        assert HEADERS.items() <= reply.headers.items(), path
        assert page.studio.token.encode() not in reply.body
    assert "default-src 'none'" in HEADERS["content-security-policy"]


def test_tokens_are_long_and_differ() -> None:
    tokens = {Studio().token for _ in range(3)}
    assert [len(token) >= 43 for token in tokens] == [True] * 3  # 256 bits


def test_it_listens_on_loopback_only(page: Page) -> None:
    assert page.running._socket.getsockname()[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in others - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((str(address), page.running.port), timeout=0.5).close()


@pytest.mark.parametrize(
    "path",
    ["/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "/page/../../app.py", "/..\\server.py",
     "//etc/passwd", "/%00", "/a%00.js", "/__init__.py", "/" + "a" * 5000 + ".js"],
)  # fmt: skip
def test_only_files_of_the_page_are_handed_out(page: Page, path: str) -> None:
    reply = page.ask("GET", path)
    assert reply.status in (400, 404)
    assert b"root:" not in reply.body


def test_a_link_out_of_the_page_is_not_followed(
    open_page: Callable[..., Page], photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    (tmp_path / "secret.js").write_text("secret")
    (folder / "mine.js").write_text("")
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    monkeypatch.setattr(application, "_PAGE", folder)
    page = open_page(None, photos)
    assert [page.ask("GET", f"/{name}").status for name in ("mine.js", "link.js", "../secret.js")] == [200, 404, 404]


def test_bodies_are_bounded(page: Page) -> None:
    with suppress(ConnectionError):  # it has hung up while more was coming
        assert page.ask("POST", "/api/check", b'{"text": "' + b"x" * MOST_BODY + b'"}').status == 413
    assert page.ask("POST", "/api/check", {"text": "#" * 1_000_001}).status == 413
    for body in (b"[" * 100_000, b"[]", b"\xff", {"text": "\ud800"}):  # the last is half a character
        assert page.ask("POST", "/api/check", body).status == 400
    assert page.ask("GET", "/api/alive").status == 200


def test_a_body_without_a_length_is_bounded(page: Page) -> None:
    with socket.create_connection(("127.0.0.1", page.running.port), timeout=20) as connection:
        host, token = f"127.0.0.1:{page.running.port}", page.studio.token
        head = f"POST /api/check HTTP/1.1\r\nHost: {host}\r\nX-Studio-Token: {token}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        with suppress(OSError):  # it has hung up
            for _ in range(MOST_BODY // 65536 + 4):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
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
    outside.write_text(QUICK.replace("mine", "secret-name"))
    (folder / "link.yaml").symlink_to(outside)
    (folder / "base.yaml").write_text(QUICK)
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
        reply = page.ask("POST", "/api/draws", {"text": QUICK, **body})
        assert reply.status in (400, 404), body


def test_links_out_of_the_data_show_nothing_more_than_datasets_do(
    open_page: Callable[..., Page], photos: Path, tmp_path: Path
) -> None:
    """What a folder of data links to outside of itself is not shown."""
    assert cv2.imwrite(str(tmp_path / "secret.png"), image_of(9))
    (photos / "zz.png").symlink_to(tmp_path / "secret.png")
    page = open_page(None, photos)
    line = page.lines("/api/draws", text=QUICK, indices=[4])[0]
    assert line["pictures"] == []
    assert "leads out of" in line["error"]["message"]
    assert page.lines("/api/draws", text=QUICK, indices=[3])[0]["pictures"]


def broken_and_hostile(open_page: Callable[..., Page], folder: Path) -> None:
    """Files of hostile names are shown, their names as text; a broken one is reported by every view."""
    folder.mkdir()
    image = cv2.imencode(".png", image_of(1))[1].tobytes()
    names = ["<img src=x onerror=alert(1)>.png", "a\x1b[31m\nb.png", "'\";--.png", "\u202egnp.exe.png", "%2e%2e.png"]
    for name in names:
        (folder / name).write_bytes(image)
    (folder / b"\xff\xfe.png".decode("utf-8", "surrogateescape")).write_bytes(b"no image")
    page = open_page(None, folder)
    found = page.ask("POST", "/api/source", {"text": QUICK})
    assert found.headers["content-type"].startswith("application/json")
    assert found.json["count"] == 6
    assert "data/<img src=x onerror=alert(1)>.png" in found.json["names"]
    assert all(name.isprintable() for name in found.json["names"])
    lines = page.lines("/api/draws", text=QUICK, indices=list(range(6)))[:-1]
    (broken,) = (line for line in lines if not line.get("pictures"))
    assert broken["error"]["code"] == "data"
    assert page.lines("/api/stages", text=QUICK, index=broken["index"])[-1]["done"] is True
    for path in ("/api/cost", "/api/compare", "/api/extremes"):
        body = {"a": {"text": QUICK}, "b": {"text": QUICK}, "text": QUICK, "path": "steps.0", "index": broken["index"]}
        reply = page.ask("POST", path, body)
        assert (reply.status, "not an image" in reply.json["error"]["message"]) == (422, True), path


def test_broken_files_and_hostile_names_are_reported(
    open_page: Callable[..., Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_and_hostile(open_page, tmp_path / "data")
    (tmp_path / "planted").mkdir()
    monkeypatch.setattr(view, "harmless", lambda text: text)
    with pytest.raises(AssertionError):  # planted: names that must be text
        broken_and_hostile(open_page, tmp_path / "planted" / "data")


def test_an_image_of_too_many_pixels_is_not_shown(open_page: Callable[..., Page], tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with (folder / "bomb.ppm").open("wb") as file:  # sparse: it takes no room
        file.write(b"P6 12000 12000 255\n")
        file.truncate(file.tell() + 3 * 12000 * 12000)
    page = open_page(None, folder)
    line = page.lines("/api/draws", text=QUICK)[0]
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
