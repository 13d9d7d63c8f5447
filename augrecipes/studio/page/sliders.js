// The step under the cursor: its arguments as sliders, switches and lists. Moving one rewrites the recipe in place.

import {notice} from "./dialog.js"
import {fill, find, make} from "./dom.js"
import * as editor from "./editor.js"
import {explanation} from "./language.js"
import {Picture} from "./picture.js"
import {fields, range} from "./range.js"
import {ask, Away, wasStopped} from "./server.js"
import {asked, on, recipe, schema, settings} from "./state.js"

let path = null
let rows = []
let signature = ""
let unfolded = false

const before = (one, other) => one[0] < other[0] || (one[0] === other[0] && one[1] <= other[1])

// The innermost step that holds the cursor; on a line of no step, the one before it.
export function stepAt(place, steps = recipe.steps) {
  let found = null
  for (const step of steps) {
    if (!before(step.from, place)) continue
    if (before(place, step.to) || !found) found = step
    else if (!before(place, found.to)) found = step
  }
  return found
}

export function watch() {
  on("cursor", show)
  on("checked", () => show(editor.cursor()))
  on("schema", () => show(editor.cursor()))
}

function show(place) {
  const step = stepAt(place)
  const known = step && schema.steps[step.name]
  const panel = find("#step")
  panel.hidden = !step
  if (!step) return void (path = null)
  const written = step.arguments ?? {}
  const all = {...known?.arguments, ...schema.step_keys}
  const names = [...Object.keys(written), ...Object.keys(known?.arguments ?? {}).filter((name) => !(name in written))]
  const next = `${step.path} ${step.name} ${names.map((name) => `${name}:${name in written}:${shapeOf(name, step, all[name])}`).join(" ")}`
  path = step.path
  if (next === signature && rows.every((row) => row.update(step))) return
  if (rows.some((row) => row.holds()) && next.split(" ")[0] === signature.split(" ")[0] && rows.every((row) => row.update(step))) return
  signature = next
  const held = document.activeElement?.getAttribute("aria-label")
  const within = panel.contains(document.activeElement)
  fill(find("#step-name"), step.name)
  find("#step-name").title = known?.first_line ?? ""
  rows = names.map((name) => row(name, step, all[name] ?? {type: "any"}))
  const [here, rest] = [true, false].map((is) => rows.filter((one) => one.written === is).map((one) => one.element))
  const more = rest.length ? make("details", {open: !here.length || unfolded}, make("summary", {}, here.length ? `${rest.length} more, at their defaults` : "Arguments, at their defaults"), ...rest) : null
  more?.addEventListener("toggle", () => {
    if (here.length) unfolded = more.open
  })
  fill(find("#step-arguments"), here, more)
  fill(find("#extremes"))
  if (within && held) [...panel.querySelectorAll("input, select, button")].find((one) => one.getAttribute("aria-label") === held)?.focus()
}

const valueOf = (name, step, known) => (name in (step.arguments ?? {}) ? step.arguments[name].value : known?.default)

// The numbers that a slider shows: one, or two ends; null where it is no number.
function numbersOf(name, step, known) {
  const value = valueOf(name, step, known)
  const ends = step.arguments?.[name]?.ends ?? known?.ends
  if (known?.two_ended) {
    if (Array.isArray(ends) && ends.length === 2 && ends.every(Number.isFinite)) return ends
    if (Array.isArray(value) && value.length === 2 && value.every(Number.isFinite)) return value
    if (Number.isFinite(value)) return known.type === "pair" ? [value, value] : [known.min < 0 ? -value : 0, value]
    return null
  }
  return Number.isFinite(value) ? [value] : null
}

function shapeOf(name, step, known = {type: "any"}) {
  if (known.choices?.length) return "choice"
  if (known.type === "boolean") return "boolean"
  if (["number", "integer", "range", "pair"].includes(known.type)) {
    const numbers = numbersOf(name, step, known)
    if (numbers) return known.type === "pair" ? "pair" : `range${numbers.length}`
  }
  return "text"
}

