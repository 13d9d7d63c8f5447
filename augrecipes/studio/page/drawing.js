// One piece of drawing at a time for a view: the next ends the one before, and says how far it is when it takes long.

import {fill, make} from "./dom.js"
import {Away, wasStopped} from "./server.js"
import {say, unsay} from "./state.js"

const GRACE = 140 // milliseconds that a drawing may go on after a newer one is asked for: sliders would starve without

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

  // `work(signal, progress)` runs now, or as soon as the one before is stopped; only the newest of those that wait.
  start(work) {
    this.waiting = work
    if (!this.running) return void this.next()
    const age = performance.now() - this.running.begun
    if (age >= GRACE) this.running.stopper.abort()
    else this.timer ??= setTimeout(() => {
      this.timer = null
      if (this.waiting) this.running?.stopper.abort()
    }, GRACE - age)
  }

  async next() {
    const work = this.waiting
    if (!work) return
    this.waiting = null
    const mine = {begun: performance.now(), stopper: new AbortController(), late: null}
    this.running = mine
    let state = null
    const paint = () => {
      if (!state) this.bar.removeAttribute("value")
      else [this.bar.max, this.bar.value] = [state.of, state.done]
      fill(this.words, state ? `${state.done} of ${state.of} drawn` : "Drawing", state?.each ? `, ${state.each} each` : "")
    }
    mine.late = setTimeout(() => {
      paint()
      this.place.hidden = false
      say("Drawing")
    }, 300)
    const progress = (done, of) => {
      const each = (performance.now() - mine.begun) / done
      state = {done, of, each: done && each > 200 ? `${(each / 1000).toFixed(1)} s` : null}
      if (!this.place.hidden) paint()
    }
    try {
      await work(mine.stopper.signal, progress)
    } catch (error) {
      if (!wasStopped(error) && !(error instanceof Away)) this.failed(error)
    } finally {
      clearTimeout(mine.late)
      this.place.hidden = true
      this.running = null
      unsay("Drawing")
    }
    this.next()
  }

  // An edit ends what takes long; what has only begun may as well be seen.
  interrupt() {
    if (this.running && performance.now() - this.running.begun > GRACE) this.running.stopper.abort()
  }

  stop(spoken = false) {
    this.waiting = null
    if (!this.running) return false
    this.running.stopper.abort()
    if (spoken) say("Stopped")
    return true
  }
}
