// Dialogs, and short notices at the bottom of the page.

import {fill, find, icon, make} from "./dom.js"

// Opens a dialog; `actions` are [words, work, kind]; it stays open if `work` returns false. Escape closes it.
export function dialog(title, content, actions = [], {wide = false, onClose = () => undefined} = {}) {
  const box = make("dialog", {class: wide ? "wide" : "", "aria-label": title})
  const close = () => box.close()
  const buttons = actions.map(([words, work, kind = ""]) => make("button", {
    type: "button", class: kind, onclick: async () => {
      if ((await work()) !== false) close()
    },
  }, words))
  box.append(
    make("header", {}, make("h2", {}, title),
      make("button", {type: "button", class: "bare", "aria-label": "Close", onclick: close}, icon("close"))),
    make("div", {class: "content", tabindex: 0}, ...[content].flat()),
    buttons.length ? make("footer", {}, ...buttons) : "",
  )
  box.addEventListener("close", () => {
    box.remove()
    onClose()
  })
  box.addEventListener("click", (event) => event.target === box && close())
  document.body.append(box)
  box.showModal()
  return {box, close}
}

// A notice that disappears by itself, or stays until it is closed (`lasting`); it replaces one of the same `name`.
export function notice(words, {name = words, kind = "", lasting = false, actions = []} = {}) {
  const place = find("#notices")
  const key = String(name)
  closeNotice(key)
  const line = make("div", {class: `notice ${kind}`, role: kind === "bad" ? "alert" : "status"},
    make("span", {}, words),
    ...actions.map(([label, work]) => make("button", {type: "button", onclick: () => {
      line.remove()
      work()
    }}, label)),
    make("button", {type: "button", class: "bare", "aria-label": "Close this notice", onclick: () => line.remove()}, icon("close")))
  line.dataset.name = key
  place.append(line)
  if (!lasting) setTimeout(() => line.remove(), 6000)
  return line
}

export function closeNotice(name) {
  for (const line of find("#notices").children) if (line.dataset.name === String(name)) line.remove()
}

// Shows a unified diff, its lines coloured by their first character.
export function diffView(lines) {
  const rows = lines.split("\n").map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@") ? "where" : ""
    return make("span", {class: kind}, `${line}\n`)
  })
  return fill(make("pre", {class: "difference", tabindex: 0, "aria-label": "Difference"}), rows)
}

// Copies a text and shows a notice; if the browser refuses, shows the text for copying by hand.
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text)
    notice(`Copied ${what}.`, {name: "copied"})
  } catch {
    const area = make("textarea", {readonly: true, rows: 8, "aria-label": what, value: text})
    dialog(`Copy ${what}`, [make("p", {}, "This browser does not let the page copy. Select and copy it here:"), area])
    area.select()
  }
}

export function download(name, content, type = "text/plain") {
  const blob = content instanceof Blob ? content : new Blob([content], {type})
  const url = URL.createObjectURL(blob)
  make("a", {href: url, download: name}).click()
  setTimeout(() => URL.revokeObjectURL(url), 10000)
}
