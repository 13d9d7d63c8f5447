// The view of cost: how long each step takes here, before and after the plan, and what the optimiser did.

import {chooser} from "./chooser.js"
import {fill, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {ask} from "./server.js"
import {asked, recipe, settings} from "./state.js"

let drawing = null
let place = null

export const view = {name: "cost", title: "Cost", sample: true, build, refresh, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true)}

function build(element) {
  drawing = new Drawing()
  place = make("div", {class: "costs"})
  fill(element, make("div", {class: "bar"}, chooser(),
    make("button", {type: "button", onclick: refresh}, "Measure again"),
    make("span", {class: "quiet-words"}, "Times of one thread on this machine, for the chosen sample. Work that a step puts off counts where it is done.")),
    drawing.place, drawing.trouble, make("div", {class: "scroll"}, place))
}

const time = (us) => (us === null || us === undefined ? "" : us >= 1000 ? `${(us / 1000).toPrecision(3)} ms` : `${us >= 100 ? Math.round(us) : Number(us.toPrecision(2))} µs`)

export function refresh() {
  if (recipe.good === null) return
  drawing.start(async (signal) => {
    drawing.trouble.hidden = true
    const answer = await ask("POST", "api/cost", asked({index: settings.index}), signal)
    draw(answer)
  })
}

// Labels number steps of a class; the first of them may do without.
const plain = (label) => label.replace(/#1(?!\d)/g, "")

function draw(answer) {
  const before = [...answer.steps.map((step) => [step.name, step.before_us, step.depth ?? 0]), ["output", answer.sink_before_us, 0], ["around the steps", answer.overhead_before_us, 0]]
  const after = [...(answer.plan ?? []).map((step) => [plain(step.name), step.after_us, 0]), ["output", answer.sink_after_us, 0], ["around the steps", answer.overhead_after_us, 0]]
  const most = Math.max(1, ...[...before, ...after].map(([, us]) => us ?? 0))
  const gain = answer.total_before_us / answer.total_after_us
  const native = typeof answer.native === "string" ? answer.native : answer.native ? "yes: the whole sample in one call" : "no"
  const [, isNative, why] = /^(yes|no)\b[,:]?\s*(.*)$/s.exec(native) ?? ["", "no", native]
  const figures = [
    ["Step by step", time(answer.total_before_us), "a sample"],
    ["Optimised", time(answer.total_after_us), Number.isFinite(gain) ? `${gain.toPrecision(2)} times as fast` : ""],
    ["Throughput", Math.round(answer.per_second ?? 0).toLocaleString(), `samples a second on one core${answer.cores > 1 ? `, ${Math.round(answer.per_second_all).toLocaleString()} on ${answer.cores}` : ""}`],
    ["In one native call", isNative, why],
  ]
  fill(place,
    make("dl", {class: "totals"}, figures.map(([name, value, about]) => make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, about))))),
    make("div", {class: "twice"}, times("As it is written", before, most, "before"), times(`As it is planned${answer.optimize ? `, ${answer.optimize}` : ""}`, after, most, "after")),
    reasons(answer))
}

// A table of times with a bar for each, all tables to one scale.
function times(title, rows, most, kind) {
  const bar = (us) => {
    const line = make("span")
    line.style.width = `${us ? Math.max(0.5, (100 * us) / most) : 0}%`
    return make("span", {class: `cost-bar ${kind}`}, line)
  }
  const name = (words, depth) => {
    const head = make("th", {scope: "row"}, words)
    head.style.paddingLeft = `${depth * 14}px`
    return head
  }
  return make("table", {class: "times"}, make("caption", {}, title),
    make("tbody", {}, rows.filter(([, us]) => us !== undefined).map(([words, us, depth]) =>
      make("tr", {}, name(words, depth), make("td", {}, us ? time(us) : "–"), make("td", {class: "bars", "aria-hidden": "true"}, bar(us))))))
}

// What fired, what stayed as it was written and why, and rules that had nothing to do.
function reasons(answer) {
  const rules = answer.rules ?? []
  const line = (fired, name, ...words) => make("li", {"data-fired": String(fired)}, icon(fired ? "done" : "minus"), make("div", {}, make("b", {}, name), ...words.filter(Boolean).map((text) => make("p", {}, text))))
  const fired = rules.filter((rule) => rule.fired)
  const idle = rules.filter((rule) => !rule.fired)
  const stayed = answer.stayed ?? []
  const part = (title, lines) => (lines.length ? make("section", {}, make("h3", {}, title), make("ul", {class: "rules"}, lines)) : null)
  return make("div", {class: "twice"},
    make("div", {class: "costs"}, part("What the optimiser did", fired.map((rule) => line(true, rule.name, rule.before ? `on ${plain(rule.before)}` : "", rule.why)))),
    make("div", {class: "costs"},
      part("What stayed as it is written, and why", stayed.map((one) => line(false, plain(one.name), one.why))),
      idle.length ? make("details", {}, make("summary", {}, `${idle.length} rules had nothing to do here`), make("ul", {class: "rules"}, idle.map((rule) => line(false, rule.name, rule.why)))) : null))
}
