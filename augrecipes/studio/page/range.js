// Sliders: one handle, or two for a range, each with a number field that also accepts values outside of the slider.
// Fields for two numbers that are not a range.

import {make} from "./dom.js"

const shortNumber = (number) => Number(number.toPrecision(6))

// The step of a slider: a round number, about 1/200 of its length.
function stepSize({type, min, max, step}) {
  if (step) return step
  if (type === "integer") return 1
  const rough = (max - min) / 200
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough * 0.999)
}

// `values` has one number or two; `onMove(values, finished)` is called while they move, and once more at the end.
export function range(label, values, known, onMove) {
  const low = known.min ?? 0
  const high = Math.max(known.max ?? 1, ...(known.endless ? values.map((value) => 2 * value) : [])) // so that the written value is inside
  const step = stepSize({...known, min: low, max: high})
  const two = values.length === 2
  const whole = known.whole || known.type === "integer"
  let current = [...values]
  const labelOf = (at) => (two ? `${label}, ${at ? "most" : "least"}` : label)
  const handles = values.map((value, at) => make("input", {type: "range", min: low, max: high, step: "any", "aria-label": labelOf(at), value}))
  const numbers = values.map((value, at) => make("input", {
    type: "number", class: "number", step, "aria-label": `${labelOf(at)}, as a number`, value: shortNumber(value),
  }))
  const band = make("span", {class: "band"})
  const track = make("span", {class: `track ${two ? "two" : ""}`}, band, ...handles)
  const share = (value) => Math.min(1, Math.max(0, (value - low) / (high - low || 1)))
  const paint = () => {
    const [from, to] = two ? current : [low > 0 || high < 0 ? low : Math.min(0, current[0]), low > 0 || high < 0 ? current[0] : Math.max(0, current[0])]
    track.style.setProperty("--from", share(Math.min(from, to)))
    track.style.setProperty("--to", share(Math.max(from, to)))
  }
  const put = (at, value, finished, typed) => {
    current[at] = whole ? Math.round(value) : shortNumber(value)
    if (two && current[0] > current[1]) current[1 - at] = current[at] // one end moves the other
    for (const k of current.keys()) {
      handles[k].value = current[k]
      handles[k].setAttribute("aria-valuetext", String(current[k]))
      if (!(typed && k === at)) numbers[k].value = current[k]
    }
    paint()
    onMove(two ? [...current] : current[0], finished)
  }
  for (const [at, handle] of handles.entries()) {
    const snapped = () => low + Math.round((Number(handle.value) - low) / step) * step
    handle.addEventListener("input", () => put(at, snapped(), false))
    handle.addEventListener("change", () => put(at, snapped(), true))
    // With `step: any` keys would move by 1; they should move by a step, or by ten with Shift.
    handle.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key]
      if (!by) return
      event.preventDefault()
      put(at, Math.min(high, Math.max(low, current[at] + by * step * (event.shiftKey ? 10 : 1))), true)
    })
  }
  for (const [at, number] of numbers.entries()) {
    number.addEventListener("input", () => number.value !== "" && Number.isFinite(number.valueAsNumber) && put(at, number.valueAsNumber, true, true))
  }
  paint()
  const element = make("span", {class: "range"}, numbers[0], track, two ? numbers[1] : null)
  element.hasFocus = () => [...handles, ...numbers].includes(document.activeElement)
  element.show = (next) => {
    if (JSON.stringify(next) === JSON.stringify(current) || next.length !== current.length) return next.length === current.length
    current = [...next]
    for (const k of current.keys()) {
      handles[k].value = current[k]
      if (document.activeElement !== numbers[k]) numbers[k].value = shortNumber(current[k])
    }
    paint()
    return true
  }
  return element
}

// Two numbers that are not a range, such as a height and a width: a named field for each.
export function fields(label, values, known, onChange) {
  let current = [...values]
  const numbers = values.map((value, at) => make("input", {type: "number", class: "number", step: 1, min: known.min, value,
    "aria-label": `${label}, ${known.names[at]}`, oninput: () => put(at)}))
  const put = (at) => {
    if (numbers[at].value === "" || !Number.isInteger(numbers[at].valueAsNumber)) return
    current[at] = numbers[at].valueAsNumber
    onChange([...current], true)
  }
  const element = make("span", {class: "fields"}, numbers.map((number, at) => make("label", {}, number, known.names[at])))
  element.hasFocus = () => numbers.includes(document.activeElement)
  element.show = (next) => {
    if (next.length !== current.length) return false
    current = [...next]
    for (const [at, number] of numbers.entries()) if (number !== document.activeElement) number.value = current[at]
    return true
  }
  return element
}
