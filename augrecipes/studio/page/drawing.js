// Runs one drawing of a view at a time: a new one cancels the one before, and long ones show their progress.

import {fill, make} from "./dom.js"
import {Unreachable, isAbort} from "./server.js"
import {say, unsay} from "./state.js"

const GRACE = 140 // ms that a drawing has before a newer one cancels it: otherwise a moving slider would show nothing

export class Drawing {
  constructor() {
    this.place = make("div", {class: "progress"})
    this.trouble = make("p", {class: "trouble", role: "alert", hidden: true})
    this.bar = make("progress", {"aria-label": "Drawing"})
    this.words = make("span")
    this.running = null
    this.waiting = null
    fill(this.place, this.bar, this.words, make("button", {type: "button", class: "quiet", onclick: () => this.stop(true)}, "Stop"))
    this.place.hidden = true
  }

  failed(error) {
    this.trouble.hidden = false
    fill(this.trouble, error.message, error.fix ? ` ${error.fix}` : "")
  }

  // Runs `work(signal, progress)` now, or once the present one is cancelled; of several waiting, only the newest.
  start(work) {
    this.waiting = work
    if (!this.running) return void this.next()
    const age = performance.now() - this.running.begun
    if (age >= GRACE) this.running.controller.abort()
    else this.timer ??= setTimeout(() => {
      this.timer = null
      if (this.waiting) this.running?.controller.abort()
    }, GRACE - age)
  }

  async next() {
    const work = this.waiting
    if (!work) return
    this.waiting = null
    const run = {begun: performance.now(), controller: new AbortController(), late: null}
    this.running = run
    let state = null
    const paint = () => {
      if (!state) this.bar.removeAttribute("value")
      else [this.bar.max, this.bar.value] = [state.of, state.done]
      fill(this.words, state ? `${state.done} of ${state.of} drawn` : "Drawing", state?.each ? `, ${state.each} each` : "")
    }
    run.late = setTimeout(() => {
      paint()
      this.place.hidden = false
      say("Drawing")
    }, 300)
    const progress = (done, of) => {
      const each = (performance.now() - run.begun) / done
      state = {done, of, each: done && each > 200 ? `${(each / 1000).toFixed(1)} s` : null}
      if (!this.place.hidden) paint()
    }
    try {
      await work(run.controller.signal, progress)
    } catch (error) {
      if (!isAbort(error) && !(error instanceof Unreachable)) this.failed(error)
    } finally {
      clearTimeout(run.late)
      this.place.hidden = true
      this.running = null
      unsay("Drawing")
    }
    this.next()
  }

  // Cancels a long drawing after an edit; one that has just begun may finish.
  interrupt() {
    if (this.running && performance.now() - this.running.begun > GRACE) this.running.controller.abort()
  }

  stop(spoken = false) {
    this.waiting = null
    if (!this.running) return false
    this.running.controller.abort()
    if (spoken) say("Stopped")
    return true
  }
}