function row(name, step, known) {
  const shape = shapeOf(name, step, known)
  const written = name in (step.arguments ?? {})
  let control
  let update = () => true
  if (shape === "pair" || shape.startsWith("range")) {
    control = (shape === "pair" ? fields : range)(name, numbersOf(name, step, known), known, (value) => slide(name, value))
    update = (next) => {
      const numbers = numbersOf(name, next, known)
      return numbers ? control.holds() || control.show(numbers) : false
    }
  } else if (shape === "choice") {
    const now = JSON.stringify(valueOf(name, step, known))
    const options = known.choices.map((one) => make("option", {value: JSON.stringify(one), selected: JSON.stringify(one) === now}, String(one)))
    if (!known.choices.some((one) => JSON.stringify(one) === now)) options.unshift(make("option", {value: now ?? "null", selected: true}, now ?? "—"))
    control = make("select", {"aria-label": name, onchange: () => slide(name, JSON.parse(control.value))}, options)
    update = (next) => JSON.stringify(valueOf(name, next, known)) === control.value
  } else if (shape === "boolean") {
    const box = make("input", {type: "checkbox", "aria-label": name, checked: Boolean(valueOf(name, step, known)), onchange: () => slide(name, box.checked)})
    control = make("label", {class: "check"}, box)
    update = (next) => {
      box.checked = Boolean(valueOf(name, next, known))
      return true
    }
  } else {
    const value = valueOf(name, step, known)
    const now = JSON.stringify(value)
    control = make("button", {type: "button", class: "value", title: written ? "Edit it in the recipe" : "Not written: this is its default",
      disabled: !written, onclick: () => editor.go(step.arguments[name].from)}, value === undefined || value === null ? "—" : now.replaceAll(",", ", ").replaceAll('"', ""))
    update = (next) => JSON.stringify(valueOf(name, next, known)) === now
  }
  const label = make("span", {class: "argument", title: known.doc ?? "", "aria-hidden": "true"}, name)
  const undo = written && known.default !== undefined
    ? make("button", {type: "button", class: "bare default", "aria-label": `${name}: back to its default`, title: "Back to its default", onclick: () => slide(name, null)}, "×") : make("span")
  const element = make("div", {class: "row", "data-argument": name, "data-written": written}, label, control, undo)
  return {element, written, update, holds: () => element.contains(document.activeElement)}
}

let sending = false
let waiting = null

// One rewriting at a time; of those that come meanwhile, the newest.
async function slide(argument, value) {
  waiting = {argument, value, path}
  if (sending) return
  sending = true
  try {
    while (waiting) {
      const body = {text: editor.text(), ...waiting}
      waiting = null
      const answer = await ask("POST", "api/slide", body)
      if (editor.text() === body.text) editor.put(answer.text, {event: "input.type.slide", alone: false})
    }
  } catch (error) {
    if (!wasStopped(error)) notice(error instanceof Away ? "The server does not answer: the slider changes nothing." : error.message, {name: "slide", kind: "bad"})
  } finally {
    sending = false
  }
}

export function explainStep() {
  const step = stepAt(editor.cursor())
  return step && schema.steps[step.name] ? explanation(step.name, schema.steps[step.name], true) : null
}

// The least and the most that the step can do to the sample that is looked at.
export async function extremes() {
  if (!path) return
  const place = find("#extremes")
  fill(place, make("span", {class: "quiet-words"}, "Drawing…"))
  try {
    const answer = await ask("POST", "api/extremes", asked({path, index: settings.index, epoch: settings.at}))
    fill(place, ["least", "most"].map((which) => {
      const picture = new Picture()
      picture.show({...answer[which], words: `${which}: ${[answer[which].words].flat().join(", ")}`})
      return make("figure", {}, picture.element, make("figcaption", {}, make("b", {}, `${which} `), [answer[which].words ?? []].flat().join(", ")))
    }))
  } catch (error) {
    fill(place, make("span", {class: "trouble"}, error.message))
  }
}
