"""Each route of the studio, as the page asks it."""

from __future__ import annotations

from asking import Page

import augrecipes as ar

TEXT = """\
version: 1
recipe: mine
optimize: {optimize}
steps:
  - RandomCrop: {{height: 48, width: 64}}
  - Rotate: {{limit: 30, border_mode: reflect_101, p: 1.0}}
  - HorizontalFlip
  - ColorJitter: {{brightness: 0.3, contrast: 0, saturation: 0.2, hue: 0.02, p: 0.7}}
eval: derived
"""


def test_it_is_alive(page: Page) -> None:
    found = page.get("/api/alive")
    assert found["version"] == ar.__version__
    assert found["read_only"] is False
    assert found["server"] == page.studio.server


def test_what_the_page_starts_with(page: Page) -> None:
    found = page.get("/api/recipe")
    assert found["path"] is None
    assert ar.load(found["text"]).name == "my-recipe"
    assert page.post("/api/check", text=found["text"])["problems"] == []
    assert {one["name"] for one in page.get("/api/gallery")} == set(ar.gallery_names())
    assert "Rotate" in page.get("/api/schema")["steps"]


def test_a_misspelt_step_is_underlined_and_fixed(page: Page) -> None:
    text = "version: 1\nrecipe: mine\nsteps:\n  - RandomRotation: {degrees: 25}\neval: derived\n"
    found = page.post("/api/check", text=text)
    problem = found["problems"][0]
    assert (problem["from"], problem["to"], problem["severity"]) == ([4, 4], [4, 18], "error")
    assert problem["fix"]["edits"] == [{"from": [4, 4], "to": [4, 18], "text": "Rotate"}]
    assert "step" in problem["more"]


def test_a_recipe_that_cannot_be_drawn_is_refused(page: Page) -> None:
    response = page.ask("POST", "/api/draws", {"text": "version: 1\nrecipe: x\nsteps: [Rotat]\n"})
    assert response.status == 422
    assert "Rotate" in response.json["error"]["message"]
    assert page.ask("POST", "/api/draws", {"text": TEXT.format(optimize="none"), "indices": [99]}).status == 404


def test_small_pictures_are_small(page: Page) -> None:
    line = page.lines("/api/draws", text=TEXT.format(optimize="fast"), size=32)[0]
    shown = line["pictures"][0]
    assert page.pixels(shown["url"]).shape == (24, 32, 3)
    assert (shown["width"], shown["height"]) == (64, 48)


def test_pictures_that_are_gone_are_drawn_again(page: Page) -> None:
    text = TEXT.format(optimize="none")
    first = page.lines("/api/draws", text=text)[0]["pictures"][0]["url"]
    page.studio.images.__init__(most_bytes=1)  # type: ignore[misc]
    assert page.ask("GET", first).status == 404
    again = page.lines("/api/draws", text=text)[0]["pictures"][0]["url"]
    assert page.ask("GET", again).status == 200
