import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import t from 'tap'

const folder = new URL('.', import.meta.url)
const root = new URL('..', import.meta.url)
const entries = readdirSync(folder).filter((name) => /(?<!\.test)\.ts$/.test(name))

/** What Node runs of the file: comments stay, types and imports of types are gone. */
const codeOf = (url: URL): string =>
  // Types are blanked, so that a specifier is only left where something is loaded.
  stripTypeScriptTypes(readFileSync(url, 'utf8'))

const specifiersOf = (code: string): string[] =>
  [
    ...code.matchAll(
      /^(?:import|export)\b[^'"]*?\bfrom\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]/gm,
    ),
  ].map((match) => (match[1] ?? match[2] ?? match[3])!)

/** Every file that is loaded with the client, by its path in the project. */
const graph = (): Map<
  string,
  { readonly code: string; readonly specifiers: readonly string[] }
> => {
  const files = new Map<string, { code: string; specifiers: string[] }>()
  const waiting = entries.map((name) => new URL(name, folder))
  for (let url = waiting.pop(); url; url = waiting.pop()) {
    const path = relative(fileURLToPath(root), fileURLToPath(url))
    if (files.has(path)) continue
    const code = codeOf(url)
    const specifiers = specifiersOf(code)
    files.set(path, { code, specifiers })
    for (const specifier of specifiers) {
      if (specifier.startsWith('.')) waiting.push(new URL(specifier, url))
    }
  }
  return files
}

t.test('the client loads nothing but itself, projections and schema', async (t) => {
  const files = graph()
  t.ok(files.has('client/open-transcript.ts') && files.has('projections/transcript/fold.ts'))
  for (const [path, { specifiers }] of files) {
    t.match(path, /^(client|projections|schema)\//, path)
    for (const specifier of specifiers) t.match(specifier, /^\.{1,2}\//, `${path}: ${specifier}`)
  }
})

t.test(
  'the client runs where there is nothing of Node: page, events and live frames',
  async (t) => {
    const files = graph()
    const loaded = new Set<string>()
    const order: string[] = []
    const load = (path: string): void => {
      if (loaded.has(path)) return
      loaded.add(path)
      const url = new URL(path, root)
      for (const specifier of files.get(path)!.specifiers)
        load(relative(fileURLToPath(root), fileURLToPath(new URL(specifier, url))))
      order.push(path)
    }
    load('client/open-transcript.ts')
    const modules = order.map((path) => moduleText(path, files.get(path)!.code))
    // A context has the language's own globals, and no others.
    const context = createContext({})
    const result = new Script(`
    const modules = {}
    ${modules.join('\n')}
    const transcript = modules['client/open-transcript.ts'].openTranscript({ data: [], asOfSeq: 0 })
    const event = (seq, type, data) => ({ sessionId: 'ses_1', seq, type, data, meta: {}, occurredAt: '' })
    const model = { modelId: 'm', providerId: 'p' }
    transcript.apply(event(1, 'step.started', { messageId: 'm', attempt: 1, agent: 'a', model }))
    transcript.applyLive({ turnId: 't', fence: 1, messageId: 'm', attempt: 1, partId: 'u', kind: 'text', offset: 0, delta: 'so f' })
    transcript.apply(event(2, 'text.ended', { messageId: 'm', partId: 't', text: 'Hello' }))
    JSON.stringify([typeof process + typeof Buffer, transcript.messages[0].parts, transcript.live[0].text])
  `).runInContext(context) as string
    t.same(JSON.parse(result), [
      'undefinedundefined',
      [{ type: 'text', partId: 't', text: 'Hello' }],
      'so f',
    ])
  },
)

/** The module as a function's body, whose exports others find under its path. */
const moduleText = (path: string, code: string): string => {
  const base = new URL(path, root)
  const names = [...code.matchAll(/^export (?:const|class|function) (\w+)/gm)].map(
    ([, name]) => name,
  )
  const body = code
    .replaceAll(
      /^import (\{[^}]*\}) from '([^']+)'/gm,
      (_, imported: string, specifier: string) =>
        `const ${imported} = modules[${JSON.stringify(
          relative(fileURLToPath(root), fileURLToPath(new URL(specifier, base))),
        )}]`,
    )
    .replaceAll(/^export /gm, '')
  return `modules[${JSON.stringify(path)}] = (() => { ${body}\nreturn { ${names.join(', ')} } })()`
}
