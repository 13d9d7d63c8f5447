// What this page keeps in the browser: the token of its server, its name among tabs, settings and what was typed.

// Browsers may refuse storage, as in a frame of a notebook: then the page remembers as long as it is open.
function keeper(kind) {
  const memory = new Map()
  let storage = null
  try {
    storage = window[kind]
    storage.getItem("studio")
  } catch {
    storage = null
  }
  const attempt = (work, otherwise) => {
    try {
      return storage ? work() : otherwise()
    } catch {
      return otherwise()
    }
  }
  return {
    get(key, fallback = null) {
      const text = attempt(() => storage.getItem(`studio.${key}`), () => memory.get(key) ?? null) ?? memory.get(key)
      try {
        return text === null || text === undefined ? fallback : JSON.parse(text)
      } catch {
        return fallback
      }
    },
    set(key, value) {
      const text = JSON.stringify(value)
      memory.set(key, text)
      attempt(() => storage.setItem(`studio.${key}`, text), () => undefined)
    },
    drop(key) {
      memory.delete(key)
      attempt(() => storage.removeItem(`studio.${key}`), () => undefined)
    },
    keys() {
      const all = attempt(() => Object.keys(storage), () => []).filter((key) => key.startsWith("studio."))
      return [...new Set([...all.map((key) => key.slice("studio.".length)), ...memory.keys()])]
    },
  }
}

export const lasting = keeper("localStorage") // of this address, shared by its tabs
export const passing = keeper("sessionStorage") // of this tab, through reloads

// The token stands in the address once, and is taken out of it so that nobody reads it off the screen or the history.
const address = new URL(location.href)
if (address.searchParams.has("token")) {
  lasting.set("token", address.searchParams.get("token"))
  address.searchParams.delete("token")
  history.replaceState(null, "", address.pathname + address.search + address.hash)
}

// Another tab may have learnt a newer one: it is read each time.
export const token = () => lasting.get("token", "")

const fresh = () => [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

let name = passing.get("tab") ?? fresh()

// A tab holds a lock of its name as long as it lives: a copied tab takes another name, and texts of dead tabs are found.
export async function claimTab() {
  if (!navigator.locks) return passing.set("tab", name)
  const claim = (wanted) => new Promise((resolve) => {
    navigator.locks.request(`studio.tab.${wanted}`, {ifAvailable: true}, (lock) => {
      resolve(lock !== null)
      return lock === null ? undefined : new Promise(() => undefined)
    }).catch(() => resolve(true))
  })
  let mine = await claim(name)
  for (let again = 0; again < 6 && !mine; again++) { // of a page that is loaded again the old one may still be going
    await new Promise((resolve) => setTimeout(resolve, 50))
    mine = await claim(name)
  }
  if (!mine) {
    name = fresh()
    await claim(name)
  }
  return passing.set("tab", name)
}

export const tab = () => name

// Whether the tab of a name is gone; where the browser does not tell, as in a frame of a notebook, none is known to be.
export async function goneTabs() {
  try {
    const {held} = await navigator.locks.query()
    const living = new Set(held.map((lock) => lock.name.replace("studio.tab.", "")))
    return (tabName) => !living.has(tabName)
  } catch {
    return () => false
  }
}
