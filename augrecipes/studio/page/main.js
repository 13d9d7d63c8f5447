// Brings the page up, and says who hears whom: what is typed is checked, what is checked is drawn.

import * as alive from "./alive.js"
import * as compare from "./compare.js"
import * as cost from "./cost.js"
import {dialog, notice} from "./dialog.js"
import {choice, counter, fill, find, icon, make} from "./dom.js"
import * as draws from "./draws.js"
import * as editor from "./editor.js"
import * as exporting from "./export.js"
import * as file from "./file.js"
import * as gallery from "./gallery.js"
import * as keys from "./keys.js"
import * as layout from "./layout.js"
import * as problems from "./problems.js"
import {ask, Away} from "./server.js"
import {claimTab, token} from "./session.js"
import * as sliders from "./sliders.js"
import * as stages from "./stages.js"
import {announce, change, flip, narrow, on, recipe, schema, settings, source, switched, switches} from "./state.js"

const views = [draws.view, stages.view, compare.view, cost.view, exporting.view]
let resolved = null
let written = "written"
let seen = ""
let informed = null
let kindBefore

// Draws what is looked at, and remembers for the other views that they are old.
function redraw() {
  for (const view of views) view.old = true
  look()
}

function look() {
  const view = layout.active()
  if (!view.old || recipe.good === null) return
  view.old = false
  view.refresh()
}

function controls() {
  const seed = counter("Seed", settings.seed, {}, (number) => change({seed: number}))
  const epoch = counter("Epoch", settings.epoch, {}, (number) => change({epoch: number, at: number}))
  const ages = make("input", {type: "range", id: "ages", min: 0, value: settings.epoch, hidden: true, "aria-label": "Epoch, from the first to where no number of the recipe changes any more",
    oninput: () => change({epoch: Number(ages.value), at: Number(ages.value)})})
  const optimise = make("select", {id: "optimise", "aria-label": "Optimiser", onchange: () => change({optimize: optimise.value})},
    [["", "as written"], ["none", "none"], ["exact", "exact"], ["fast", "fast"]].map(([value, text]) => make("option", {value, selected: value === settings.optimize}, text)))
  fill(find("#which"), seed, epoch, ages,
    make("label", {class: "counter"}, make("span", {class: "caption"}, "Optimise"), optimise),
    make("button", {type: "button", id: "switched", class: "chip", hidden: true, title: "Steps are switched off or forced for the images: show them as written", onclick: asWritten}))
  on("settings", (changed) => {
    seed.show(settings.seed)
    epoch.show(settings.epoch)
    ages.value = settings.epoch
    optimise.value = settings.optimize
    const drawn = {seed: true, epoch: true, optimize: true, samples: "draws", epochs: "draws", first: "draws", size: "draws", turns: "draws", index: "sample", at: "sample", tiles: true}
    const hit = changed.map((name) => drawn[name]).filter(Boolean)
    if (!hit.length) return
    for (const view of views) if (hit.includes(true) || hit.includes(view.name) || (hit.includes("sample") && view.sample)) view.old = true
    look()
  })
  on("checked", () => {
    ages.hidden = !recipe.lastEpoch
    ages.max = recipe.lastEpoch || 0
    ages.value = settings.epoch
  })
  on("switches", () => {
    const chip = find("#switched")
    chip.hidden = switched() === 0
    fill(chip, `${switched()} ${switched() === 1 ? "switch" : "switches"} set`, icon("close"))
    redraw()
  })
}

const asWritten = () => flip((all) => {
  all.off.clear()
  all.force.clear()
})

function panes() {
  const side = make("div", {id: "resolved", hidden: true})
  find("#editor").after(side)
  resolved = editor.still(side, "Recipe as resolved, read only")
  const show = (which) => {
    written = which
    side.hidden = which === "written"
    find("#editor").hidden = which !== "written"
    unfold()
  }
  find("#which-text").append(choice("Which text", [["written", "Written", "The recipe as you write it"], ["resolved", "Resolved", "The recipe with what it extends, and variants, put in"]], "written", show))
  const unfold = () => resolved.put(recipe.resolved ?? (recipe.good === recipe.text ? "# This recipe extends no other: it is whole as it is written.\n" : "# Mend the errors first.\n"))
  on("checked", () => written === "resolved" && unfold())
  find("#undo").addEventListener("click", () => editor.step(editor.undo))
  find("#redo").addEventListener("click", () => editor.step(editor.redo))
  find("#save").addEventListener("click", () => file.save())
  find("#open-gallery").addEventListener("click", gallery.show)
  find("#import").addEventListener("click", gallery.choose)
  find("#help").addEventListener("click", keys.help)
  find("#show-extremes").addEventListener("click", sliders.extremes)
  find("#explain-step").addEventListener("click", explainStep)
}

function explainStep() {
  const known = sliders.explainStep()
  if (known) dialog("The step under the cursor", known)
}

function nextPane() {
  const stops = [() => editor.focus(), () => find("#step input, #step select, #step button")?.focus(), () => find('[role="tab"][aria-selected="true"]').focus(), () => (find(".view:not([hidden]) .cell") ?? find(".view:not([hidden]) button"))?.focus()]
  const here = document.activeElement
  const at = editor.has(here) ? 0 : here.closest("#step") ? 1 : here.closest("#tabs") ? 2 : here.closest("#views") ? 3 : -1
  let next = (at + 1) % stops.length
  if (next === 1 && find("#step").hidden) next = 2
  stops[next]()
}

