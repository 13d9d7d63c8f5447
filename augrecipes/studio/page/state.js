// The shared state of the page: the recipe as last checked, the settings, and events about both.

import {localStore, tabStore} from "./session.js"

const bus = new EventTarget()
export const announce = (name, detail) => bus.dispatchEvent(new CustomEvent(name, {detail}))
export const on = (name, listener) => bus.addEventListener(name, (event) => listener(event.detail))

const DEFAULTS = {
  view: "draws", seed: 0, epoch: 0, epochs: 3, first: 0, samples: 6, size: innerWidth >= 1700 ? 192 : innerWidth > 480 ? 128 : 96, optimize: "",
  masks: true, boxes: true, keypoints: true, labels: true, index: 0, at: 0, tiles: "", turns: true,
}
export const settings = {...DEFAULTS, ...tabStore.get("settings", {})}

export function change(values) {
  const changed = Object.keys(values).filter((key) => settings[key] !== values[key])
  if (!changed.length) return
  Object.assign(settings, values)
  tabStore.set("settings", settings)
  announce("settings", changed)
}

// A single column, as on a phone: the same width as in studio.css.
export const narrow = matchMedia("(max-width: 860px)")

// Light or dark: chosen here, or by the system.
export const themes = ["auto", "light", "dark"]
export function theme(chosen = localStore.get("theme", "auto")) {
  localStore.set("theme", chosen)
  if (chosen === "auto") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
  announce("theme", chosen)
  return chosen
}

// The recipe: `text` in the editor, `good`, the last text without an error, and the results of the check.
export const recipe = {
  text: "", good: null, path: null, sha: null, saved: "", readOnly: false, problems: [], steps: [], resolved: null, kind: null, name: null,
}
export const source = {kind: "images", count: 0, names: [], turns: [], demo: true}
export const schema = {steps: {}, top: {}}

// Steps that are switched off, and forced probabilities: they affect the images, not the text.
export const switches = {off: new Set(), force: new Map()}
export const switchCount = () => switches.off.size + switches.force.size

export function flip(work) {
  work(switches)
  announce("switches")
}

// The common part of a request for images: the recipe, and which draws of it.
export const drawRequest = (extra = {}) => ({
  text: recipe.good ?? recipe.text, optimize: settings.optimize || null, seed: settings.seed,
  off: [...switches.off], force: Object.fromEntries(switches.force), ...tileChoice(), ...extra,
})

// The tile numbers in a text such as "3, 7, 20-25". Without any, evenly spaced tiles are shown.
export function parseTiles(words) {
  const found = new Set()
  for (const [, from, to] of words.matchAll(/(\d{1,7})(?:\s*[-–]\s*(\d{1,7}))?/g)) {
    for (let tile = Number(from); tile <= Number(to ?? from) && found.size < 64; tile++) found.add(tile)
  }
  return [...found]
}

export function tileChoice() {
  const tiles = source.kind === "bags" ? parseTiles(settings.tiles) : []
  return tiles.length ? {chosen: tiles} : {}
}

// Shows a line at the bottom of the page, which screen readers speak.
export function say(text) {
  document.getElementById("spoken").textContent = text
}

export function unsay(text) {
  const line = document.getElementById("spoken")
  if (line.textContent === text) line.textContent = ""
}
