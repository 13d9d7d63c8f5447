// One large sample, pixel by pixel as a pipeline returns it, with the line of Python that draws it.

import {copy} from "./dialog.js"
import {choice, fill, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {Picture, sceneOf} from "./picture.js"
import {stream} from "./server.js"
import {announce, drawRequest, change, narrow, source} from "./state.js"

let root = null
let stage = null
let side = null
let head = null
let drawing = null
let now = null // {index, epoch, line, pictures}
let back = null
let fit = "fit"

export function build() {
  drawing = new Drawing()
  drawing.failed = (error) => fill(stage, make("p", {class: "trouble", role: "alert"}, error.message))
  head = make("h3", {tabindex: -1})
  stage = make("div", {class: "stage"})
  side = make("div", {class: "side"})
  const go = (label, shape, by, what) => make("button", {type: "button", class: "bare", "aria-label": label, title: label, onclick: () => move(by, what)}, icon(shape))
  root = make("section", {class: "large", hidden: true, "aria-label": "One sample, large"},
    make("div", {class: "bar"},
      make("button", {type: "button", onclick: close}, icon("left"), "All draws"), head,
      make("span", {class: "pair"}, "Sample", go("The previous sample (Left)", "left", -1, "index"), go("The next sample (Right)", "right", 1, "index")),
      make("span", {class: "pair"}, "Epoch", go("The previous epoch (Up)", "left", -1, "epoch"), go("The next epoch (Down)", "right", 1, "epoch")),
      choice("Scale", [["fit", "Fit", "As large as fits"], ["1", "1:1", "One pixel of the image is one pixel of the screen"], ["4", "4:1", "Four times as large"]], "fit", (chosen) => {
        fit = chosen
        stage.dataset.fit = chosen
        scale()
      }),
      make("button", {type: "button", onclick: () => announce("view", "stages")}, "Its stages")),
    drawing.place, make("div", {class: "together"}, stage, side))
  root.addEventListener("keydown", (event) => {
    if (event.target.closest("input, [role=radiogroup], pre")) return
    const moves = {ArrowLeft: [-1, "index"], ArrowRight: [1, "index"], ArrowUp: [-1, "epoch"], ArrowDown: [1, "epoch"]}[event.key]
    if (event.key === "Escape") close()
    else if (moves) move(...moves)
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  return root
}

export const isOpen = () => Boolean(now)
export const python = () => now?.line?.python ?? null

export function open(line, index, epoch) {
  back = document.activeElement
  now = {index, epoch, line, pictures: []}
  change({index, at: epoch})
  root.hidden = false
  root.parentElement.classList.add("one")
  head.focus()
  if (narrow.matches) root.scrollIntoView()
  refresh()
}

function close() {
  now = null
  drawing.stop()
  root.hidden = true
  root.parentElement.classList.remove("one")
  back?.focus()
}

function move(by, what) {
  const next = now[what] + by
  if (next < 0 || (what === "index" && next >= source.count)) return
  now[what] = next
  change({index: now.index, at: now.epoch})
  refresh()
}

export function refresh() {
  if (!now) return
  fill(head, `Sample ${now.index}, epoch ${now.epoch}`)
  drawing.start((signal) => stream("api/draws", drawRequest({indices: [now.index], epochs: [now.epoch], size: 0, source: source.kind === "pairs", tiles: 24}), receive, signal, " large"))
}

function receive(line) {
  if (line.done || !now || line.index !== now.index || line.epoch !== now.epoch) return
  now.line = line
  if (line.error) return void fill(stage, make("p", {class: "trouble", role: "alert"}, line.error.message))
  const plain = line.pictures
  while (now.pictures.length < plain.length) now.pictures.push(new Picture())
  now.pictures.splice(plain.length)
  const figures = now.pictures.map((picture, at) => {
    picture.show({...plain[at], words: `sample ${now.index}, epoch ${now.epoch}, ${plain[at].target}`})
    const {target, width, height} = plain[at]
    return make("figure", {}, picture.element, make("figcaption", {}, `${target}, ${width} × ${height}`))
  })
  const scene = sceneOf(plain[0])
  if (scene) {
    const whole = new Picture("the whole scene, with the window")
    whole.show({...scene, windows: [scene.window]})
    figures.push(make("figure", {class: "context"}, whole.element, make("figcaption", {}, "the whole scene")))
  }
  stage.dataset.count = figures.length > 2 ? "many" : figures.length
  fill(stage, figures)
  scale()
  const name = line.name ?? source.names[now.index] ?? ""
  fill(side,
    name ? make("p", {class: "name"}, name) : null,
    line.shown ? make("p", {}, line.shown) : null,
    line.words?.length ? make("div", {}, make("h4", {}, "What was drawn"), make("ul", {class: "words"}, [line.words].flat().map((words) => make("li", {}, words)))) : null,
    line.python ? make("div", {}, make("h4", {}, "The same in Python"), make("pre", {class: "python", tabindex: 0, "aria-label": "Python"}, line.python),
      make("button", {type: "button", onclick: () => copy(line.python, "the line of Python")}, icon("copy"), "Copy")) : null)
}

function scale() {
  for (const picture of now?.pictures ?? []) {
    const times = fit === "fit" ? 0 : Number(fit) / (fit === "1" ? devicePixelRatio || 1 : 1)
    picture.image.style.width = times ? `${picture.size[0] * times}px` : ""
    picture.image.style.maxWidth = times ? "none" : ""
    picture.image.style.maxHeight = times ? "none" : ""
  }
}
