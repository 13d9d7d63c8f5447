// The editor: CodeMirror for YAML, with underlined problems and their fixes, completion, explanations and undo.

import {
  EditorState, EditorView, Transaction, autocompletion, bracketMatching, classHighlighter, closeBrackets, closeBracketsKeymap,
  completionKeymap, defaultKeymap, drawSelection, foldGutter, foldKeymap, forEachDiagnostic, highlightActiveLine,
  highlightActiveLineGutter, highlightSelectionMatches, history, historyKeymap, hoverTooltip, indentOnInput,
  indentUnit, indentWithTab, isolateHistory, keymap, lineNumbers, lintGutter, lintKeymap, nextDiagnostic, redo, search,
  searchKeymap, setDiagnostics, syntaxHighlighting, tooltips, undo, yaml,
} from "./vendor/codemirror.js"
import {find, make} from "./dom.js"
import {complete, hoverCard, tooltipRoom} from "./language.js"
import {announce} from "./state.js"

let view = null
let muted = false

const appearance = [
  lineNumbers(), foldGutter(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(),
  bracketMatching(), highlightSelectionMatches(), EditorView.lineWrapping, syntaxHighlighting(classHighlighter), yaml(),
  hoverTooltip(hoverCard, {hoverTime: 350, hideOnChange: true}), tooltips({tooltipSpace: tooltipRoom}),
  EditorView.domEventHandlers({
    keydown: (_, shown) => shown.dom.toggleAttribute("data-typing", true) && false, // hides hover cards while typing
    mousemove: (_, shown) => shown.dom.toggleAttribute("data-typing", false),
  }),
]

// Places the explanation of the selected completion on the far side of the list, as large as fits.
function placeInfo(shown, list, option, info, room) {
  const line = shown.coordsAtPos(shown.state.selection.main.head)
  const down = list.top >= line.top
  const space = down ? room.bottom - list.bottom : list.top - room.top
  const side = down ? "top: 100%" : "bottom: 100%"
  return {style: `${side}; left: -1px; right: -1px; width: auto; max-width: none; ${space < 60 ? "display: none" : `max-height: ${space}px`}`, class: "cm-placed"}
}

// Keeps the completion list off the whole of a wrapped line, not only off the row of the cursor.
function freeLine(shown) {
  shown.requestMeasure({
    key: freeLine,
    read: () => {
      const {head} = shown.state.selection.main
      const [line, row] = [shown.lineBlockAt(head), shown.coordsAtPos(head)]
      return row ? [row.top - shown.documentTop - line.top, line.bottom + shown.documentTop - row.bottom] : [0, 0]
    },
    write: ([over, under]) => {
      shown.dom.style.setProperty("--room", `${tooltipRoom(shown).width}px`)
      shown.dom.style.setProperty("--over", `${Math.max(0, over)}px`)
      shown.dom.style.setProperty("--under", `${Math.max(0, under)}px`)
    },
  })
}

export function open(parent) {
  view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        ...appearance, history(), indentOnInput(), indentUnit.of("  "), closeBrackets(), search({top: true}),
        autocompletion({override: [complete], icons: false, positionInfo: placeInfo}),
        EditorView.contentAttributes.of({"aria-label": "Recipe, as YAML", "aria-describedby": "leave", spellcheck: "false"}),
        keymap.of([
          {key: "Mod-.", run: () => fixHere()},
          {key: "F8", run: nextDiagnostic},
          {key: "Mod-z", run: undo}, {key: "Mod-y", run: redo}, {key: "Mod-Shift-z", run: redo},
          ...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap,
          ...defaultKeymap, indentWithTab,
          {key: "Escape", run: leave},
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !muted) announce("typed", text())
          if (update.docChanged || update.selectionSet) announce("cursor", cursor())
          if (update.docChanged || update.selectionSet || update.geometryChanged) freeLine(view)
        }),
      ],
    }),
  })
  return view
}

// A second editor, read only.
export function readOnly(parent, label) {
  const shown = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [...appearance, EditorState.readOnly.of(true), EditorView.editable.of(false),
        EditorView.contentAttributes.of({"aria-label": label, tabindex: "0"})],
    }),
  })
  return {
    put: (content) => shown.dispatch({changes: {from: 0, to: shown.state.doc.length, insert: content}}),
  }
}

