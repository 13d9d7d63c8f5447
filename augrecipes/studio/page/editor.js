// The editor: CodeMirror with YAML, problems underlined with their fixes, completion, explanations and undo.

import {
  EditorState, EditorView, Transaction, autocompletion, bracketMatching, classHighlighter, closeBrackets, closeBracketsKeymap,
  completionKeymap, defaultKeymap, drawSelection, foldGutter, foldKeymap, forEachDiagnostic, highlightActiveLine,
  highlightActiveLineGutter, highlightSelectionMatches, history, historyKeymap, hoverTooltip, indentOnInput,
  indentUnit, indentWithTab, isolateHistory, keymap, lineNumbers, lintGutter, lintKeymap, nextDiagnostic, redo, search,
  searchKeymap, setDiagnostics, syntaxHighlighting, tooltips, undo, yaml,
} from "./vendor/codemirror.js"
import {find, make} from "./dom.js"
import {complete, hovered, roomOf} from "./language.js"
import {announce} from "./state.js"

let view = null
let quiet = false

const looks = [
  lineNumbers(), foldGutter(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(),
  bracketMatching(), highlightSelectionMatches(), EditorView.lineWrapping, syntaxHighlighting(classHighlighter), yaml(),
  hoverTooltip(hovered, {hoverTime: 350, hideOnChange: true}), tooltips({tooltipSpace: roomOf}),
  EditorView.domEventHandlers({
    keydown: (_, shown) => shown.dom.toggleAttribute("data-typing", true) && false, // hides what the pointer has called up
    mousemove: (_, shown) => shown.dom.toggleAttribute("data-typing", false),
  }),
]

// The explanation of what is chosen in a list of completions: on the far side of the list, as far as there is room.
function placeInfo(shown, list, option, info, room) {
  const line = shown.coordsAtPos(shown.state.selection.main.head)
  const down = list.top >= line.top
  const space = down ? room.bottom - list.bottom : list.top - room.top
  const side = down ? "top: 100%" : "bottom: 100%"
  return {style: `${side}; left: -1px; right: -1px; width: auto; max-width: none; ${space < 60 ? "display: none" : `max-height: ${space}px`}`, class: "cm-placed"}
}

// A list of completions leaves the whole of a line free that is wrapped, not only the row of the cursor.
function freeLine(shown) {
  shown.requestMeasure({
    key: freeLine,
    read: () => {
      const {head} = shown.state.selection.main
      const [line, row] = [shown.lineBlockAt(head), shown.coordsAtPos(head)]
      return row ? [row.top - shown.documentTop - line.top, line.bottom + shown.documentTop - row.bottom] : [0, 0]
    },
    write: ([over, under]) => {
      shown.dom.style.setProperty("--room", `${roomOf(shown).width}px`)
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
        ...looks, history(), indentOnInput(), indentUnit.of("  "), closeBrackets(), search({top: true}),
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
          if (update.docChanged && !quiet) announce("typed", text())
          if (update.docChanged || update.selectionSet) announce("cursor", cursor())
          if (update.docChanged || update.selectionSet || update.geometryChanged) freeLine(view)
        }),
      ],
    }),
  })
  return view
}

// A second editor that shows a text and takes none.
export function still(parent, label) {
  const shown = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [...looks, EditorState.readOnly.of(true), EditorView.editable.of(false),
        EditorView.contentAttributes.of({"aria-label": label, tabindex: "0"})],
    }),
  })
  return {
    put: (content) => shown.dispatch({changes: {from: 0, to: shown.state.doc.length, insert: content}}),
  }
}

// To what follows the editor: Tab indents, so it leads nowhere.
function leave() {
  find("#problems-list button, #step:not([hidden]) button, [role=tab][aria-selected=true]").focus()
  return true
}

export const text = () => view.state.doc.toString()
export const focus = () => view.focus()
export const has = (element) => view.dom.contains(element)

// The cursor as [line, column]: lines from 1, columns from 0 in units of UTF-16, as the server counts them. Before the
// first word of a line it counts as on it, so that a step's whole line is the step's.
export function cursor() {
  const {head} = view.state.selection.main
  const line = view.state.doc.lineAt(head)
  return [line.number, Math.max(head - line.from, line.text.search(/[^\s-]|$/))]
}

// A place of the server as one of the document.
export function offset([number, column]) {
  const {doc} = view.state
  const line = doc.line(Math.min(Math.max(number, 1), doc.lines))
  return line.from + Math.min(column, line.length)
}

// Replaces the text where it differs, so that cursor, folds and undo stay as they are around it.
export function put(wanted, {event = "input.replace", alone = true, unheard = false} = {}) {
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
  if (alone) annotations.push(isolateHistory.of("full"))
  quiet = unheard
  view.dispatch({changes, annotations})
  quiet = false
}

// Starts anew: what was before cannot be undone into this text.
export function begin(content) {
  const extensions = Transaction.addToHistory.of(false)
  quiet = true
  view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: content.replace(/\r\n?/g, "\n")}, annotations: extensions})
  quiet = false
}

export function go(place) {
  const at = offset(place)
  view.dispatch({selection: {anchor: at}, effects: EditorView.scrollIntoView(at, {y: "center"})})
  view.focus()
}

// Where the cursor is at the beginning: in the first step, so that its arguments are there to play with.
export function beginAt(place) {
  if (!place || view.state.selection.main.head) return
  const at = offset(place)
  view.dispatch({selection: {anchor: at}, effects: EditorView.scrollIntoView(at, {y: "nearest", yMargin: 60})})
}

// Carries out the edits of a fix, all at once, as one thing to undo.
export function apply(fix) {
  const changes = fix.edits.map((edit) => ({from: offset(edit.from), to: offset(edit.to), insert: edit.text}))
  view.dispatch({changes, annotations: [Transaction.userEvent.of("input.fix"), isolateHistory.of("full")]})
  view.focus()
}

const SEVERITY = {error: "error", warning: "warning", note: "info"}

// Underlines problems; `explain` is asked for what a code means.
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

// The fix of the problem at the cursor, or of the only one that has one on its line.
function fixHere() {
  const {head} = view.state.selection.main
  const line = view.state.doc.lineAt(head)
  const here = []
  forEachDiagnostic(view.state, (mark, from, to) => {
    if (mark.problem?.fix && from <= line.to && to >= line.from) here.push([Math.abs(head - from), mark.problem])
  })
  here.sort((one, other) => one[0] - other[0])
  if (here.length) apply(here[0][1].fix)
  return true
}

export {undo, redo}
export const step = (work) => work(view)
