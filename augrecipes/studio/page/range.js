// Sliders: one handle, or two for a range, each with its number, which may lie outside of what the slider spans. Fields
// for two numbers that are no range.

import {make} from "./dom.js"

const tidy = (number) => Number(number.toPrecision(6))

// What one notch of a slider is: about 200 of them from end to end, on a round number.
function notch({type, min, max, step}) {
  if (step) return step
  if (type === "integer") return 1
  const rough = (max - min) / 200
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough * 0.999)
}

// `values` has one number or two; `moved(values, finished)` hears them while they move, and once more at the end.
export function range(label, values, known, moved) {
  const low = known.min ?? 0
  const high = Math.max(known.max ?? 1, ...(known.endless ? values.map((value) => 2 * value) : [])) // around what is written
  const step = notch({...known, min: low, max: high})
  const two = values.length === 2
  const whole = known.whole || known.type === "integer"
  let current = [...values]
  const named = (at) => (two ? `${label}, ${at ? "most" : "least"}` : label)
  const handles = values.map((value, at) => make("input", {type: "range", min: low, max: high, step: "any", "aria-label": named(at), value}))
  const numbers = values.map((value, at) => make("input", {
    type: "number", class: "number", step, "aria-label": `${named(at)}, as a number`, value: tidy(value),
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
    current[at] = whole ? Math.round(value) : tidy(value)
    if (two && current[0] > current[1]) current[1 - at] = current[at] // one end takes the other along
    for (const each of current.keys()) {
      handles[each].value = current[each]
      handles[each].setAttribute("aria-valuetext", String(current[each]))
      if (!(typed && each === at)) numbers[each].value = current[each]
    }
    paint()
    moved(two ? [...current] : current[0], finished)
  }
  for (const [at, handle] of handles.entries()) {
    const snapped = () => low + Math.round((Number(handle.value) - low) / step) * step
    handle.addEventListener("input", () => put(at, snapped(), false))
    handle.addEventListener("change", () => put(at, snapped(), true))
    // With `step: any` keys would move by 1: a notch is what is meant, ten with Shift.
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
  element.holds = () => [...handles, ...numbers].includes(document.activeElement)
  element.show = (next) => {
    if (JSON.stringify(next) === JSON.stringify(current) || next.length !== current.length) return next.length === current.length
    current = [...next]
    for (const each of current.keys()) {
      handles[each].value = current[each]
      if (document.activeElement !== numbers[each]) numbers[each].value = tidy(current[each])
    }
    paint()
    return true
  }
  return element
}

// Two numbers that are no range, such as a height and a width: a field each, called by what it is.
export function fields(label, values, known, changed) {
  let current = [...values]
  const numbers = values.map((value, at) => make("input", {type: "number", class: "number", step: 1, min: known.min, value,
    "aria-label": `${label}, ${known.names[at]}`, oninput: () => put(at)}))
  const put = (at) => {
    if (numbers[at].value === "" || !Number.isInteger(numbers[at].valueAsNumber)) return
    current[at] = numbers[at].valueAsNumber
    changed([...current], true)
  }
  const element = make("span", {class: "fields"}, numbers.map((number, at) => make("label", {}, number, known.names[at])))
  element.holds = () => numbers.includes(document.activeElement)
  element.show = (next) => {
    if (next.length !== current.length) return false
    current = [...next]
    for (const [at, number] of numbers.entries()) if (number !== document.activeElement) number.value = current[at]
    return true
  }
  return element
}
