// Requests to the server of this page, and answers that arrive line by line.

import {announce} from "./state.js"
import {tab, token} from "./session.js"

// The server refused a request: `code`, `message` and `fix` say why; `status` and `body` are the whole answer.
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `the server answered ${status}`)
    this.status = status
    this.body = body
    this.code = body?.error?.code ?? String(status)
    this.fix = body?.error?.fix ?? ""
  }
}

// The server did not answer: it is stopped, or starting.
export class Unreachable extends Error {}

export const isAbort = (error) => error?.name === "AbortError"

// A request cancels the one before of the same path and `lane`: the grid and the large sample have their own lanes.
async function send(method, path, body, signal, lane = "", usedToken = token()) {
  const headers = {"X-Studio-Token": usedToken, "X-Studio-Tab": tab() + lane}
  if (body !== undefined) headers["Content-Type"] = "application/json"
  let answer
  try {
    answer = await fetch(path, {
      method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  } catch (error) {
    if (isAbort(error)) throw error
    announce("away")
    throw new Unreachable("the studio's server does not answer")
  }
  if (answer.ok) return answer
  const problem = await answer.json().catch(() => null)
  if ([401, 403].includes(answer.status) && problem?.error?.code === "token") {
    if (token() !== usedToken) return send(method, path, body, signal, lane)
    announce("locked")
  }
  throw new Refused(answer.status, problem)
}

// An image of the server as an object URL.
export async function picture(path, signal) {
  return URL.createObjectURL(await (await send("GET", path, undefined, signal)).blob())
}

export const ask = async (method, path, body, signal) => (await send(method, path, body, signal)).json()

// Calls `receive` with each line of an answer as soon as it arrives.
export async function stream(path, body, receive, signal, lane = "") {
  const answer = await send("POST", path, body, signal, lane)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ""
  for (;;) {
    let part
    try {
      part = await reader.read()
    } catch (error) {
      if (signal?.aborted || isAbort(error)) throw new DOMException("stopped", "AbortError")
      announce("away")
      throw new Unreachable("the server stopped while it answered")
    }
    const lines = (rest + (part.value ?? "")).split("\n")
    rest = part.done ? "" : lines.pop()
    for (const line of lines) {
      if (signal?.aborted) throw new DOMException("stopped", "AbortError")
      if (line.trim()) receive(JSON.parse(line))
    }
    if (part.done) return
  }
}
