// The step at the cursor: its arguments as sliders, checkboxes and lists, which rewrite the recipe in place.

import {notice} from "./dialog.js"
import {fill, find, make} from "./dom.js"
import * as editor from "./editor.js"
import {explanation} from "./language.js"
import {Picture} from "./picture.js"
import {fields, range} from "./range.js"
import {ask, Unreachable, isAbort} from "./server.js"
import {drawRequest, on, recipe, schema, settings} from "./state.js"

let path = null
let rows = []
let signature = ""
let isUnfolded = false

const isBefore = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] <= b[1])

// The innermost step around the cursor; outside of steps, the one before it.
export function stepAt(place, steps = recipe.steps) {
  let found = null
  for (const step of steps) {
    if (!isBefore(step.from, place)) continue
    if (isBefore(place, step.to) || !found) found = step
    else if (!isBefore(place, found.to)) found = step
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
  if (rows.some((row) => row.hasFocus()) && next.split(" ")[0] === signature.split(" ")[0] && rows.every((row) => row.update(step))) return
  signature = next
  const label = document.activeElement?.getAttribute("aria-label")
  const hadFocus = panel.contains(document.activeElement)
  fill(find("#step-name"), step.name)
  find("#step-name").title = known?.first_line ?? ""
  rows = names.map((name) => row(name, step, all[name] ?? {type: "any"}))
  const [here, rest] = [true, false].map((is) => rows.filter((row) => row.written === is).map((row) => row.element))
  const more = rest.length ? make("details", {open: !here.length || isUnfolded}, make("summary", {}, here.length ? `${rest.length} more, at their defaults` : "Arguments, at their defaults"), ...rest) : null
  more?.addEventListener("toggle", () => {
    if (here.length) isUnfolded = more.open
  })
  fill(find("#step-arguments"), here, more)
  fill(find("#extremes"))
  if (hadFocus && label) [...panel.querySelectorAll("input, select, button")].find((control) => control.getAttribute("aria-label") === label)?.focus()
}

const valueOf = (name, step, known) => (name in (step.arguments ?? {}) ? step.arguments[name].value : known?.default)

// The numbers of a slider: one, or the two ends of a range; null if the value is not a number.
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
      return numbers ? control.hasFocus() || control.show(numbers) : false
    }
  } else if (shape === "choice") {
    const now = JSON.stringify(valueOf(name, step, known))
    const options = known.choices.map((choice) => make("option", {value: JSON.stringify(choice), selected: JSON.stringify(choice) === now}, String(choice)))
    if (!known.choices.some((choice) => JSON.stringify(choice) === now)) options.unshift(make("option", {value: now ?? "null", selected: true}, now ?? "—"))
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
    control = make("button", {type: "button", class: "value", title: written ? "Edit it in the recipe" : "Its default; write it in the recipe to change it",
      disabled: !written, onclick: () => editor.moveTo(step.arguments[name].from)}, value === undefined || value === null ? "—" : now.replaceAll(",", ", ").replaceAll('"', ""))
    update = (next) => JSON.stringify(valueOf(name, next, known)) === now
  }
  const label = make("span", {class: "argument", title: known.doc ?? "", "aria-hidden": "true"}, name)
  const undo = written && known.default !== undefined
    ? make("button", {type: "button", class: "bare default", "aria-label": `${name}: back to its default`, title: "Back to its default", onclick: () => slide(name, null)}, "×") : make("span")
  const element = make("div", {class: "row", "data-argument": name, "data-written": written}, label, control, undo)
  return {element, written, update, hasFocus: () => element.contains(document.activeElement)}
}

let sending = false
let waiting = null

// Sends one change at a time; of those that are made meanwhile, only the newest.
async function slide(argument, value) {
  waiting = {argument, value, path}
  if (sending) return
  sending = true
  try {
    while (waiting) {
      const body = {text: editor.text(), ...waiting}
      waiting = null
      const answer = await ask("POST", "api/slide", body)
      if (editor.text() === body.text) editor.put(answer.text, {event: "input.type.slide", ownUndoStep: false})
    }
  } catch (error) {
    if (!isAbort(error)) notice(error instanceof Unreachable ? "The server does not answer: the slider changes nothing." : error.message, {name: "slide", kind: "bad"})
  } finally {
    sending = false
  }
}

export function explainStep() {
  const step = stepAt(editor.cursor())
  return step && schema.steps[step.name] ? explanation(step.name, schema.steps[step.name], true) : null
}

// Shows the weakest and the strongest effect of the step on the present sample.
export async function extremes() {
  if (!path) return
  const place = find("#extremes")
  fill(place, make("span", {class: "quiet-words"}, "Drawing…"))
  try {
    const answer = await ask("POST", "api/extremes", drawRequest({path, index: settings.index, epoch: settings.at}))
    fill(place, ["least", "most"].map((which) => {
      const picture = new Picture()
      picture.show({...answer[which], words: `${which}: ${[answer[which].words].flat().join(", ")}`})
      return make("figure", {}, picture.element, make("figcaption", {}, make("b", {}, `${which} `), [answer[which].words ?? []].flat().join(", ")))
    }))
  } catch (error) {
    fill(place, make("span", {class: "trouble"}, error.message))
  }
}
