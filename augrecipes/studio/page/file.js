// The recipe's file: opening and saving it, conflicts with changes on disk, and drafts of unsaved text.

import {dialog, diffView, notice} from "./dialog.js"
import {fill, find, make} from "./dom.js"
import * as editor from "./editor.js"
import {ask, Unreachable} from "./server.js"
import {closedTabTest, localStore, tab} from "./session.js"
import {announce, recipe, say} from "./state.js"

let saving = false

const draftKey = (owner) => `draft ${owner}`
export const unsaved = () => recipe.text !== recipe.saved

function setFile({path, text, sha, read_only: readOnly}) {
  Object.assign(recipe, {path, sha, saved: text, readOnly: Boolean(readOnly)})
}

// Opens the file, then restores the draft of this tab, or of a tab that was closed.
export async function open() {
  const answer = await ask("GET", "api/recipe")
  setFile(answer)
  editor.begin(answer.text)
  recipe.text = editor.text()
  await restore()
  show()
}

async function restore() {
  const isClosed = await closedTabTest()
  const drafts = localStore.keys().filter((key) => key.startsWith("draft "))
    .map((key) => [key, localStore.get(key)])
    .filter(([key, draft]) => draft?.path === recipe.path && (key === draftKey(tab()) || isClosed(key.slice("draft ".length))))
    .sort((one, other) => (other[0] === draftKey(tab())) - (one[0] === draftKey(tab())) || other[1].at - one[1].at)
  if (!drafts.length) return
  const [[key, draft]] = drafts
  if (draft.text === editor.text()) return localStore.drop(key)
  editor.put(draft.text)
  recipe.sha = draft.sha
  if (key !== draftKey(tab())) localStore.drop(key)
  notice(`Unsaved text of ${new Date(draft.at).toLocaleTimeString()} was restored.`, {
    name: "draft", lasting: true, actions: [["Use the file's text", () => editor.put(recipe.saved)]],
  })
}

// Keeps a draft in this browser until the text is saved.
export function textChanged(text) {
  recipe.text = text
  if (unsaved()) localStore.set(draftKey(tab()), {path: recipe.path, sha: recipe.sha, text, at: Date.now()})
  else localStore.drop(draftKey(tab()))
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
    textChanged(editor.text())
    notice(`Saved ${recipe.path}.`, {name: "saved"})
  } catch (error) {
    if (error.status === 409) conflict(error.body)
    else notice(error instanceof Unreachable ? "Not saved: the server does not answer. Your text is kept in this browser." : `Not saved: ${error.message}`, {name: "saved", kind: "bad"})
  } finally {
    saving = false
  }
}

function conflict(body) {
  dialog("The file changed on disk", [
    make("p", {}, `Another program has changed ${recipe.path} since you opened it here. Lines with + are yours, lines with - are the file's.`),
    diffView(body.diff ?? ""),
  ], [
    ["Keep typing", () => undefined],
    ["Use the file's text", async () => reload(true)],
    ["Overwrite the file", async () => save(true), "danger"],
  ], {wide: true})
}

// Reads the file again; `discard` replaces unsaved text, which undo brings back.
export async function reload(discard) {
  const answer = await ask("GET", "api/recipe")
  const clean = !unsaved()
  setFile(answer)
  if (discard || clean) editor.put(answer.text)
  textChanged(editor.text())
}

// Shows a notice that the file changed, or reloads it if nothing is unsaved.
export async function changedOnDisk() {
  if (saving) return
  if (!unsaved()) {
    await reload(false)
    return void notice("The file changed on disk; this is its new text.", {name: "disk"})
  }
  notice("The file changed on disk while you typed. Saving will show you the difference.", {name: "disk", lasting: true})
}
