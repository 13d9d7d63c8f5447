// The view of cost: the time of each step on this machine, as written and optimised, and what the optimiser did.

import {chooser} from "./chooser.js"
import {fill, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {ask} from "./server.js"
import {drawRequest, recipe, settings} from "./state.js"

let drawing = null
let place = null

export const view = {name: "cost", title: "Cost", sample: true, build, refresh, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true)}

function build(element) {
  drawing = new Drawing()
  place = make("div", {class: "costs"})
  fill(element, make("div", {class: "bar"}, chooser(),
    make("button", {type: "button", onclick: refresh}, "Measure again"),
    make("span", {class: "quiet-words"}, "Times of one thread on this machine, for the chosen sample. Postponed work is counted in the step that does it.")),
    drawing.place, drawing.trouble, make("div", {class: "scroll", tabindex: 0}, place))
}

const time = (ms) => (ms >= 1 ? `${ms.toPrecision(3)} ms` : `${ms >= 0.1 ? Math.round(1000 * ms) : Number((1000 * ms).toPrecision(2))} µs`)

export function refresh() {
  if (recipe.good === null) return
  drawing.start(async (signal) => {
    drawing.trouble.hidden = true
    const answer = await ask("POST", "api/cost", drawRequest({index: settings.index}), signal)
    draw(answer)
  })
}

// Labels number the steps of a class; #1 is left out.
const plain = (label) => label.replace(/#1(?!\d)/g, "")

function draw(answer) {
  const all = ({sink, overhead}, steps) => [...steps, ["output", sink, 0], ["around the steps", overhead, 0]]
  const {before, after} = answer.timing
  const written = all(before, answer.steps.map((step) => [step.name, step.ms, step.depth]))
  const planned = all(after, answer.plan.map((step) => [plain(step.stands_for ? `${step.step}(${step.stands_for})` : step.step), step.ms, 0]))
  const most = Math.max(0.001, ...[...written, ...planned].map(([, ms]) => ms))
  const gain = before.whole / after.whole
  const [, isNative, why] = /^(yes|no)\b[,:]?\s*(.*)$/s.exec(answer.native) ?? ["", "no", answer.native]
  const each = 1000 / after.whole
  const figures = [
    ["Step by step", time(before.whole), "a sample"],
    ["Optimised", time(after.whole), Number.isFinite(gain) ? `${gain.toPrecision(2)} times as fast` : ""],
    ["Throughput", Math.round(each).toLocaleString(), `samples a second on one core${answer.cores > 1 ? `, ${Math.round(each * answer.cores).toLocaleString()} on ${answer.cores}` : ""}`],
    ["In one native call", isNative, why],
  ]
  fill(place,
    make("dl", {class: "totals"}, figures.map(([name, value, about]) => make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, about))))),
    make("div", {class: "twice"}, times("As written", written, most, "before"), times(`Optimised, ${answer.optimize}`, planned, most, "after")),
    reasons(answer))
}

// A table of times with bars; all tables have the same scale.
function times(title, rows, most, kind) {
  const bar = (ms) => {
    const line = make("span")
    line.style.width = `${ms ? Math.max(0.5, (100 * ms) / most) : 0}%`
    return make("span", {class: `cost-bar ${kind}`}, line)
  }
  const name = (words, depth) => {
    const head = make("th", {scope: "row"}, words)
    head.style.paddingLeft = `${depth * 14}px`
    return head
  }
  return make("table", {class: "times"}, make("caption", {}, title),
    make("tbody", {}, rows.map(([words, ms, depth]) =>
      make("tr", {}, name(words, depth), make("td", {}, ms ? time(ms) : "–"), make("td", {class: "bars", "aria-hidden": "true"}, bar(ms))))))
}

// The rules that fired, the steps that no rule changed and why, and the rules that had nothing to do.
function reasons(answer) {
  const line = (fired, name, ...words) => make("li", {"data-fired": String(fired)}, icon(fired ? "done" : "minus"), make("div", {}, make("b", {}, name), ...words.filter(Boolean).map((text) => make("p", {}, text))))
  const fired = [...new Map(answer.rules.map((rule) => [rule.rule, rule])).values()]
  const {idle, stayed} = answer
  const part = (title, lines) => (lines.length ? make("section", {}, make("h3", {}, title), make("ul", {class: "rules"}, lines)) : null)
  return make("div", {class: "twice"},
    make("div", {class: "costs"}, part("What the optimiser did", fired.map((rule) => line(true, rule.rule, rule.before ? `on ${plain(rule.before)}` : "", rule.equation)))),
    make("div", {class: "costs"},
      part("What was not optimised, and why", stayed.map((site) => line(false, plain(site.site), site.why))),
      idle.length ? make("details", {}, make("summary", {}, `${idle.length} rules had nothing to do here`), make("ul", {class: "rules"}, idle.map((rule) => line(false, rule.rule, rule.equation)))) : null))
}
