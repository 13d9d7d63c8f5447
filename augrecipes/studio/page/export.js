// The view of exports: the recipe as a file and as plain albumentations, and a sample in Python.

import {copy, download, notice} from "./dialog.js"
import {fill, icon, make} from "./dom.js"
import * as draws from "./draws.js"
import {ask, Unreachable} from "./server.js"
import {on, recipe} from "./state.js"

let code = null
let codeHead = null
let exported = null

export const view = {name: "export", title: "Export", build, refresh, stop: () => false}

const stem = () => (/^\s*recipe:\s*["']?([a-z0-9-]+)/m.exec(recipe.text)?.[1] ?? "recipe")

export const downloadYaml = () => download(recipe.path?.split(/[\\/]/).at(-1) ?? `${stem()}.yaml`, recipe.text, "text/yaml")

function build(element) {
  const card = (title, words, ...buttons) => make("section", {class: "card"}, make("h3", {}, title), make("p", {}, words), make("div", {class: "buttons"}, ...buttons))
  const button = (shape, words, work) => make("button", {type: "button", onclick: work}, icon(shape), words)
  code = make("pre", {class: "python", tabindex: 0, "aria-label": "Plain albumentations"})
  codeHead = make("p", {class: "quiet-words"})
  fill(element, make("div", {class: "scroll"}, make("div", {class: "cards"},
    card("The recipe", "The YAML in the editor, with its comments and layout.", button("download", "Download YAML", downloadYaml), button("copy", "Copy YAML", () => copy(recipe.text, "the recipe"))),
    card("The sample in Python", "The line that draws the first sample, or the one that is open, again, bit for bit.", button("copy", "Copy Python", () => {
      const line = draws.python()
      if (line) copy(line, "the line of Python")
      else notice("Nothing is drawn yet.")
    })),
    make("section", {class: "card broad"}, make("h3", {}, "Plain albumentations"), codeHead, code, make("div", {class: "buttons"},
      button("download", "Download .py", () => send("python", true)), button("copy", "Copy .py", () => send("python").then((text) => text && copy(text, "the Python"))),
      button("download", "Download .json", () => send("json", true)))))))
  on("checked", () => {
    exported = null
  })
}

export function refresh() {
  if (recipe.good !== null && exported === null) send("python")
}

async function send(as, save = false) {
  try {
    const answer = await ask("POST", "api/export", {text: recipe.good ?? recipe.text, as})
    if (as === "python") {
      exported = answer.text
      fill(code, answer.text)
      fill(codeHead, [answer.notes ?? []].flat().join(" ") || "What the recipe does, as a pipeline of albumentations that does not need augrecipes.")
    }
    if (save) download(answer.name ?? `${stem()}.${as === "python" ? "py" : "json"}`, answer.text)
    return answer.text
  } catch (error) {
    if (!(error instanceof Unreachable)) fill(as === "python" && !save ? code : codeHead, error.message)
    return null
  }
}
