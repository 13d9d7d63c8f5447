// Chooses the sample of a view: an index that all views share, with the name of its file.

import {counter, make} from "./dom.js"
import {change, on, settings, source} from "./state.js"

export function chooser() {
  const number = counter("Sample", settings.index, {}, (index) => change({index}))
  const name = make("span", {class: "sample-name"})
  const show = () => {
    number.show(settings.index)
    name.textContent = source.names[settings.index] ?? ""
  }
  on("settings", show)
  on("source", () => {
    number.limit(Math.max(0, source.count - 1))
    if (source.count && settings.index >= source.count) change({index: 0})
    show()
  })
  return make("span", {class: "chooser"}, number, name)
}
