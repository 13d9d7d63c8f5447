// Checks the text, underlines the problems, and lists them with their fixes.

import {dialog} from "./dialog.js"
import * as editor from "./editor.js"
import {fill, find, icon, make} from "./dom.js"
import {announce, recipe, say} from "./state.js"
import {ask, Unreachable, isAbort} from "./server.js"

let running = null

// Asks the server to check the text; a newer check cancels an older one.
export async function check() {
  running?.abort()
  const controller = new AbortController()
  running = controller
  const {text} = recipe
  const begun = performance.now()
  try {
    const answer = await ask("POST", "api/check", {text}, controller.signal)
    if (controller.signal.aborted || text !== recipe.text) return
    Object.assign(recipe, {problems: answer.problems, steps: answer.steps ?? [], resolved: answer.resolved ?? null})
    const bad = answer.problems.some((problem) => problem.severity === "error")
    if (!bad) Object.assign(recipe, {good: text, kind: answer.kind, name: answer.name, lastEpoch: answer.last_epoch})
    editor.underline(answer.problems, explain)
    list(answer.problems)
    announce("checked", {bad, wall: performance.now() - begun, ms: answer.ms})
  } catch (error) {
    if (isAbort(error)) return
    if (!(error instanceof Unreachable)) {
      recipe.problems = []
      list([{severity: "error", code: error.code, message: error.message, from: [1, 0], to: [1, 0], fix: null}])
    }
  }
}

export function explain(problem) {
  const words = (problem.more || problem.message).split(/\n{2,}/).map((part) => make("p", {class: "kept"}, part))
  dialog(`${problem.code ?? ""} explained`, words)
}

const PLURALS = {error: ["error", "errors"], warning: ["warning", "warnings"], note: ["note", "notes"]}

function summary(problems) {
  if (!problems.length) return "No problems"
  return Object.entries(PLURALS).map(([severity, [one, many]]) => {
    const count = problems.filter((problem) => problem.severity === severity).length
    return count ? `${count} ${count === 1 ? one : many}` : null
  }).filter(Boolean).join(", ")
}

function list(problems) {
  const words = summary(problems)
  const head = find("#problems-summary")
  if (head.textContent !== words) {
    fill(head, words)
    say(words)
  }
  find("#problems").dataset.worst = ["error", "warning", "note"].find((level) => problems.some(({severity}) => severity === level)) ?? "none"
  fill(find("#problems-list"), problems.map((problem) => make("li", {class: problem.severity},
    icon(problem.severity),
    make("div", {},
      make("button", {type: "button", class: "message", title: "Go to it in the recipe", onclick: () => editor.moveTo(problem.from)},
        make("span", {class: "hidden"}, `${problem.severity}, line ${problem.from[0]}: `), problem.message),
      make("div", {class: "under"},
        make("button", {type: "button", class: "code", title: "What this means, and how to fix it", onclick: () => explain(problem)}, problem.code ?? ""),
        make("span", {class: "where"}, `line ${problem.from[0]}`),
        problem.fix ? make("button", {type: "button", class: "fix", onclick: () => editor.apply(problem.fix)}, problem.fix.title) : null)))))
}
