// The view of draws: samples and epochs side by side, drawn when they are visible.

import {choice, counter, fill, find, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {Picture, sceneOf} from "./picture.js"
import {stream} from "./server.js"
import {drawRequest, change, narrow, on, recipe, say, settings, source} from "./state.js"
import * as large from "./sample.js"

const AT_ONCE = 24 // samples of a request, so that visible ones come first
const TILES = 12 // of a bag
const failures = new Map() // by kind of error: {message, count}
const strips = new Map() // by index: {element, cells: by epoch, scene, stale, visible}
let root = null
let grid = null
let drawing = null
let observer = null
let drawnCount = 0
let round = 0 // of the present refresh: requests of earlier ones may still run for a moment
let failureList = null

export const view = {name: "draws", title: "Draws", build, refresh, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true)}

function build(element) {
  root = element
  const samples = counter("Samples", settings.samples, {min: 1, max: 5000}, (samples) => change({samples}))
  const first = counter("from", settings.first, {}, (number) => change({first: number}))
  const epochs = counter("Epochs", settings.epochs, {min: 1, max: 50, width: 2}, (epochs) => change({epochs}))
  const size = choice("Size of the images", [[96, "S", "Small"], [128, "M", "Medium"], [192, "L", "Large"], [288, "XL", "Very large"]],
    settings.size, (size) => change({size}))
  const tiles = make("input", {type: "text", id: "tiles", size: 9, placeholder: "evenly", "aria-label": "Tiles of each bag by their numbers, such as 3, 7, 20-25; empty: some, evenly spaced",
    title: "Tiles by their numbers, such as 3, 7, 20-25; empty: some, evenly spaced", value: settings.tiles, onchange: () => change({tiles: tiles.value.trim()})})
  const bags = make("label", {class: "counter", hidden: true}, make("span", {class: "caption"}, "Tiles"), tiles)
  const overlays = [["masks", "Masks", "m"], ["boxes", "Boxes", "b"], ["keypoints", "Keypoints", "k"], ["labels", "Labels", "l"]].map(([name, words, key]) =>
    make("button", {type: "button", class: "toggle", "data-overlay": name, "aria-pressed": String(settings[name]), title: `${words} (${key})`, hidden: true,
      onclick: () => change({[name]: !settings[name]})}, words))
  const turns = make("button", {type: "button", class: "toggle", id: "turns", title: "Alternate between the classes (c); otherwise the order of the data", hidden: true,
    onclick: () => change({turns: !settings.turns})}, "Classes in turn")
  drawing = new Drawing()
  failureList = make("ul", {class: "trouble failures", role: "alert", hidden: true})
  grid = make("div", {class: "grid", role: "group", "aria-label": "Draws: samples, each in several epochs"})
  grid.addEventListener("keydown", moveFocus)
  fill(element, make("div", {class: "bar"}, samples, first, epochs, bags, size, make("span", {class: "overlays"}, turns, overlays)), drawing.place, drawing.trouble, failureList,
    make("div", {class: "scroll"}, grid), large.build())
  narrow.addEventListener("change", observe)
  observe()
  on("settings", () => {
    for (const button of overlays) button.setAttribute("aria-pressed", String(settings[button.dataset.overlay]))
    samples.show(settings.samples)
    first.show(settings.first)
    turns.setAttribute("aria-pressed", String(settings.turns))
    epochs.show(settings.epochs)
    size.show(settings.size)
  })
  on("source", () => {
    first.limit(Math.max(0, source.count - 1))
    bags.hidden = source.kind !== "bags"
    turns.hidden = !source.turns.length
    turns.setAttribute("aria-pressed", String(settings.turns))
    fill(grid)
    strips.clear()
  })
}

// Observes which strips are visible, in the view's own scroll area or, in one column, in the window.
function observe() {
  observer?.disconnect()
  observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const strip = strips.get(Number(entry.target.dataset.index))
      if (strip) strip.visible = entry.isIntersecting
    }
    drawVisible()
  }, {root: narrow.matches ? null : find(".scroll", root), rootMargin: "200px"})
  for (const {element} of strips.values()) observer.observe(element)
}

const epochsShown = () => Array.from({length: settings.epochs}, (_, at) => settings.epoch + at)

function indicesShown() {
  const from = Math.min(settings.first, Math.max(0, source.count - 1))
  const turns = settings.turns && source.turns.slice(from, from + settings.samples)
  if (turns && turns.length === Math.min(settings.samples, source.count - from)) return turns
  return Array.from({length: Math.min(settings.samples, source.count - from)}, (_, at) => from + at)
}

