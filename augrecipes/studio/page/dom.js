// Makes elements from plain data. Text is only ever inserted as text: nothing from files, recipes or the server is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg"

// make("button", {class: "quiet", "aria-label": "Save", onclick: save}, icon("save"), "Save")
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value)
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value
    else element.setAttribute(name, value === true ? "" : String(value))
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return element
}

export const find = (selector, within = document) => within.querySelector(selector)

const SHAPES = {
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  download: "M8 2v8M4.500 7 8 10.500 11.500 7M3 13.500h10",
  undo: "M6 3 3 6l3 3M3 6h6a4 4 0 0 1 0 8H7",
  light: "M8 5.200a2.800 2.800 0 1 1 0 5.600 2.800 2.800 0 0 1 0-5.600M8 1v1.600M8 13.400V15M1 8h1.600M13.400 8H15M3 3l1.200 1.200M11.800 11.800 13 13M13 3l-1.200 1.200M4.200 11.800 3 13",
  dark: "M13 9.500A5.600 5.600 0 1 1 6.500 3a4.400 4.400 0 0 0 6.500 6.500z",
  auto: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 2v12M8 5h3.600M8 8h5.500M8 11h3.600",
  error: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM5.800 5.800l4.400 4.400M10.200 5.800l-4.400 4.400",
  warning: "M8 2.500 14.500 13.500h-13zM8 6.500v3.500M8 11.600v.4",
  note: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM8 7.500v3.500M8 5v.4",
  done: "M3 8.500 6.500 12 13 4.500",
  eye: "M1.500 8S4 3.500 8 3.500 14.500 8 14.500 8 12 12.500 8 12.500 1.500 8 1.500 8zM8 6.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600z",
}

// A small icon beside words, hidden from screen readers.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg")
  svg.setAttribute("viewBox", "0 0 16 16")
  svg.setAttribute("aria-hidden", "true")
  svg.classList.add("icon")
  const path = document.createElementNS(SVG, "path")
  path.setAttribute("d", SHAPES[name])
  svg.append(path)
  return svg
}

// A group of radio buttons in a row; arrow keys choose.
export function choice(label, options, chosen, choose) {
  const buttons = options.map(([value, text, title]) =>
    make("button", {type: "button", role: "radio", title, "data-value": String(value), onclick: () => pick(value)}, text))
  const group = make("div", {class: "choice", role: "radiogroup", "aria-label": label}, ...buttons)
  const show = (value) => {
    for (const button of buttons) {
      const on = button.dataset.value === String(value)
      button.setAttribute("aria-checked", String(on))
      button.tabIndex = on ? 0 : -1
    }
    if (!buttons.some((button) => button.tabIndex === 0)) buttons[0].tabIndex = 0
  }
  const pick = (value) => {
    show(value)
    choose(value)
  }
  group.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key]
    if (!step) return
    event.preventDefault()
    const at = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length
    buttons[at].focus()
    pick(options[at][0])
  })
  group.show = show
  show(chosen)
  return group
}

// An integer with buttons for less and more.
export function counter(label, value, {min = 0, max = Number.MAX_SAFE_INTEGER, width = 3}, choose) {
  const input = make("input", {
    type: "number", min, max, value, "aria-label": label, class: "number", size: width,
    onchange: () => put(Number(input.value)), onfocus: () => input.select(),
  })
  input.style.width = `${width + 1.4}ch`
  const put = (number) => {
    const whole = Math.min(max, Math.max(min, Number.isFinite(number) ? Math.round(number) : min))
    if (String(whole) !== input.value) input.value = whole
    choose(whole)
  }
  const step = (by, shape, word) =>
    make("button", {type: "button", class: "step", tabindex: -1, "aria-label": `${label}: ${word}`,
      onclick: () => put(Number(input.value) + by)}, icon(shape))
  const group = make("span", {class: "counter"}, make("span", {class: "caption", "aria-hidden": "true"}, label),
    step(-1, "minus", "less"), input, step(1, "plus", "more"))
  group.show = (number) => {
    input.value = number
  }
  group.limit = (number) => {
    max = number
    input.max = number
  }
  return group
}
