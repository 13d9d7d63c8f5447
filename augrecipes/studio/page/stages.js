// The view of stages: a sample after each step, the draws of the step in words, and switches for the steps.

import {notice} from "./dialog.js"
import {choice, fill, make} from "./dom.js"
import {chooser} from "./chooser.js"
import {Drawing} from "./drawing.js"
import * as editor from "./editor.js"
import {Picture} from "./picture.js"
import {ask, stream} from "./server.js"
import {drawRequest, flip, on, recipe, say, settings, switchCount, switches} from "./state.js"

let list = null
let drawing = null
let reset = null
const cards = []

export const view = {name: "stages", title: "Stages", sample: true, build, refresh, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true)}

function build(element) {
  drawing = new Drawing()
  list = make("ol", {class: "stage-cards", "aria-label": "Steps, in turn"})
  reset = make("button", {type: "button", class: "quiet", hidden: true, onclick: () => flip((all) => {
    all.off.clear()
    all.force.clear()
  })}, "All steps as written")
  fill(element, make("div", {class: "bar"}, chooser(), make("span", {class: "quiet-words"}, "Switches only affect these images, until you write them into the recipe."), reset),
    drawing.place, drawing.trouble, make("div", {class: "scroll"}, list))
  on("switches", () => {
    reset.hidden = switchCount() === 0
  })
}

export function refresh() {
  if (recipe.good === null) return
  drawing.start(async (signal) => {
    let count = 0
    const begun = performance.now()
    drawing.trouble.hidden = true
    await stream("api/stages", drawRequest({index: settings.index, epoch: settings.at, size: 360}), (line) => {
      if (line.done) return
      if (line.error && line.path === undefined) throw new Error(line.error.message)
      receive(line, count++)
    }, signal)
    while (cards.length > count) cards.pop().element.remove()
    say(`${count} stages in ${Math.round(performance.now() - begun)} ms`)
  })
}

function receive(line, at) {
  const card = cards[at] ?? newCard(at)
  const off = switches.off.has(line.path)
  card.element.dataset.off = off || line.on === false
  card.element.dataset.idle = line.applied === false
  fill(card.number, line.path === null ? "" : String(at))
  fill(card.name, line.path === null ? {source: "Input", output: "Output"}[line.name] ?? line.name : line.name)
  const words = [line.words ?? []].flat().filter(Boolean)
  fill(card.words, off ? "switched off" : line.error ? line.error.message : words.length ? words.join(", ") : line.applied === false ? "did not act" : "")
  if (line.url) card.picture.show({...line, words: `after ${line.name}`})
  card.picture.element.hidden = !line.url
  if (card.path !== line.path || card.wasOff !== off || card.forced !== switches.force.get(line.path)) controls(card, line, off)
}

function newCard(at) {
  const card = {
    picture: new Picture(), number: make("span", {class: "index"}), name: make("h3"), words: make("p", {class: "words"}),
    controls: make("div", {class: "controls"}), path: undefined,
  }
  card.element = make("li", {class: "stage-card"}, make("header", {}, card.number, card.name), make("div", {class: "frame"}, card.picture.element), card.words, card.controls)
  cards[at] = card
  list.append(card.element)
  return card
}

function controls(card, line, off) {
  Object.assign(card, {path: line.path, wasOff: off, forced: switches.force.get(line.path)})
  if (line.path === null || line.baked) return void fill(card.controls)
  const force = switches.force.get(line.path)
  const probability = choice(`Probability of ${line.name}`, [
    ["written", line.p === undefined || line.p === null ? "p" : `p ${line.p}`, "As the recipe says"], ["0", "never", "p forced to 0"], ["1", "always", "p forced to 1"],
  ], force === undefined ? "written" : String(force), (chosen) => flip((all) => (chosen === "written" ? all.force.delete(line.path) : all.force.set(line.path, Number(chosen)))))
  fill(card.controls,
    make("button", {type: "button", class: "switch", role: "switch", "aria-checked": String(!off), "aria-label": `${line.name} is on`,
      onclick: () => flip((all) => (off ? all.off.delete(line.path) : all.off.add(line.path)))}, make("span", {}), off ? "off" : "on"),
    probability,
    off || force !== undefined ? make("button", {type: "button", class: "quiet", title: "Write this setting into the recipe", onclick: () => write(line.path, off, force)}, "Write it") : null)
}

async function write(path, off, force) {
  try {
    const answer = await ask("POST", "api/slide", {text: recipe.text, path, argument: "p", value: off ? 0 : force})
    flip((all) => {
      all.off.delete(path)
      all.force.delete(path)
    })
    editor.put(answer.text, {event: "input.switch"})
  } catch (error) {
    notice(error.message, {kind: "bad"})
  }
}
