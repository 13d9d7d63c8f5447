// What every part of the page may know: the recipe as it was last checked, the settings, and news of both.

import {lasting, passing} from "./session.js"

const bus = new EventTarget()
export const announce = (name, detail) => bus.dispatchEvent(new CustomEvent(name, {detail}))
export const on = (name, hear) => bus.addEventListener(name, (event) => hear(event.detail))

const DEFAULTS = {
  view: "draws", seed: 0, epoch: 0, epochs: 3, first: 0, samples: 6, size: innerWidth >= 1700 ? 192 : innerWidth > 480 ? 128 : 96, optimize: "",
  masks: true, boxes: true, keypoints: true, labels: true, index: 0, at: 0, tiles: "", turns: true,
}
export const settings = {...DEFAULTS, ...passing.get("settings", {})}

export function change(values) {
  const changed = Object.keys(values).filter((key) => settings[key] !== values[key])
  if (!changed.length) return
  Object.assign(settings, values)
  passing.set("settings", settings)
  announce("settings", changed)
}

// One column, as on a phone: the same width as in studio.css.
export const narrow = matchMedia("(max-width: 860px)")

// Light or dark as the system says, or as was chosen here.
export const themes = ["auto", "light", "dark"]
export function theme(chosen = lasting.get("theme", "auto")) {
  lasting.set("theme", chosen)
  if (chosen === "auto") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
  announce("theme", chosen)
  return chosen
}

// The recipe: `text` as it stands in the editor, `good` as it stood when it last had no error, and what a check said.
export const recipe = {
  text: "", good: null, path: null, sha: null, saved: "", readOnly: false, problems: [], steps: [], resolved: null, kind: null, name: null,
}
export const source = {kind: "images", count: 0, names: [], turns: [], demo: true}
export const schema = {steps: {}, top: {}}

// Steps that are switched off, and probabilities that are forced: they hold for the images, not for the text.
export const switches = {off: new Set(), force: new Map()}
export const switched = () => switches.off.size + switches.force.size

export function flip(work) {
  work(switches)
  announce("switches")
}

// What a request for images says of the recipe and of which draws it wants.
export const asked = (extra = {}) => ({
  text: recipe.good ?? recipe.text, optimize: settings.optimize || null, seed: settings.seed,
  off: [...switches.off], force: Object.fromEntries(switches.force), ...chosen(), ...extra,
})

// Tiles of a bag by their numbers, as they are written: "3, 7, 20-25". Without any, some that lie evenly apart are shown.
export function tilesOf(words) {
  const found = new Set()
  for (const [, from, to] of words.matchAll(/(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?/g)) {
    for (let tile = Number(from); tile <= Number(to ?? from) && found.size < 64; tile++) found.add(tile)
  }
  return [...found]
}

export function chosen() {
  const tiles = source.kind === "bags" ? tilesOf(settings.tiles) : []
  return tiles.length ? {chosen: tiles} : {}
}

// One line that screen readers speak, and that stands in the foot of the page.
export function say(text) {
  document.getElementById("spoken").textContent = text
}

export function unsay(text) {
  const line = document.getElementById("spoken")
  if (line.textContent === text) line.textContent = ""
}