function bindKeys() {
  const step = (name, by) => () => change({[name]: Math.max(0, settings[name] + by), ...(name === "epoch" ? {at: Math.max(0, settings.epoch + by)} : {})})
  const speeds = ["", "none", "exact", "fast"]
  const toggle = (name) => () => change({[name]: !settings[name]})
  keys.bind("Everywhere", [
    ["Mod-s", "Save the recipe", () => file.save()],
    ["F6", "To the next part of the page", nextPane],
    ["F1", "Show the keys", keys.help],
  ])
  keys.bind("In the editor", [
    ["Mod-Space", "Complete"], ["Mod-.", "Fix the problem on this line"], ["F8", "To the next problem"],
    ["Mod-z", "Undo"], ["Mod-y", "Redo"], ["Mod-f", "Search and replace"], ["Escape", "Leave the editor"],
  ])
  keys.bind("Views (outside the editor)", [
    ...views.map((view, at) => [String(at + 1), view.title, () => layout.open(view.name)]),
    ["e", "Editor", () => editor.focus()],
    ["g", "Gallery", gallery.show],
    ["i", "Import a file", gallery.choose],
    ["d", "What the step under the cursor does", explainStep],
    ["x", "Extremes of the step under the cursor", sliders.extremes],
    ["t", "Light or dark", layout.turn],
    ["?", "Show the keys", keys.help],
  ])
  keys.bind("Draws (outside the editor)", [
    ["s", "Next seed", step("seed", 1)], ["S", "Previous seed", step("seed", -1)],
    ["]", "Next epoch", step("epoch", 1)], ["[", "Previous epoch", step("epoch", -1)],
    [".", "Next sample", () => change({index: Math.min(source.count - 1, settings.index + 1)})],
    [",", "Previous sample", () => change({index: Math.max(0, settings.index - 1)})],
    ["o", "Next setting of the optimiser", () => change({optimize: speeds[(speeds.indexOf(settings.optimize) + 1) % speeds.length]})],
    ["m", "Masks", toggle("masks")], ["b", "Boxes", toggle("boxes")], ["k", "Keypoints", toggle("keypoints")], ["l", "Labels", toggle("labels")], ["c", "Classes in turn", toggle("turns")],
    ["ArrowLeft ArrowRight", "From image to image"], ["Enter", "One sample large"], ["Escape", "Back, or stop drawing", () => layout.active().stop()],
    ["w", "All steps as written", asWritten],
    ["p", "Pin the recipe as B", compare.pin],
  ])
  keys.bind("Export (outside the editor)", [["y", "Download the YAML", exporting.downloadYaml]])
  keys.listen()
}

async function learn() {
  Object.assign(schema, await ask("GET", "api/schema"))
  announce("schema")
}

// What data there are, as the recipe reads them: a recipe of pairs sees other files than one of images.
async function data() {
  const found = await ask("POST", "api/source", {text: recipe.good})
  if (JSON.stringify(found) === seen) return
  seen = JSON.stringify(found)
  Object.assign(source, found)
  const kind = {images: "images", pairs: "pairs", bags: "bags"}[source.kind] ?? "samples"
  fill(find("#data"), source.problem ? "no data" : `${source.count.toLocaleString()} ${kind}${source.demo ? " of the demo" : ""}`)
  find("#data-problem").hidden = !source.problem
  fill(find("#data-problem"), source.problem ?? "")
  announce("source")
  if (Number.isInteger(source.seed)) change({seed: source.seed}) // a store whose draws were baked has no others
}

function news() {
  on("typed", (text) => {
    file.heard(text)
    for (const view of views) view.interrupt?.()
    problems.check()
  })
  on("checked", async ({bad, wall}) => {
    find("#views").dataset.behind = String(bad)
    file.show()
    find("#behind").hidden = !bad || recipe.good === null
    find("#timing").textContent = `checked in ${Math.max(1, Math.round(wall))} ms`
    const text = recipe.good
    if (text !== null && text !== informed) {
      informed = text
      const found = data().catch(() => undefined)
      if (recipe.kind !== kindBefore) await found // other files are read, and shown otherwise
      kindBefore = recipe.kind
      if (text !== recipe.good) return
      redraw()
    } else if (!bad) redraw()
    const paths = new Set(recipe.steps.map((step) => step.path))
    if (!bad && [...switches.off, ...switches.force.keys()].some((path) => !paths.has(path))) {
      flip((all) => {
        for (const path of [...all.off]) if (!paths.has(path)) all.off.delete(path)
        for (const path of [...all.force.keys()]) if (!paths.has(path)) all.force.delete(path)
      })
    }
  })
  on("back", async () => {
    await learn().catch(() => undefined)
    informed = null
    kindBefore = undefined
    seen = ""
    await problems.check()
  })
  on("view", (name) => layout.open(name))
  on("download", exporting.downloadYaml)
}

async function begin() {
  await claimTab()
  editor.open(find("#editor"))
  layout.light()
  layout.border()
  controls()
  panes()
  sliders.watch()
  gallery.watch()
  news()
  layout.tabs(views, look)
  bindKeys()
  if (!token()) return void stranger()
  alive.watch()
  try {
    await learn()
    await file.open()
    gallery.load().catch(() => undefined)
  } catch (error) {
    if (error instanceof Away) return void on("back", () => location.reload())
    return void notice(error.message, {kind: "bad", lasting: true})
  }
  await problems.check()
  editor.beginAt(recipe.steps[0]?.key?.to ?? recipe.steps[0]?.from)
  if (!narrow.matches) editor.focus() // on a phone the keyboard would cover half the page
}

function stranger() {
  fill(find("#views"), make("p", {class: "stranger"}, "This page has no token of its server. Open the address that augrecipes studio printed: it ends with ?token=…"))
}

begin()
