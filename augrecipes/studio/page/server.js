// Questions to the server that this page came from, and answers that arrive line by line.

import {announce} from "./state.js"
import {tab, token} from "./session.js"

// The server answered, and refused: `code`, `message` and `fix` are its words, `status` and `body` the whole.
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `the server answered ${status}`)
    this.status = status
    this.body = body
    this.code = body?.error?.code ?? String(status)
    this.fix = body?.error?.fix ?? ""
  }
}

// Nothing answered: the server is stopped, or starting.
export class Away extends Error {}

export const wasStopped = (error) => error?.name === "AbortError"

// The newest question of a `lane` to a path ends the one before: the grid and the large sample have each their own.
async function send(method, path, body, signal, lane = "", used = token()) {
  const headers = {"X-Studio-Token": used, "X-Studio-Tab": tab() + lane}
  if (body !== undefined) headers["Content-Type"] = "application/json"
  let answer
  try {
    answer = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  } catch (error) {
    if (wasStopped(error)) throw error
    announce("away")
    throw new Away("the studio's server does not answer")
  }
  if (answer.ok) return answer
  const problem = await answer.json().catch(() => null)
  if ([401, 403].includes(answer.status) && problem?.error?.code === "token") {
    if (token() !== used) return send(method, path, body, signal, lane)
    announce("locked")
  }
  throw new Refused(answer.status, problem)
}

// An image that the server keeps, as an address of this page.
export async function picture(path, signal) {
  return URL.createObjectURL(await (await send("GET", path, undefined, signal)).blob())
}

export const ask = async (method, path, body, signal) => (await send(method, path, body, signal)).json()

// Calls `take` with each line of an answer as soon as it is there.
export async function listen(path, body, take, signal, lane = "") {
  const answer = await send("POST", path, body, signal, lane)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    let part
    try {
      part = await reader.read()
    } catch (error) {
      if (signal?.aborted || wasStopped(error)) throw new DOMException("stopped", "AbortError")
      announce("away")
      throw new Away("the server stopped while it answered")
    }
    const lines = (rest + (part.value ?? "")).split("\n")
    rest = part.done ? "" : lines.pop()
    for (const line of lines) {
      if (signal?.aborted) throw new DOMException("stopped", "AbortError")
      if (line.trim()) take(JSON.parse(line))
    }
    if (part.done) return
  }
}
