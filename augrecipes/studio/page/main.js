// Starts the page, and connects its parts: typed text is checked, checked recipes are drawn.

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
import {ask, Unreachable} from "./server.js"
import {claimTab, token} from "./session.js"
import * as sliders from "./sliders.js"
import * as stages from "./stages.js"
import {announce, change, flip, narrow, on, recipe, schema, settings, source, switchCount, switches} from "./state.js"

const views = [draws.view, stages.view, compare.view, cost.view, exporting.view]
let resolved = null
let textShown = "written"
let sourceJson = ""
let drawnText = null
let lastKind

// Redraws the open view, and marks the others as outdated.
function redraw() {
  for (const view of views) view.old = true
  refreshActive()
}

function refreshActive() {
  const view = layout.active()
  if (!view.old || recipe.good === null) return
  view.old = false
  view.refresh()
}

function controls() {
  const seed = counter("Seed", settings.seed, {}, (number) => change({seed: number}))
  const epoch = counter("Epoch", settings.epoch, {}, (number) => change({epoch: number, at: number}))
  const ages = make("input", {type: "range", id: "ages", min: 0, value: settings.epoch, hidden: true, "aria-label": "Epoch, from the first to the last at which a number of the recipe changes",
    oninput: () => change({epoch: Number(ages.value), at: Number(ages.value)})})
  const optimise = make("select", {id: "optimise", "aria-label": "Optimiser", onchange: () => change({optimize: optimise.value})},
    [["", "as written"], ["none", "none"], ["exact", "exact"], ["fast", "fast"]].map(([value, text]) => make("option", {value, selected: value === settings.optimize}, text)))
  fill(find("#which"), seed, epoch, ages,
    make("label", {class: "counter"}, make("span", {class: "caption"}, "Optimise"), optimise),
    make("button", {type: "button", id: "switched", class: "chip", hidden: true, title: "Some steps are switched off or forced: show them as written", onclick: resetSwitches}))
  on("settings", (changed) => {
    seed.show(settings.seed)
    epoch.show(settings.epoch)
    ages.value = settings.epoch
    optimise.value = settings.optimize
    const affected = {seed: true, epoch: true, optimize: true, samples: "draws", epochs: "draws", first: "draws", size: "draws", turns: "draws", index: "sample", at: "sample", tiles: true}
    const hit = changed.map((name) => affected[name]).filter(Boolean)
    if (!hit.length) return
    for (const view of views) if (hit.includes(true) || hit.includes(view.name) || (hit.includes("sample") && view.sample)) view.old = true
    refreshActive()
  })
  on("checked", () => {
    ages.hidden = !recipe.lastEpoch
    ages.max = recipe.lastEpoch || 0
    ages.value = settings.epoch
  })
  on("switches", () => {
    const chip = find("#switched")
    chip.hidden = switchCount() === 0
    fill(chip, `${switchCount()} ${switchCount() === 1 ? "switch" : "switches"} set`, icon("close"))
    redraw()
  })
}

const resetSwitches = () => flip((all) => {
  all.off.clear()
  all.force.clear()
})

