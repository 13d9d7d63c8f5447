// Completion and explanations of names, from the schema of the server.

import {make} from "./dom.js"
import {placeAt, wordAt} from "./place.js"
import {schema} from "./state.js"
import {forEachDiagnostic} from "./vendor/codemirror.js"

const LISTS_OF_STEPS = new Set(["steps", "eval", "degrade", "shared", "each"])
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value)?.replaceAll(",", ", ").replaceAll('"', "") ?? "")

const stepOf = (keys) => [...keys].reverse().find((key) => schema.steps[key])

// The names that are allowed at a place: {name: {doc, ...}}.
function namesUnder(keys) {
  const owner = keys.at(-1)
  if (owner === undefined) return schema.top
  if (schema.steps[owner]) return {...schema.steps[owner].arguments, ...schema.step_keys, ...(schema.steps[owner].group ? {steps: {type: "list", doc: "The steps to choose from, or to run."}} : {})}
  let known = schema.top
  for (const key of keys) known = known?.[key]?.keys ?? {}
  return known
}

function knownValue(keys) {
  const name = keys.at(-1)
  const owner = keys.at(-2)
  if (owner && schema.steps[owner]) return ({...schema.step_keys, ...schema.steps[owner].arguments})[name]
  return namesUnder(keys.slice(0, -1))[name]
}

const allowedValues = (known) => {
  if (!known) return ""
  const parts = []
  if (known.choices?.length) parts.push(known.choices.map(asText).join(" | "))
  else if (known.names) parts.push(`${known.one_number ? "number, or " : ""}[${known.names.join("; ")}]`)
  else if (known.two_ended) parts.push(known.one_number ? "number, or [min, max]" : "[min, max]")
  else if (known.type && known.type !== "any") parts.push(known.type)
  if (known.default !== undefined && known.default !== null) parts.push(`default ${asText(known.default)}`)
  return parts.join("; ")
}

// A card about a name: its allowed values, and the first sentence of its docstring or, if `whole`, all of it.
export function explanation(title, known, whole = false) {
  const doc = ((whole ? known.doc : known.first_line ?? known.doc) ?? "").trim()
  return make("div", {class: "explained"}, make("strong", {}, title),
    allowedValues(known) ? make("div", {class: "allowed"}, allowedValues(known)) : null,
    doc ? make("div", {class: "doc"}, doc) : null)
}

const steps = () => Object.entries(schema.steps).map(([name, known]) => ({
  label: name, type: "class", detail: known.first_line ?? "", info: () => explanation(name, known),
}))

const names = (known) => Object.entries(known).map(([name, about]) => ({
  label: name, type: "property", detail: allowedValues(about), apply: `${name}: `, info: () => explanation(name, about),
}))

const values = (known) => {
  const all = known.choices?.length ? known.choices : known.type === "boolean" ? [true, false] : []
  return all.map((value) => ({label: asText(value), type: "constant"}))
}

export function complete(context) {
  const {state, pos, explicit} = context
  const place = placeAt(state, pos)
  if (!explicit && !place.word) return null
  let options = []
  const owner = place.keys.at(-1)
  if (place.role === "item" && LISTS_OF_STEPS.has(owner)) options = steps()
  else if (place.role === "value") options = LISTS_OF_STEPS.has(owner) ? [] : values(knownValue(place.keys) ?? {})
  else if (place.role === "item") options = values(knownValue(place.keys) ?? {})
  else options = names(namesUnder(place.keys))
  return options.length ? {from: place.from, options, validFor: /^[\w.-]*$/} : null
}

const edges = ({left, right}) => ({left, right})
const NEAR = 160 // px

// Cards and lists must stay inside the editor, so that they do not cover the buttons around it.
export const tooltipRoom = (view) => view.scrollDOM.getBoundingClientRect()

// Top and bottom, in the document, of the lines that a card must not cover: its own, and that of the cursor.
function freeSpan(view, position) {
  const about = view.lineBlockAt(position)
  const used = view.hasFocus ? view.lineBlockAt(view.state.selection.main.head) : about
  const both = Math.abs(used.top - about.top) < NEAR ? [about, used] : [about]
  return [Math.min(...both.map((line) => line.top)), Math.max(...both.map((line) => line.bottom))]
}

// Explains the word under the pointer, unless a problem there has a card.
export function hoverCard(view, position) {
  const found = wordAt(view.state, position)
  let problem = false
  forEachDiagnostic(view.state, (_, from, to) => {
    problem ||= from <= position && position <= to
  })
  if (!found || problem || view.dom.hasAttribute("data-typing")) return null
  const {word, keys, from, to} = found
  const above = keys.at(-1) === word ? keys.slice(0, -1) : keys
  let known = schema.steps[word]
  let title = word
  if (!known) {
    const owner = stepOf(above)
    known = namesUnder(above.slice(0, above.lastIndexOf(owner) + 1 || above.length))[word]
    title = owner && known ? `${owner}.${word}` : word
  }
  if (!known) return null
  const [top, bottom] = freeSpan(view, from)
  const room = tooltipRoom(view)
  const getCoords = (at) => ({...edges(view.coordsAtPos(at)), top: view.documentTop + top, bottom: view.documentTop + bottom})
  const up = view.documentTop + top - room.top > room.bottom - view.documentTop - bottom
  return {pos: from, end: to, above: up, create: () => ({dom: explanation(title, known), getCoords})}
}
