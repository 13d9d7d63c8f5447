// The tabs of the views, the border between recipe and images, and the colour theme.

import {find, fill, icon, make} from "./dom.js"
import {localStore} from "./session.js"
import {change, narrow, on, say, settings, theme, themes} from "./state.js"

let views = []
let opened = () => undefined

export const active = () => views.find((view) => view.name === settings.view) ?? views[0]
export const panelOf = (view) => document.getElementById(`view-${view.name}`)

// Makes a tab and a panel for each view; `onOpen` is called when a view is opened.
export function tabs(all, onOpen) {
  views = all
  opened = onOpen
  const list = find("#tabs")
  fill(list, views.map((view, at) => make("button", {
    type: "button", role: "tab", id: `tab-${view.name}`, "aria-controls": `view-${view.name}`, title: `${view.title} (${at + 1})`,
    onclick: () => {
      const stuck = narrow.matches && list.getBoundingClientRect().top < 1
      open(view.name)
      if (stuck) find("#right").scrollIntoView() // show the top of the new view, not the scroll position of the last one
    },
  }, view.title)))
  list.addEventListener("keydown", (event) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key]
    const at = views.indexOf(active())
    const next = by ? views[(at + by + views.length) % views.length] : event.key === "Home" ? views[0] : event.key === "End" ? views.at(-1) : null
    if (!next) return
    event.preventDefault()
    open(next.name)
    find(`#tab-${next.name}`).focus()
  })
  for (const view of views) {
    const panel = make("div", {role: "tabpanel", id: `view-${view.name}`, class: `view ${view.name}`, "aria-labelledby": `tab-${view.name}`, tabindex: -1, hidden: true})
    find("#views").append(panel)
    view.build(panel)
  }
  open(active().name)
}

export function open(name) {
  say("")
  change({view: name})
  const view = active()
  for (const other of views) {
    const on = other === view
    find(`#tab-${other.name}`).setAttribute("aria-selected", String(on))
    find(`#tab-${other.name}`).tabIndex = on ? 0 : -1
    panelOf(other).hidden = !on
  }
  opened()
}

// Makes the border movable by dragging and by arrow keys; its position is remembered.
export function bindBorder() {
  const line = find("#border")
  const put = (share) => {
    const bounded = Math.min(0.7, Math.max(0.22, share))
    document.documentElement.style.setProperty("--left", `${(bounded * 100).toFixed(2)}%`)
    line.setAttribute("aria-valuenow", String(Math.round(bounded * 100)))
    localStore.set("left", bounded)
  }
  const stored = localStore.get("left")
  if (stored) put(stored)
  line.addEventListener("pointerdown", (event) => {
    line.setPointerCapture(event.pointerId)
    document.body.classList.add("dragging")
  })
  line.addEventListener("pointermove", (event) => line.hasPointerCapture(event.pointerId) && put(event.clientX / innerWidth))
  line.addEventListener("lostpointercapture", () => document.body.classList.remove("dragging"))
  line.addEventListener("dblclick", () => {
    document.documentElement.style.removeProperty("--left")
    localStore.drop("left")
  })
  line.addEventListener("keydown", (event) => {
    const by = {ArrowLeft: -0.02, ArrowRight: 0.02}[event.key]
    if (!by) return
    event.preventDefault()
    put(find("#left").getBoundingClientRect().width / innerWidth + by)
  })
}

const WORDS = {auto: "as the system", light: "light", dark: "dark"}

export function bindTheme() {
  const button = find("#theme")
  on("theme", (chosen) => {
    fill(button, icon(chosen))
    const words = `Colours: ${WORDS[chosen]}`
    button.title = `${words} (t)`
    button.setAttribute("aria-label", words)
  })
  button.addEventListener("click", nextTheme)
  theme()
}

export const nextTheme = () => theme(themes[(themes.indexOf(localStore.get("theme", "auto")) + 1) % themes.length])
