// Recipes to start from: the gallery, and recipes or albumentations files that are dropped or chosen.

import {dialog, notice} from "./dialog.js"
import {fill, find, make} from "./dom.js"
import * as editor from "./editor.js"
import {ask, Unreachable} from "./server.js"
import {announce} from "./state.js"

const LARGEST = 1 << 20
let entries = null

export async function load() {
  entries = await ask("GET", "api/gallery")
  announce("gallery", entries)
}

export async function show() {
  try {
    if (!entries) await load()
  } catch (error) {
    return void notice(error.message, {kind: "bad"})
  }
  const preview = make("pre", {class: "preview", tabindex: 0, "aria-label": "The recipe"})
  let chosen = entries[0]
  let used = false
  const list = make("div", {class: "entries", role: "listbox", tabindex: 0, "aria-label": "Recipes of the gallery"})
  const options = entries.map((entry, at) => make("div", {role: "option", id: `recipe-${at}`, onclick: () => pick(entry), ondblclick: () => {
    pick(entry)
    use()
    opened.close()
  }}, make("b", {}, entry.name), make("span", {}, entry.title ?? "")))
  const pick = (entry) => {
    chosen = entry
    for (const [at, option] of options.entries()) option.setAttribute("aria-selected", String(entries[at] === entry))
    list.setAttribute("aria-activedescendant", `recipe-${entries.indexOf(entry)}`)
    options[entries.indexOf(entry)].scrollIntoView({block: "nearest"})
    fill(preview, entry.text)
    preview.scrollTop = 0
  }
  const use = () => {
    editor.put(chosen.text)
    notice(`The editor now has ${chosen.name} of the gallery. Undo brings back your text.`, {name: "gallery"})
    used = true
  }
  list.addEventListener("keydown", (event) => {
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key]
    if (by) pick(entries[Math.min(entries.length - 1, Math.max(0, entries.indexOf(chosen) + by))])
    else if (event.key === "Enter") {
      use()
      opened.close()
    } else return
    event.preventDefault()
  })
  fill(list, options)
  const opened = dialog("Gallery", make("div", {class: "gallery"}, list, preview), [["Use this recipe", use, "primary"]], {wide: true, onClose: () => used && editor.focus()})
  pick(chosen)
  list.focus()
}

// Imports a file: a recipe unchanged, a pipeline of albumentations translated, with notes on what changed.
export async function importFile(file) {
  if (file.size > LARGEST) return void notice(`${file.name} is larger than a megabyte, so it is not a recipe.`, {kind: "bad"})
  try {
    const answer = await ask("POST", "api/import", {name: file.name, text: await file.text()})
    editor.put(answer.text)
    const notes = [answer.notes ?? []].flat()
    if (notes.length) dialog(`What changed in ${file.name}`, make("ul", {class: "words"}, notes.map((line) => make("li", {}, line))))
    else notice(`The editor now has ${file.name}. Undo brings back your text.`, {name: "import"})
  } catch (error) {
    if (error instanceof Unreachable) notice("Not imported: the server does not answer.", {kind: "bad"})
    else dialog(`${file.name} could not be imported`, [make("p", {class: "kept"}, error.message), error.fix ? make("p", {class: "kept"}, error.fix) : null])
  }
}

export const choose = () => find("#import-file").click()

export function watch() {
  const input = find("#import-file")
  input.addEventListener("change", () => {
    if (input.files.length) importFile(input.files[0])
    input.value = ""
  })
  let over = 0
  const drop = find("#drop")
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files")
  addEventListener("dragenter", (event) => {
    if (!files(event)) return
    over++
    drop.hidden = false
  })
  addEventListener("dragleave", () => {
    over = Math.max(0, over - 1)
    if (!over) drop.hidden = true
  })
  addEventListener("dragover", (event) => files(event) && event.preventDefault())
  addEventListener("drop", (event) => {
    over = 0
    drop.hidden = true
    if (!files(event)) return
    event.preventDefault()
    event.stopPropagation()
    if (event.dataTransfer.files.length) importFile(event.dataTransfer.files[0])
  }, true)
}