// Moves the focus to what follows the editor: Tab cannot, since it indents.
function leave() {
  find("#problems-list button, #step:not([hidden]) button, [role=tab][aria-selected=true]").focus()
  return true
}

export const text = () => view.state.doc.toString()
export const focus = () => view.focus()
export const has = (element) => view.dom.contains(element)

// The cursor as [line, column]: lines from 1, columns from 0 in UTF-16 units, as the server counts them. In the indent
// of a line it counts as on the first word, so that the whole line of a step belongs to it.
export function cursor() {
  const {head} = view.state.selection.main
  const line = view.state.doc.lineAt(head)
  return [line.number, Math.max(head - line.from, line.text.search(/[^\s-]|$/))]
}

// Converts a [line, column] of the server to an offset in the document.
export function offset([number, column]) {
  const {doc} = view.state
  const line = doc.line(Math.min(Math.max(number, 1), doc.lines))
  return line.from + Math.min(column, line.length)
}

// Replaces only what differs, so that cursor, folds and undo history around it are kept.
export function put(wanted, {event = "input.replace", ownUndoStep = true} = {}) {
  const now = text()
  const next = wanted.replace(/\r\n?/g, "\n")
  if (now === next) return
  let start = 0
  const shortest = Math.min(now.length, next.length)
  while (start < shortest && now[start] === next[start]) start++
  let end = 0
  while (end < shortest - start && now.at(-1 - end) === next.at(-1 - end)) end++
  const changes = {from: start, to: now.length - end, insert: next.slice(start, next.length - end)}
  const annotations = [Transaction.userEvent.of(event)]
  if (ownUndoStep) annotations.push(isolateHistory.of("full"))
  view.dispatch({changes, annotations})
}

// Sets a new text, without an undo step to the text before.
export function begin(content) {
  const extensions = Transaction.addToHistory.of(false)
  muted = true
  view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: content.replace(/\r\n?/g, "\n")}, annotations: extensions})
  muted = false
}

export function moveTo(place) {
  const at = offset(place)
  view.dispatch({selection: {anchor: at}, effects: EditorView.scrollIntoView(at, {y: "center"})})
  view.focus()
}

// Puts the cursor into the first step at the beginning, so that its arguments are shown.
export function placeCursor(place) {
  if (!place || view.state.selection.main.head) return
  const at = offset(place)
  view.dispatch({selection: {anchor: at}, effects: EditorView.scrollIntoView(at, {y: "nearest", yMargin: 60})})
}

// Applies the edits of a fix as a single undo step.
export function apply(fix) {
  const changes = fix.edits.map((edit) => ({from: offset(edit.from), to: offset(edit.to), insert: edit.text}))
  view.dispatch({changes, annotations: [Transaction.userEvent.of("input.fix"), isolateHistory.of("full")]})
  view.focus()
}

const SEVERITY = {error: "error", warning: "warning", note: "info"}

// Underlines problems; `explain` shows what a code means.
export function underline(problems, explain) {
  const {doc} = view.state
  const marks = problems.map((problem) => {
    let [from, to] = [offset(problem.from), offset(problem.to ?? problem.from)]
    if (to <= from) {
      const line = doc.lineAt(from)
      const word = /^\w+/.exec(line.text.slice(from - line.from))
      to = word ? from + word[0].length : Math.min(from + 1, line.to)
      if (to === from) from = Math.max(line.from, from - 1)
    }
    return {
      from, to, severity: SEVERITY[problem.severity] ?? "info", problem, message: problem.message,
      renderMessage: () => make("span", {class: "problem-words"},
        make("button", {type: "button", class: "code", onclick: () => explain(problem)}, problem.code ?? ""), " ", problem.message),
      actions: problem.fix ? [{name: problem.fix.title, apply: () => apply(problem.fix)}] : [],
    }
  })
  view.dispatch(setDiagnostics(view.state, marks))
}

// Applies the fix that is nearest to the cursor on its line.
function fixHere() {
  const {head} = view.state.selection.main
  const line = view.state.doc.lineAt(head)
  const here = []
  forEachDiagnostic(view.state, (mark, from, to) => {
    if (mark.problem?.fix && from <= line.to && to >= line.from) here.push([Math.abs(head - from), mark.problem])
  })
  here.sort((a, b) => a[0] - b[0])
  if (here.length) apply(here[0][1].fix)
  return true
}

export {undo, redo}
export const step = (work) => work(view)
