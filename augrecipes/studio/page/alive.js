// Asks every two seconds whether the server is there, says so when it is not, and goes on when it is back.

import {hush, notice} from "./dialog.js"
import {find} from "./dom.js"
import * as file from "./file.js"
import {ask, Refused} from "./server.js"
import {token} from "./session.js"
import {announce, on, recipe} from "./state.js"

const EVERY = 2000
let known = null
let state = "here"
let asked = false
let diskSeen

function turn(to) {
  if (state === to) return
  state = to
  find("#server").dataset.state = to
  const words = {here: "connected", away: "server does not answer", locked: "another server answers"}[to]
  find("#server-words").textContent = words
  hush("server")
  if (to === "away") {
    notice(`The studio's server does not answer. Go on typing: the text is kept in this browser. Start it again with --port ${location.port} and open the address that it prints: this page goes on, too.`, {name: "server", kind: "bad", lasting: true})
  } else if (to === "locked") {
    notice("A server answers here that was started anew and does not know this page. Open the address that it printed: what you typed is kept in this browser.", {name: "server", kind: "bad", lasting: true})
  }
}

async function look() {
  if (asked) return
  asked = true
  try {
    const used = token() // another server has another
    const answer = await ask("GET", "api/alive")
    const back = state !== "here" || (known !== null && known !== used)
    turn("here")
    if (back) {
      notice("The server is back.", {name: "server"})
      announce("back")
    }
    known = used
    if (recipe.path !== null && recipe.sha !== null && answer.sha !== undefined && answer.sha !== recipe.sha && answer.sha !== diskSeen) {
      diskSeen = answer.sha
      await file.changedOnDisk()
    }
  } catch (error) {
    if (!(error instanceof Refused)) turn("away")
    else if (error.code === "token") turn("locked")
  } finally {
    asked = false
  }
}

export function watch() {
  on("away", () => turn("away"))
  on("locked", () => turn("locked"))
  look()
  setInterval(look, EVERY)
  addEventListener("focus", look)
  addEventListener("storage", (event) => event.key === "studio.token" && look())
}
