// The place of the cursor in a recipe: in a name, in a value or in a list, and under which keys.

import {ensureSyntaxTree, syntaxTree} from "./vendor/codemirror.js"

const textOf = (state, node) => state.sliceDoc(node.from, node.to).replace(/^["']|["']$/g, "")

// The keys whose values contain `position`, outermost first, each with its column.
function keysAround(state, position, node) {
  const keys = []
  for (let at = node; at; at = at.parent) {
    const key = at.name === "Pair" ? at.getChild("Key") : null
    if (!key || position <= key.to) continue
    keys.unshift({name: textOf(state, key), column: key.from - state.doc.lineAt(key.from).from})
  }
  return keys
}

function lastContentLine(state, line) {
  for (let number = line.number - 1; number > 0; number--) {
    const before = state.doc.line(number)
    if (/^\s*[^\s#]/.test(before.text)) return before
  }
  return null
}

// {role: "key" | "value" | "item", keys: names, outermost first, from: the start of the word, word}. In the value of a
// key that key is the last of `keys`. Unfinished lines are placed by their indent.
export function placeAt(state, position) {
  const tree = ensureSyntaxTree(state, position, 40) ?? syntaxTree(state)
  const line = state.doc.lineAt(position)
  const before = line.text.slice(0, position - line.from)
  const word = /[\w.-]*$/.exec(before)[0]
  const place = {from: position - word.length, word}
  const names = (keys) => keys.map((key) => key.name)
  const at = (where, side = -1) => tree.resolveInner(where, side)

  const value = /([A-Za-z_][\w-]*)["']?\s*:\s+["']?[\w.-]*$/.exec(before)
  if (value) {
    const start = line.from + value.index
    return {...place, role: "value", keys: [...names(keysAround(state, start + 1, at(start + 1))), value[1]]}
  }
  const node = at(position)
  const flow = []
  for (let up = node; up; up = up.parent) if (/^Flow(Mapping|Sequence)$/.test(up.name)) flow.push(up.name)
  if (flow.length) {
    return {...place, role: flow[0] === "FlowSequence" ? "item" : "key", keys: names(keysAround(state, position, node))}
  }
  const previous = lastContentLine(state, line)
  const dash = /^(\s*)((?:-\s+)+|-$)/.exec(before)
  const column = dash ? dash[1].length : /^\s*/.exec(before)[0].length
  const keys = previous ? keysAround(state, previous.to + 1, at(previous.to)) : []
  const last = previous ? /^(\s*(?:-\s+)*)["']?([A-Za-z_][\w-]*)["']?\s*:\s*(?:#.*)?$/.exec(previous.text) : null
  if (last && keys.at(-1)?.name !== last[2]) keys.push({name: last[2], column: last[1].length})
  const owners = keys.filter((key) => (dash ? key.column <= column : key.column < column))
  return {...place, role: dash ? "item" : "key", keys: names(owners)}
}

// The word at `position`, with its place, for hover cards.
export function wordAt(state, position) {
  const line = state.doc.lineAt(position)
  let [from, to] = [position - line.from, position - line.from]
  while (from > 0 && /\w/.test(line.text[from - 1])) from--
  while (to < line.length && /\w/.test(line.text[to])) to++
  if (from === to || /#/.test(line.text.slice(0, from).replace(/"[^"]*"|'[^']*'/g, ""))) return null
  return {from: line.from + from, to: line.from + to, word: line.text.slice(from, to), ...placeAround(state, line.from + to)}
}

function placeAround(state, end) {
  const {role, keys} = placeAt(state, end)
  return {role, keys}
}
