// The recipe's file: opening and saving it, conflicts with what others wrote, and what was typed and is not saved yet.

import {dialog, difference, notice} from "./dialog.js"
import {fill, find, make} from "./dom.js"
import * as editor from "./editor.js"
import {ask, Away} from "./server.js"
import {goneTabs, lasting, tab} from "./session.js"
import {announce, recipe, say} from "./state.js"

let saving = false

const draftKey = (owner) => `draft ${owner}`
export const unsaved = () => recipe.text !== recipe.saved

function take({path, text, sha, read_only: readOnly}) {
  Object.assign(recipe, {path, sha, saved: text, readOnly: Boolean(readOnly)})
}

// Opens the file, then puts back what this tab, or a tab that is gone, had typed into it.
export async function open() {
  const answer = await ask("GET", "api/recipe")
  take(answer)
  editor.begin(answer.text)
  recipe.text = editor.text()
  await restore()
  show()
}

async function restore() {
  const gone = await goneTabs()
  const drafts = lasting.keys().filter((key) => key.startsWith("draft "))
    .map((key) => [key, lasting.get(key)])
    .filter(([key, draft]) => draft?.path === recipe.path && (key === draftKey(tab()) || gone(key.slice("draft ".length))))
    .sort((one, other) => (other[0] === draftKey(tab())) - (one[0] === draftKey(tab())) || other[1].at - one[1].at)
  if (!drafts.length) return
  const [[key, draft]] = drafts
  if (draft.text === editor.text()) return lasting.drop(key)
  editor.put(draft.text)
  recipe.sha = draft.sha
  if (key !== draftKey(tab())) lasting.drop(key)
  notice(`What you typed at ${new Date(draft.at).toLocaleTimeString()} and did not save is back.`, {
    name: "draft", lasting: true, actions: [["Take the file's text", () => editor.put(recipe.saved)]],
  })
}

// What is typed stays in this browser until it is saved.
export function heard(text) {
  recipe.text = text
  if (unsaved()) lasting.set(draftKey(tab()), {path: recipe.path, sha: recipe.sha, text, at: Date.now()})
  else lasting.drop(draftKey(tab()))
  show()
}

export function show() {
  const name = recipe.path ? recipe.path.split(/[\\/]/).at(-1) : recipe.name ?? "untitled recipe"
  fill(find("#file-name"), name)
  find("#file-name").title = recipe.path ?? "This recipe has no file yet: download it"
  const state = unsaved() ? (recipe.path ? "not saved" : "kept in this browser") : recipe.path ? "saved" : "no file"
  fill(find("#file-state"), recipe.readOnly ? `${state ? `${state}, ` : ""}read only` : state)
  find("#file").dataset.unsaved = unsaved()
  find("#save").disabled = recipe.readOnly || !recipe.path || !unsaved()
  document.title = `${unsaved() ? "• " : ""}${name} · augrecipes studio`
}

export async function save(force = false) {
  if (saving) return
  if (recipe.readOnly) return void notice("This studio was started with --read-only: download the recipe instead.", {kind: "bad"})
  if (!recipe.path) return void announce("download")
  if (!unsaved() && !force) return void say("Nothing to save")
  saving = true
  const {text} = recipe
  try {
    const answer = await ask("PUT", "api/recipe", {text: text, base_sha: recipe.sha, force})
    Object.assign(recipe, {sha: answer.sha, saved: text})
    heard(editor.text())
    notice(`Saved ${recipe.path}.`, {name: "saved"})
  } catch (error) {
    if (error.status === 409) conflict(error.body)
    else notice(error instanceof Away ? "Not saved: the server does not answer. Your text is kept in this browser." : `Not saved: ${error.message}`, {name: "saved", kind: "bad"})
  } finally {
    saving = false
  }
}

function conflict(body) {
  dialog("The file changed on disk", [
    make("p", {}, `Something else wrote ${recipe.path} since you opened it here. Lines with + are yours, lines with - are the file's.`),
    difference(body.diff ?? ""),
  ], [
    ["Keep typing", () => undefined],
    ["Take the file's text", async () => reload(true)],
    ["Write mine over it", async () => save(true), "danger"],
  ], {wide: true})
}

// The file as it is now; `over` what was typed, which undo brings back.
export async function reload(over) {
  const answer = await ask("GET", "api/recipe")
  const clean = !unsaved()
  take(answer)
  if (over || clean) editor.put(answer.text)
  heard(editor.text())
}

// Says that the file changed, or takes it over where nothing was typed.
export async function changedOnDisk() {
  if (saving) return
  if (!unsaved()) {
    await reload(false)
    return void notice("The file changed on disk; this is its new text.", {name: "disk"})
  }
  notice("The file changed on disk while you typed. Saving will show you the difference.", {name: "disk", lasting: true})
}