// Arranges strips and cells for the settings; old images stay until new ones arrive.
function arrange() {
  const indices = indicesShown()
  const epochs = epochsShown()
  grid.style.setProperty("--thumb", `${settings.size}px`)
  grid.style.setProperty("--epochs", epochs.length)
  grid.dataset.kind = source.kind
  for (const [index, strip] of strips) {
    if (indices.includes(index)) continue
    observer.unobserve(strip.element)
    strip.element.remove()
    strips.delete(index)
  }
  for (const [at, index] of indices.entries()) {
    const strip = strips.get(index) ?? newStrip(index)
    if (grid.children[at] !== strip.element) grid.insertBefore(strip.element, grid.children[at] ?? null)
    strip.stale = true
    const wanted = epochs.map((epoch, place) => {
      const cell = strip.cells[place] ?? newCell(strip, place)
      cell.epoch = epoch
      cell.element.dataset.stale = ""
      cell.element.dataset.epoch = epoch
      cell.element.setAttribute("aria-label", `${nameOf(index)}, epoch ${epoch}`)
      fill(cell.caption, `epoch ${epoch}`)
      return cell
    })
    strip.cells.splice(wanted.length)
    fill(strip.row, strip.scene?.element ?? null, wanted.map((cell) => cell.element))
  }
}

const nameOf = (index) => `sample ${index}${source.names[index] ? `, ${source.names[index]}` : ""}`

function newStrip(index) {
  const title = make("span", {class: "name", title: source.names[index] ?? ""}, source.names[index] ?? `sample ${index}`)
  const row = make("div", {class: "cells"})
  const words = make("div", {class: "shared", hidden: true})
  const element = make("section", {class: "strip", "data-index": index, "aria-label": nameOf(index)},
    make("header", {}, make("span", {class: "index"}, String(index)), title), row, words)
  const strip = {element, row, words, title, cells: [], scene: null, stale: true, visible: false}
  strips.set(index, strip)
  observer.observe(element)
  return strip
}

function newCell(strip, place) {
  const caption = make("span", {class: "epoch"})
  const frame = make("span", {class: "frame"})
  const element = make("button", {type: "button", class: "cell", onclick: () => large.open(cell.line, Number(strip.element.dataset.index), cell.epoch)}, frame, caption)
  const cell = {element, frame, caption, pictures: [], line: null, epoch: 0}
  strip.cells[place] = cell
  return cell
}

// Redraws, visible strips first.
export function refresh() {
  if (!source.count) return
  arrange()
  failures.clear()
  listFailures()
  large.refresh()
  drawnCount = 0
  round++
  drawing.start(request)
}

const staleStrips = () => indicesShown().map((index) => [index, strips.get(index)]).filter(([, strip]) => strip?.stale)

function drawVisible() {
  if (!drawing.running && !drawing.waiting && recipe.good !== null && staleStrips().some(([, strip]) => strip.visible)) drawing.start(request)
}

async function request(signal, progress) {
  await new Promise((resolve) => requestAnimationFrame(resolve)) // by then the observer has reported
  let next = staleStrips().filter(([, strip]) => strip.visible)
  if (!next.length) next = drawnCount ? [] : staleStrips().slice(0, 6)
  const indices = next.slice(0, AT_ONCE).map(([index]) => index)
  if (!indices.length) return
  const epochs = epochsShown()
  const mine = round
  const begun = performance.now()
  let count = 0
  drawing.trouble.hidden = true
  const dense = Math.ceil((devicePixelRatio || 1) * settings.size)
  await stream("api/draws", drawRequest({indices, epochs, size: dense, source: source.kind === "pairs", tiles: TILES}), (line) => {
    if (line.done) {
      if (mine === round) drawnCount += count
      const wall = Math.round(performance.now() - begun)
      say(`${count} ${count === 1 ? "draw" : "draws"} in ${wall} ms`)
      grid.dataset.drawn = String(drawnCount)
      return
    }
    if (line.error && line.index === undefined) throw new Error(line.error.message)
    count++
    receive(line, mine === round)
    progress(count, indices.length * epochs.length)
  }, signal)
  if (mine !== round) return // everything is old again, and the next request draws it
  for (const index of indices) if (strips.has(index)) strips.get(index).stale = false
  if (staleStrips().some(([, strip]) => strip.visible)) drawing.waiting ??= request
}

// Shows the toggle of an overlay once an image has it.
const CARRIES = {masks: "mask", boxes: "boxes", keypoints: "keypoints", labels: "labels"}
const showToggle = (name) => {
  const button = find(`[data-overlay="${name}"]`, root)
  if (button.hidden) button.hidden = false
}

