// What this page keeps in the browser: the token of its server, the name of its tab, settings and drafts.

// Browsers may refuse storage, as in a frame of a notebook: the page then keeps it in memory.
function makeStore(kind) {
  const memory = new Map()
  let storage = null
  try {
    storage = window[kind]
    storage.getItem("studio")
  } catch {
    storage = null
  }
  const attempt = (work, fallBack) => {
    try {
      return storage ? work() : fallBack()
    } catch {
      return fallBack()
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

export const localStore = makeStore("localStorage") // for this origin, shared by its tabs
export const tabStore = makeStore("sessionStorage") // for this tab, kept through reloads

// The token is removed from the address, so that it is not visible on the screen or in the history.
const address = new URL(location.href)
if (address.searchParams.has("token")) {
  localStore.set("token", address.searchParams.get("token"))
  address.searchParams.delete("token")
  history.replaceState(null, "", address.pathname + address.search + address.hash)
}

// Read each time, because another tab may have stored a newer one.
export const token = () => localStore.get("token", "")

const randomName = () => [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

let name = tabStore.get("tab") ?? randomName()

// A tab holds a lock on its name while it is open: so a duplicated tab takes another name, and drafts of closed tabs are found.
export async function claimTab() {
  if (!navigator.locks) return tabStore.set("tab", name)
  const claim = (wanted) => new Promise((resolve) => {
    navigator.locks.request(`studio.tab.${wanted}`, {ifAvailable: true}, (lock) => {
      resolve(lock !== null)
      return lock === null ? undefined : new Promise(() => undefined)
    }).catch(() => resolve(true))
  })
  let mine = await claim(name)
  for (let tries = 0; tries < 6 && !mine; tries++) { // on a reload, the old page may still be closing
    await new Promise((resolve) => setTimeout(resolve, 50))
    mine = await claim(name)
  }
  if (!mine) {
    name = randomName()
    await claim(name)
  }
  return tabStore.set("tab", name)
}

export const tab = () => name

// A test whether the tab of a name is closed; if the browser does not tell, as in a frame of a notebook, none is.
export async function closedTabTest() {
  try {
    const {held} = await navigator.locks.query()
    const openTabs = new Set(held.map((lock) => lock.name.replace("studio.tab.", "")))
    return (tabName) => !openTabs.has(tabName)
  } catch {
    return () => false
  }
}
