// The view for taking away: the recipe as a file, as plain albumentations or as a link, and a PNG of what is shown.

import {copy, download, notice} from "./dialog.js"
import {fill, icon, make} from "./dom.js"
import * as draws from "./draws.js"
import {ask, Away} from "./server.js"
import {shot} from "./shot.js"
import {link} from "./share.js"
import {on, recipe} from "./state.js"

let code = null
let codeHead = null
let lastShown = () => null
let kind = "python"
let ejected = null

export const view = {name: "take", title: "Take away", build, refresh, shown: () => null, stop: () => false}

// Which view was looked at before this one: the PNG is of that.
export const remember = (shown) => {
  lastShown = shown
}

const stem = () => (/^\s*recipe:\s*["']?([a-z0-9-]+)/m.exec(recipe.text)?.[1] ?? "recipe")

export const takeYaml = () => download(recipe.path?.split(/[\\/]/).at(-1) ?? `${stem()}.yaml`, recipe.text, "text/yaml")

export async function takeLink() {
  copy(await link(recipe.text), "a link with the recipe in it")
}

export async function takePicture() {
  const shown = lastShown()
  if (!shown) return void notice("Look at draws, stages or A/B first: the PNG is of what was shown there.")
  try {
    download(`${stem()}.png`, await shot(shown.title, shown.rows))
    notice("Took a PNG of what is shown.", {name: "png"})
  } catch (error) {
    notice(`No PNG: ${error.message}.`, {kind: "bad"})
  }
}

function build(element) {
  const card = (title, words, ...buttons) => make("section", {class: "card"}, make("h3", {}, title), make("p", {}, words), make("div", {class: "buttons"}, ...buttons))
  const button = (shape, words, work) => make("button", {type: "button", onclick: work}, icon(shape), words)
  code = make("pre", {class: "python", tabindex: 0, "aria-label": "Plain albumentations"})
  codeHead = make("p", {class: "quiet-words"})
  fill(element, make("div", {class: "scroll"}, make("div", {class: "cards"},
    card("The recipe", "The YAML as it stands in the editor, with comments and layout.", button("download", "Download YAML", takeYaml), button("copy", "Copy YAML", () => copy(recipe.text, "the recipe"))),
    card("A link", "The recipe is in the fragment of the link: it goes to no server. It opens in a studio at this address.", button("copy", "Copy link", takeLink)),
    card("A picture", "What draws, stages or A/B showed last, with masks, boxes and captions.", button("download", "Download PNG", takePicture)),
    card("The sample in Python", "The line that draws the first, or the opened sample again, to the bit.", button("copy", "Copy Python", () => {
      const line = draws.python()
      if (line) copy(line, "the line of Python")
      else notice("Nothing is drawn yet.")
    })),
    make("section", {class: "card broad"}, make("h3", {}, "Plain albumentations"), codeHead, code, make("div", {class: "buttons"},
      button("download", "Download .py", () => eject("python", true)), button("copy", "Copy .py", () => eject("python").then((text) => text && copy(text, "the Python"))),
      button("download", "Download .json", () => eject("json", true)))))))
  on("checked", () => {
    ejected = null
  })
}

export function refresh() {
  if (recipe.good !== null && ejected === null) eject("python")
}

async function eject(as, save = false) {
  try {
    const answer = await ask("POST", "api/eject", {text: recipe.good ?? recipe.text, as})
    if (as === "python") {
      ejected = answer.text
      fill(code, answer.text)
      fill(codeHead, [answer.notes ?? []].flat().join(" ") || "Without augrecipes: what the recipe does, as a pipeline of albumentations.")
    }
    if (save) download(answer.name ?? `${stem()}.${as === "python" ? "py" : "json"}`, answer.text)
    return answer.text
  } catch (error) {
    if (!(error instanceof Away)) fill(as === "python" && !save ? code : codeHead, error.message)
    return null
  }
}
