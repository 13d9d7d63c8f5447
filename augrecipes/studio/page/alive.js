// Asks the server every two seconds whether it is there, shows when it is not, and resumes when it is back.

import {closeNotice, notice} from "./dialog.js"
import {find} from "./dom.js"
import * as file from "./file.js"
import {ask, Refused} from "./server.js"
import {token} from "./session.js"
import {announce, on, recipe} from "./state.js"

const EVERY = 2000
let knownToken = null
let state = "here"
let pending = false
let reportedSha

function setState(to) {
  if (state === to) return
  state = to
  find("#server").dataset.state = to
  const words = {here: "connected", away: "server does not answer", locked: "another server answers"}[to]
  find("#server-words").textContent = words
  closeNotice("server")
  if (to === "away") {
    notice(`The studio's server does not answer. You can go on typing: the text is kept in this browser. Start the server again with --port ${location.port} and open the address that it prints; this page then resumes, too.`, {name: "server", kind: "bad", lasting: true})
  } else if (to === "locked") {
    notice("The server was restarted and does not know this page. Open the address that it printed: what you typed is kept in this browser.", {name: "server", kind: "bad", lasting: true})
  }
}

async function poll() {
  if (pending) return
  pending = true
  try {
    const current = token() // each server has its own
    const answer = await ask("GET", "api/alive")
    const back = state !== "here" || (knownToken !== null && knownToken !== current)
    setState("here")
    if (back) {
      notice("The server is back.", {name: "server"})
      announce("back")
    }
    knownToken = current
    if (recipe.path !== null && recipe.sha !== null && answer.sha !== undefined && answer.sha !== recipe.sha && answer.sha !== reportedSha) {
      reportedSha = answer.sha
      await file.changedOnDisk()
    }
  } catch (error) {
    if (!(error instanceof Refused)) setState("away")
    else if (error.code === "token") setState("locked")
  } finally {
    pending = false
  }
}

export function watch() {
  on("away", () => setState("away"))
  on("locked", () => setState("locked"))
  poll()
  setInterval(poll, EVERY)
  addEventListener("focus", poll)
  addEventListener("storage", (event) => event.key === "studio.token" && poll())
}