function panes() {
  const side = make("div", {id: "resolved", hidden: true})
  find("#editor").after(side)
  resolved = editor.readOnly(side, "Recipe as resolved, read only")
  const show = (which) => {
    textShown = which
    side.hidden = which === "written"
    find("#editor").hidden = which !== "written"
    showResolved()
  }
  find("#which-text").append(choice("Which text", [["written", "Written", "The recipe as you write it"], ["resolved", "Resolved", "The recipe with its variants and the recipes that it extends filled in"]], "written", show))
  const showResolved = () => resolved.put(recipe.resolved ?? (recipe.good === recipe.text ? "# This recipe extends no other: it is complete as written.\n" : "# Fix the errors first.\n"))
  on("checked", () => textShown === "resolved" && showResolved())
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
  if (known) dialog("The step at the cursor", known)
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
    ["F6", "Go to the next part of the page", nextPane],
    ["F1", "Show the keys", keys.help],
  ])
  keys.bind("In the editor", [
    ["Mod-Space", "Complete"], ["Mod-.", "Fix the problem on this line"], ["F8", "Go to the next problem"],
    ["Mod-z", "Undo"], ["Mod-y", "Redo"], ["Mod-f", "Search and replace"], ["Escape", "Leave the editor"],
  ])
  keys.bind("Views (outside the editor)", [
    ...views.map((view, at) => [String(at + 1), view.title, () => layout.open(view.name)]),
    ["e", "Editor", () => editor.focus()],
    ["g", "Gallery", gallery.show],
    ["i", "Import a file", gallery.choose],
    ["d", "Explain the step at the cursor", explainStep],
    ["x", "Extremes of the step at the cursor", sliders.extremes],
    ["t", "Light or dark", layout.nextTheme],
    ["?", "Show the keys", keys.help],
  ])
  keys.bind("Draws (outside the editor)", [
    ["s", "Next seed", step("seed", 1)], ["S", "Previous seed", step("seed", -1)],
    ["]", "Next epoch", step("epoch", 1)], ["[", "Previous epoch", step("epoch", -1)],
    [".", "Next sample", () => change({index: Math.min(source.count - 1, settings.index + 1)})],
    [",", "Previous sample", () => change({index: Math.max(0, settings.index - 1)})],
    ["o", "Next setting of the optimiser", () => change({optimize: speeds[(speeds.indexOf(settings.optimize) + 1) % speeds.length]})],
    ["m", "Masks", toggle("masks")], ["b", "Boxes", toggle("boxes")], ["k", "Keypoints", toggle("keypoints")], ["l", "Labels", toggle("labels")], ["c", "Alternate between classes", toggle("turns")],
    ["ArrowLeft ArrowRight", "Go from image to image"], ["Enter", "Show a sample large"], ["Escape", "Back, or stop drawing", () => layout.active().stop()],
    ["w", "All steps as written", resetSwitches],
    ["p", "Pin the recipe as B", compare.pin],
  ])
  keys.bind("Export (outside the editor)", [["y", "Download the YAML", exporting.downloadYaml]])
  keys.listen()
}

async function loadSchema() {
  Object.assign(schema, await ask("GET", "api/schema"))
  announce("schema")
}

// Loads the list of data as the recipe reads them: a recipe of pairs sees other files than one of images.
async function loadSource() {
  const found = await ask("POST", "api/source", {text: recipe.good})
  if (JSON.stringify(found) === sourceJson) return
  sourceJson = JSON.stringify(found)
  Object.assign(source, found)
  const kind = {images: "images", pairs: "pairs", bags: "bags"}[source.kind] ?? "samples"
  fill(find("#data"), source.problem ? "no data" : `${source.count.toLocaleString()} ${kind}${source.demo ? " of the demo" : ""}`)
  find("#data-problem").hidden = !source.problem
  fill(find("#data-problem"), source.problem ?? "")
  announce("source")
  if (Number.isInteger(source.seed)) change({seed: source.seed}) // a store of baked draws has only this seed
}

function connect() {
  on("typed", (text) => {
    file.textChanged(text)
    for (const view of views) view.interrupt?.()
    problems.check()
  })
  on("checked", async ({bad, wall}) => {
    find("#views").dataset.behind = String(bad)
    file.show()
    find("#behind").hidden = !bad || recipe.good === null
    find("#timing").textContent = `checked in ${Math.max(1, Math.round(wall))} ms`
    const text = recipe.good
    if (text !== null && text !== drawnText) {
      drawnText = text
      const found = loadSource().catch(() => undefined)
      if (recipe.kind !== lastKind) await found // it reads other files, and shows them in another way
      lastKind = recipe.kind
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
    await loadSchema().catch(() => undefined)
    drawnText = null
    lastKind = undefined
    sourceJson = ""
    await problems.check()
  })
  on("view", (name) => layout.open(name))
  on("download", exporting.downloadYaml)
}

async function start() {
  await claimTab()
  editor.open(find("#editor"))
  layout.bindTheme()
  layout.bindBorder()
  controls()
  panes()
  sliders.watch()
  gallery.watch()
  connect()
  layout.tabs(views, refreshActive)
  bindKeys()
  if (!token()) return void showNoToken()
  alive.watch()
  try {
    await loadSchema()
    await file.open()
    gallery.load().catch(() => undefined)
  } catch (error) {
    if (error instanceof Unreachable) return void on("back", () => location.reload())
    return void notice(error.message, {kind: "bad", lasting: true})
  }
  await problems.check()
  editor.placeCursor(recipe.steps[0]?.key?.to ?? recipe.steps[0]?.from)
  if (!narrow.matches) editor.focus() // on a phone the keyboard would cover half the page
}

function showNoToken() {
  fill(find("#views"), make("p", {class: "stranger"}, "This page has no token. Open the address that augrecipes studio printed: it ends with ?token=…"))
}

start()
