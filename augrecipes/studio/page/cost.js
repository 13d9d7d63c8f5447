// The view of cost: how long each step takes here, before and after the plan, what the optimiser did, and a proof.

import {fill, icon, make} from "./dom.js"
import {Drawing} from "./drawing.js"
import {ask, listen} from "./server.js"
import {asked, recipe, say, settings} from "./state.js"

let drawing = null
let proving = null
let place = null
let proof = null
let trouble = null

export const view = {name: "cost", title: "Cost", sample: true, build, refresh, shown: () => null, interrupt: () => drawing.interrupt(), stop: () => drawing.stop(true) || proving.stop(true)}

function build(element) {
  const progress = make("div", {class: "progress"})
  const progressOfProof = make("div", {class: "progress"})
  drawing = new Drawing(progress)
  proving = new Drawing(progressOfProof)
  drawing.failed = proving.failed = (error) => {
    trouble.hidden = false
    fill(trouble, error.message)
  }
  trouble = make("p", {class: "trouble", role: "alert", hidden: true})
  place = make("div", {class: "costs"})
  proof = make("ul", {class: "proof"})
  fill(element, make("div", {class: "bar"},
    make("button", {type: "button", onclick: refresh}, "Measure again"),
    make("button", {type: "button", title: "Compare the optimised pipeline with the plain one on the shown data", onclick: verify}, "Verify on this data"),
    make("span", {class: "quiet-words"}, "Times of one thread on this machine, for the chosen sample.")),
    progress, trouble, make("div", {class: "scroll"}, make("div", {}, progressOfProof, proof, place)))
}

const time = (us) => (us === null || us === undefined ? "" : us >= 1000 ? `${(us / 1000).toPrecision(3)} ms` : `${us >= 100 ? Math.round(us) : Number(us.toPrecision(2))} µs`)

export function refresh() {
  if (recipe.good === null) return
  drawing.start(async (signal) => {
    trouble.hidden = true
    const answer = await ask("POST", "api/cost", asked({index: settings.index}), signal)
    draw(answer)
  })
}

function draw(answer) {
  const most = Math.max(1, ...answer.steps.flatMap((step) => [step.before_us ?? 0, step.after_us ?? 0]))
  const bar = (us, kind) => make("span", {class: `cost-bar ${kind}`}, (() => {
    const line = make("span")
    line.style.width = `${us ? Math.max(0.5, (100 * us) / most) : 0}%`
    return line
  })())
  const gain = answer.total_before_us && answer.total_after_us ? answer.total_before_us / answer.total_after_us : null
  const figures = [
    ["Plain", time(answer.total_before_us), "a sample, step by step"],
    ["Optimised", time(answer.total_after_us), gain ? `${gain.toPrecision(2)} × as fast` : ""],
    ["Throughput", answer.per_second ? Math.round(answer.per_second).toLocaleString() : "–", "samples a second, one worker"],
    ["Native", typeof answer.native === "string" ? "" : answer.native ? "yes" : "no", typeof answer.native === "string" ? answer.native : "the whole sample in one call"],
  ]
  const rules = answer.rules ?? []
  fill(place,
    make("dl", {class: "totals"}, figures.map(([name, value, about]) => make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, about))))),
    make("table", {class: "times"},
      make("caption", {}, "Time of each step"),
      make("thead", {}, make("tr", {}, ["Step", "before", "after", "before the plan, and after it"].map((head) => make("th", {scope: "col"}, head)))),
      make("tbody", {}, answer.steps.map((step) => make("tr", {}, make("th", {scope: "row"}, step.name), make("td", {}, time(step.before_us)), make("td", {}, step.after_us === null || step.after_us === undefined ? "–" : time(step.after_us)),
        make("td", {class: "bars", "aria-hidden": "true"}, bar(step.before_us, "before"), bar(step.after_us, "after")))))),
    rules.length ? make("section", {}, make("h3", {}, "What the optimiser did, and what it could not"), make("ul", {class: "rules"}, [...rules].sort((one, two) => two.fired - one.fired).map((rule) =>
      make("li", {"data-fired": Boolean(rule.fired)}, icon(rule.fired ? "done" : "minus"), make("div", {}, make("b", {}, rule.name), make("span", {class: "hidden"}, rule.fired ? " fired: " : " did not fire: "), make("p", {}, rule.why ?? "")))))) : null)
}

function verify() {
  fill(proof, make("li", {class: "quiet-words"}, "Comparing the optimised pipeline with the plain one…"))
  let any = false
  proving.start((signal) => listen("api/verify", asked({}), (line) => {
    if (!any) fill(proof)
    any = true
    if (line.error) throw new Error(line.error.message)
    const passed = line.passed ?? (line.done ? !proof.querySelector('[data-passed="false"]') : null)
    const words = [line.words ?? []].flat().join(", ")
    if (line.name || words) {
      proof.append(make("li", {"data-passed": String(passed)}, icon(passed === false ? "error" : "done"), make("div", {}, make("b", {}, line.done ? "Verified" : line.name), " ", words)))
    }
    if (line.done) say(passed === false ? "Verify found a difference" : "Verified")
  }, signal))
}
