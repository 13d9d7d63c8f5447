// A recipe in the fragment of a link: deflated, then written in letters that an address may have.

async function through(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer())
}

export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate"))
  let letters = ""
  for (const byte of bytes) letters += String.fromCharCode(byte)
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
}

const LARGEST = 1 << 20

// The text of `#recipe=...`, or null; nothing that unpacks to more than a megabyte.
export async function fromFragment(fragment) {
  const found = /^#recipe=([\w-]+)$/.exec(fragment)
  if (!found) return null
  try {
    const letters = atob(found[1].replaceAll("-", "+").replaceAll("_", "/"))
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0))
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")).getReader()
    const parts = []
    let length = 0
    for (;;) {
      const {done, value} = await reader.read()
      if (done) break
      length += value.length
      if (length > LARGEST) return null
      parts.push(value)
    }
    return await new Blob(parts).text()
  } catch {
    return null
  }
}

export async function link(text) {
  return `${location.origin}${location.pathname}#recipe=${await packed(text)}`
}
