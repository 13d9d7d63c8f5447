// An image with overlays: a mask, boxes, keypoints, labels, crop windows.

import {make} from "./dom.js"
import {picture as fetchPicture} from "./server.js"
import {on, settings} from "./state.js"

// Seven colours that colour-blind people can tell apart, after Okabe and Ito.
export const COLOURS = ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"]
const css = (colour) => (Array.isArray(colour) ? `rgb(${colour.join(" ")})` : colour)

// Draws overlays with a pen whose unit is a CSS pixel; `scale` is CSS pixels per image pixel.
export function drawOver(pen, {overlay = {}, mask = null, windows = []}, width, height, scale) {
  if (settings.masks && mask) pen.drawImage(mask, 0, 0, width, height)
  const small = width < 240 ? 0.6 : 1 // lines must not hide a thumbnail
  const twice = (draw, colour, thick) => {
    pen.lineWidth = thick * small + 2 * small
    pen.strokeStyle = "rgba(0, 0, 0, 0.65)"
    draw()
    pen.lineWidth = thick * small
    pen.strokeStyle = colour
    draw()
  }
  if (settings.boxes) {
    for (const [at, [x0, y0, x1, y1]] of (overlay.boxes ?? []).entries()) {
      const colour = css(overlay.colours?.[at] ?? COLOURS[1])
      twice(() => pen.strokeRect(x0 * scale, y0 * scale, (x1 - x0) * scale, (y1 - y0) * scale), colour, 1.5)
      const label = overlay.labels?.[at]
      if (settings.labels && label && (x1 - x0) * scale > 24) tag(pen, String(label), x0 * scale, y0 * scale, colour)
    }
  }
  if (settings.keypoints) {
    for (const [at, [x, y]] of (overlay.keypoints ?? []).entries()) {
      const colour = css(overlay.point_colours?.[at] ?? COLOURS[at % COLOURS.length])
      twice(() => {
        pen.beginPath()
        pen.arc((x + 0.5) * scale, (y + 0.5) * scale, 4 * small, 0, 7)
        pen.stroke()
      }, colour, 2)
    }
  }
  for (const [at, cut] of windows.entries()) {
    if (!cut) continue
    const [x, y, w, h] = cut
    twice(() => pen.strokeRect(x * scale, y * scale, w * scale, h * scale), COLOURS[at % COLOURS.length], 2)
  }
}

function tag(pen, words, x, y, colour) {
  pen.font = "11px system-ui, sans-serif"
  const shown = words.length > 18 ? `${words.slice(0, 17)}…` : words
  const top = y >= 15 ? y - 15 : y
  pen.fillStyle = colour
  pen.fillRect(x, top, pen.measureText(shown).width + 6, 15)
  pen.fillStyle = "#000"
  pen.fillText(shown, x + 3, top + 11)
}

function loaded(address) {
  return new Promise((resolve, reject) => {
    const image = new Image()
    image.onload = () => resolve(image)
    image.onerror = reject
    image.src = address
  })
}

// An image on the page: `show` replaces it; the old image stays until the new one is loaded.
export class Picture {
  constructor(words = "") {
    this.image = make("img", {alt: words, draggable: "false"})
    this.over = make("canvas", {"aria-hidden": "true"})
    this.element = make("span", {class: "picture"}, this.image, this.over)
    this.extra = {}
    this.requested = null
    this.maskUrl = null
    this.image.addEventListener("load", () => this.draw())
    watcher.observe(this.element)
    allPictures.add(new WeakRef(this))
    pictures.set(this.element, this)
  }

  // `url`, `width` and `height` come from the server; `overlay` and `windows` are in pixels of that size.
  show({url, width, height, overlay = {}, words, windows = []}) {
    if (words) this.image.alt = words
    this.element.style.setProperty("--shape", width && height ? `${width} / ${height}` : "1")
    this.size = [width, height]
    this.extra = {overlay, windows, mask: overlay.mask && overlay.mask === this.maskUrl ? this.extra.mask : null}
    if (url !== this.requested) this.fetch(url)
    if (overlay.mask !== this.maskUrl) this.cover(overlay.mask ?? null)
    this.draw()
  }

  async fetch(url) {
    this.requested = url
    try {
      const address = await fetchPicture(url)
      if (this.requested !== url) return URL.revokeObjectURL(address)
      const before = this.image.src
      this.image.src = address
      this.image.dataset.url = url
      if (before) setTimeout(() => URL.revokeObjectURL(before), 1000)
    } catch {
      if (this.requested === url) this.requested = null // the server dropped it from its cache: request it again when it is next shown
    }
  }

  async cover(url) {
    this.maskUrl = url
    if (!url) return
    const address = await fetchPicture(url).catch(() => null)
    const image = address ? await loaded(address).catch(() => null) : null
    if (address) URL.revokeObjectURL(address)
    if (this.maskUrl !== url || !image) return
    this.extra.mask = image
    this.draw()
  }

  draw() {
    const {clientWidth: width, clientHeight: height} = this.image
    if (!width || !this.size) return
    const ratio = devicePixelRatio || 1
    this.over.width = Math.round(width * ratio)
    this.over.height = Math.round(height * ratio)
    const pen = this.over.getContext("2d")
    pen.scale(ratio, ratio)
    drawOver(pen, this.extra, width, height, width / (this.size[0] || this.image.naturalWidth || 1))
    this.image.classList.toggle("enlarged", width > 2 * this.image.naturalWidth)
  }
}

const allPictures = new Set()
const pictures = new WeakMap()
const watcher = new ResizeObserver((entries) => entries.forEach((entry) => pictures.get(entry.target)?.draw()))
on("settings", (changed) => {
  if (!changed.some((name) => ["masks", "boxes", "keypoints", "labels"].includes(name))) return
  for (const reference of allPictures) {
    const picture = reference.deref()
    if (picture?.element.isConnected) picture.draw()
    else if (!picture) allPictures.delete(reference)
  }
})

// The whole scene that an image was cropped from, with the window in pixels of the scene, or null.
export function sceneOf(shown) {
  if (!shown?.source?.url) return null
  const [top, left, bottom, right] = shown.window ?? []
  return {...shown.source, window: shown.window ? [left, top, right - left, bottom - top] : null}
}
