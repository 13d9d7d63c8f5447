// The view A/B: two recipes or settings on the same sample and draws, with their difference as an image and in words.

import {chooser} from "./chooser.js"
import {choice, fill, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {Picture} from "./picture.js"
import {ask} from "./server.js"
import {announce, tileChoice, on, recipe, say, settings} from "./state.js"

let pinned = null
let other = "saved"
let optimisers = {a: "", b: ""}
let gallery = []
let drawing = null
let select = null
let wipe = null
let words = null
let figures = null
let mode = "wipe"
let caption = null
const pictures = {a: null, b: null, difference: null}

export const view = {name: "compare", title: "A/B", sample: true, build, refresh, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true)}

const SPEEDS = [["", "as written"], ["none", "none"], ["exact", "exact"], ["fast", "fast"]]

function build(element) {
  for (const side of Object.keys(pictures)) pictures[side] = new Picture()
  drawing = new Drawing()
  select = make("select", {"aria-label": "B, the other recipe", onchange: () => {
    other = select.value
    refresh()
  }})
  const optimise = (side) => make("select", {"aria-label": `Optimiser of ${side.toUpperCase()}`, onchange: (event) => {
    optimisers[side] = event.target.value
    refresh()
  }}, SPEEDS.map(([value, text]) => make("option", {value}, text)))
  const slider = make("input", {type: "range", min: 0, max: 100, value: 50, step: "any", class: "wiper", "aria-label": "How much of A is shown over B, in percent", oninput: () => wipe.style.setProperty("--cut", `${slider.value}%`)})
  wipe = make("div", {class: "wipe"}, make("div", {class: "b"}, pictures.b.element), make("div", {class: "a"}, pictures.a.element), make("span", {class: "edge"}),
    make("span", {class: "letter left"}, "A"), make("span", {class: "letter right"}, "B"), slider)
  words = make("div", {class: "said"})
  figures = make("div", {class: "figures"})
  fill(element,
    make("div", {class: "bar"}, chooser(), make("span", {class: "side-of"}, make("b", {class: "letter"}, "A"), "the editor", optimise("a")),
      make("span", {class: "side-of"}, make("b", {class: "letter"}, "B"), select, optimise("b")),
      make("button", {type: "button", title: "Keep the recipe as it is now, as B (p)", onclick: pin}, "Pin as B"),
      choice("How to compare", [["wipe", "Slide"], ["both", "Side by side"]], mode, (value) => {
        mode = value
        arrange()
      })),
    drawing.place, drawing.trouble, make("div", {class: "scroll"}, make("div", {class: "versus"}, figures, words)))
  options()
  arrange()
  on("gallery", (entries) => {
    gallery = entries
    options()
  })
}

function options() {
  const all = [["saved", recipe.path ? "the file as saved" : "the recipe as opened"], ["same", "the same recipe"]]
  if (pinned) all.splice(1, 0, ["pinned", `as pinned at ${pinned.at}`])
  const entry = ([value, text]) => make("option", {value, selected: value === other}, text)
  fill(select, all.map(entry), gallery.length ? make("optgroup", {label: "Gallery"}, gallery.map(({name}) => entry([`gallery ${name}`, name]))) : null)
}

function arrange() {
  caption = make("span", {}, "difference")
  const figure = (side, title) => make("figure", {}, side, make("figcaption", {}, title))
  if (mode === "wipe") {
    wipe.querySelector(".a").replaceChildren(pictures.a.element)
    wipe.querySelector(".b").replaceChildren(pictures.b.element)
    fill(figures, figure(wipe, "A left of the handle, B right of it"), figure(pictures.difference.element, caption))
  } else {
    fill(figures, figure(pictures.a.element, "A"), figure(pictures.b.element, "B"), figure(pictures.difference.element, caption))
  }
  figures.dataset.mode = mode
}

export function pin() {
  pinned = {text: recipe.good ?? recipe.text, at: new Date().toLocaleTimeString()}
  other = "pinned"
  options()
  say("Pinned as B")
  if (settings.view === "compare") refresh()
  else announce("view", "compare")
}

const textOf = () => {
  if (other === "pinned") return pinned.text
  if (other === "same") return recipe.good
  if (other.startsWith("gallery ")) return gallery.find(({name}) => name === other.slice("gallery ".length))?.text ?? recipe.good
  return recipe.saved
}

export function refresh() {
  if (recipe.good === null) return
  options()
  drawing.start(async (signal) => {
    drawing.trouble.hidden = true
    const answer = await ask("POST", "api/compare", {
      a: {text: recipe.good, optimize: optimisers.a || null}, b: {text: textOf(), optimize: optimisers.b || null},
      index: settings.index, epoch: settings.at, seed: settings.seed, ...tileChoice(),
    }, signal)
    for (const side of Object.keys(pictures)) {
      const image = answer[side]
      pictures[side].element.hidden = !image
      if (image) pictures[side].show({...(typeof image === "string" ? {url: image, ...(answer.size ?? {})} : image), words: side === "difference" ? "difference of A and B" : side.toUpperCase()})
    }
    fill(caption, answer.largest === 0 ? "no difference" : answer.difference ? `difference${answer.times > 1 ? `, ${answer.times} times as strong` : ""}` : "of different sizes: no difference image")
    const lines = [answer.words ?? []].flat()
    const equal = answer.largest === 0
    fill(words,
      answer.largest === undefined || answer.largest === null ? null : make("p", {class: equal ? "verdict good" : "verdict"}, equal ? icon("done") : null,
        equal ? "Bit-exact on this sample." : `Largest difference ${figure(answer.largest)} of 255 levels, mean ${figure(answer.mean)}.`),
      lines.length ? make("ul", {class: "words"}, lines.map((line) => make("li", {}, line))) : make("p", {class: "quiet-words"}, "The recipes do the same."))
  })
}

const figure = (number) => (Number.isFinite(number) ? Number(number.toPrecision(3)) : "–")