function receive(line, current) {
  const strip = strips.get(line.index)
  const cell = strip?.cells.find(({epoch}) => epoch === line.epoch)
  if (!cell) return
  strip.title.textContent = line.name || strip.title.textContent // for the first samples it was known before
  cell.line = line
  if (current) delete cell.element.dataset.stale
  if (line.error) {
    cell.pictures = []
    fill(cell.frame, make("span", {class: "broken", title: line.error.message}, icon("error"), "fails"))
    const kind = (line.cause ?? line.error.message).replace(/[\d.]+/g, "#") // numbers such as sizes differ from image to image
    failures.set(kind, {message: failures.get(kind)?.message ?? line.error.message, count: (failures.get(kind)?.count ?? 0) + 1})
    return void listFailures()
  }
  const shown = line.pictures
  for (const {overlay = {}} of shown) for (const name of Object.keys(CARRIES)) if (overlay[CARRIES[name]]) showToggle(name)
  while (cell.pictures.length < shown.length) cell.pictures.push(new Picture())
  cell.pictures.splice(shown.length)
  cell.frame.dataset.count = shown.length > 2 ? "many" : shown.length
  for (const [at, picture] of cell.pictures.entries()) {
    const words = `${nameOf(line.index)}, epoch ${line.epoch}${shown.length > 1 ? `, ${shown[at].target}` : ""}`
    picture.show({...shown[at], words})
    picture.element.title = shown.length > 1 ? `${shown[at].target}${shown[at].tile === undefined ? "" : `, tile ${shown[at].tile}`}` : ""
  }
  fill(cell.frame, cell.pictures.map((picture) => picture.element), line.more > 0 ? make("span", {class: "rest"}, `and ${line.more} more`) : null)
  scene(strip, line)
  const words = source.kind === "bags" ? [line.words ?? [], line.shown ?? []].flat().join(", ") : ""
  if (words) {
    strip.words.hidden = false
    strip.epochWords = {...strip.epochWords, [line.epoch]: words}
    fill(strip.words, Object.entries(strip.epochWords).filter(([epoch]) => epochsShown().includes(Number(epoch)))
      .map(([epoch, text]) => make("div", {}, make("b", {}, `epoch ${epoch} `), text)))
  } else if (line.shown) {
    strip.words.hidden = false
    fill(strip.words, line.shown)
  }
}

// Lists each error once, with the number of draws that fail with it.
function listFailures() {
  failureList.hidden = !failures.size
  fill(failureList, [...failures.values()].map(({message, count}) =>
    make("li", {}, make("b", {}, count > 1 ? `${count} draws fail, the first: ` : "One draw fails: "), message)))
}

// Shows the whole scene of a pair, with the crop window of each epoch in its own colour.
function scene(strip, line) {
  const whole = sceneOf(line.pictures[0])
  if (!whole) return
  if (!strip.scene) {
    const picture = new Picture(`the whole scene of ${nameOf(line.index)}`)
    strip.scene = {picture, element: make("span", {class: "scene"}, make("span", {class: "frame"}, picture.element), make("span", {class: "epoch"}, "scene")), windows: {}}
    strip.row.prepend(strip.scene.element)
  }
  strip.scene.windows[line.epoch] = whole.window
  const windows = epochsShown().map((epoch) => strip.scene.windows[epoch])
  strip.scene.picture.show({...whole, windows})
}

// Arrow keys move the focus from image to image as they are placed on the page.
function moveFocus(event) {
  const cells = [...grid.querySelectorAll(".cell")]
  const at = cells.indexOf(document.activeElement)
  if (at < 0) return
  const sideways = {ArrowLeft: -1, ArrowRight: 1}[event.key]
  let next = sideways ? cells[at + sideways] : event.key === "Home" ? cells[0] : event.key === "End" ? cells.at(-1) : null
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const here = cells[at].getBoundingClientRect()
    const down = event.key === "ArrowDown" ? 1 : -1
    const distance = (cell) => {
      const box = cell.getBoundingClientRect()
      return (box.top - here.top) * down > 4 ? Math.abs(box.top - here.top) * 4 + Math.abs(box.left - here.left) : Infinity
    }
    next = cells.reduce((best, cell) => (distance(cell) < distance(best) ? cell : best), cells[at])
  }
  if (!next) return
  event.preventDefault()
  next.focus()
  next.scrollIntoView({block: "nearest"})
}

export const python = () => large.python() ?? [...strips.values()][0]?.cells[0]?.line?.python ?? null
