// A PNG of what a view shows: its pictures in their rows, with words under them, on one canvas.

import {make} from "./dom.js"

const GAP = 10
const LINE = 16

// `rows` of {picture, words}, drawn at most `widest` pixels wide; each picture as large as it stands on the page.
export async function shot(title, rows) {
  const cells = rows.filter((row) => row.length).map((row) => row.map(({picture, words = ""}) => {
    const {width, height} = picture.image.getBoundingClientRect()
    return {picture, words, width: Math.max(24, Math.round(width)), height: Math.max(24, Math.round(height))}
  }))
  if (!cells.length) throw new Error("there is no picture to take away yet")
  const across = (row) => row.reduce((sum, cell) => sum + cell.width + GAP, GAP)
  const down = (row) => Math.max(...row.map((cell) => cell.height)) + LINE + GAP
  const canvas = make("canvas")
  const scale = 2
  const pen = canvas.getContext("2d")
  pen.font = "600 13px system-ui, sans-serif"
  const width = Math.min(8000, Math.max(pen.measureText(title).width + 2 * GAP, ...cells.map(across)))
  const height = Math.min(16000, cells.reduce((sum, row) => sum + down(row), LINE + 2 * GAP))
  canvas.width = width * scale
  canvas.height = height * scale
  pen.scale(scale, scale)
  const paper = getComputedStyle(document.body)
  pen.fillStyle = paper.backgroundColor
  pen.fillRect(0, 0, width, height)
  pen.fillStyle = paper.color
  pen.font = "600 13px system-ui, sans-serif"
  pen.fillText(title, GAP, GAP + 13)
  pen.font = "11px system-ui, sans-serif"
  let y = LINE + 2 * GAP
  for (const row of cells) {
    let x = GAP
    for (const cell of row) {
      cell.picture.paint(pen, x, y, cell.width, cell.height)
      pen.fillStyle = paper.color
      pen.fillText(shortened(pen, cell.words, cell.width), x, y + cell.height + 13)
      x += cell.width + GAP
    }
    y += down(row)
  }
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("too large for a PNG"))), "image/png"))
}

function shortened(pen, words, width) {
  if (pen.measureText(words).width <= width) return words
  let length = words.length
  while (length > 1 && pen.measureText(`${words.slice(0, length)}…`).width > width) length--
  return `${words.slice(0, length)}…`
}
