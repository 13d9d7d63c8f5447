// Keyboard shortcuts: single keys outside of text fields, and those with Ctrl or Command everywhere. `?` lists them.

import {dialog} from "./dialog.js"
import {make} from "./dom.js"

const groups = [] // [title, [[keys, words, work]]]
const mac = /Mac|iPhone|iPad/.test(navigator.platform ?? "")

export function bind(title, entries) {
  groups.push([title, entries])
}

const typing = (element) => element?.closest?.("input:not([type=range]):not([type=checkbox]), textarea, select, [contenteditable=true], .cm-editor")

// "Mod-s", "Shift-S", "?", "F6": the names of KeyboardEvent, with Mod for Ctrl, or for Command on a Mac.
function matches(keys, event) {
  const wanted = keys.split(/-(?=.)/)
  const key = wanted.pop()
  const mod = mac ? event.metaKey : event.ctrlKey
  if (wanted.includes("Mod") !== mod || (mac ? event.ctrlKey : event.metaKey) || event.altKey) return false
  if (wanted.includes("Shift") && !event.shiftKey) return false
  return event.key === key || (wanted.includes("Mod") && event.key.toLowerCase() === key.toLowerCase())
}

export function listen() {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return
    const busy = typing(event.target)
    for (const [, entries] of groups) {
      for (const [keys, , work] of entries) {
        const found = work && keys.split(" ").find((name) => matches(name, event))
        if (!found) continue
        const everywhere = found.startsWith("Mod-") || /^F\d+$/.test(found)
        if (busy && !everywhere) continue
        event.preventDefault()
        work(event)
        return
      }
    }
  })
}

const labels = (keys) => keys.split(" ").map((name, at) => [at ? " or " : null, ...name.split(/-(?=.)/).flatMap((key, place) => [
  place ? " " : null, make("kbd", {}, {Mod: mac ? "⌘" : "Ctrl", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓"}[key] ?? key),
])]).flat()

export function help() {
  dialog("Keys", make("div", {class: "keys"}, groups.map(([title, entries]) => make("section", {}, make("h3", {}, title),
    make("dl", {}, entries.map(([keys, words]) => make("div", {}, make("dt", {}, ...labels(keys).filter(Boolean)), make("dd", {}, words)))))),
  ), [], {wide: true})
}
