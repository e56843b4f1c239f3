import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type ToolInput = Record<string, string>

/** A tool, and what running it a second time would do. */
export type Tool = {
  /** `read`: nothing. `idempotent`: the same as once. `once`: a second effect. */
  readonly effect: 'read' | 'idempotent' | 'once'
  /** Names the effect of a `once` tool, whatever the call is called that has it. */
  readonly effectKey?: (sessionId: string, input: ToolInput) => string
  /** Gives the text that the model is told. Throws where it cannot be done. */
  readonly run: (input: ToolInput, effectKey: string | undefined) => Promise<string>
  /** What the outside shows of an effect that may have happened; undefined: nothing so far. */
  readonly look?: (effectKey: string) => Promise<string | undefined>
}
export type Tools = Readonly<Record<string, Tool>>

/** Three tools, one of each effect. What they do lies in `folder`. */
export const openTools = async (folder: string): Promise<Tools> => {
  await mkdir(folder, { recursive: true })
  const ledger = join(folder, 'ledger.txt')
  const lines = async (): Promise<string[]> =>
    (await readFile(ledger, { encoding: 'utf8', flag: 'a+' })).split('\n')
  return {
    read_note: {
      effect: 'read',
      run: async ({ name = '' }) => (await readFile(join(folder, `${name}.md`), 'utf8')).trim(),
    },
    save_note: {
      effect: 'idempotent',
      run: async ({ name = '', text = '' }) => {
        await writeFile(join(folder, `${name}.md`), text)
        return `saved ${name}`
      },
    },
    append_ledger: {
      effect: 'once',
      // By what is written: a model that calls again for the same line has the same key.
      effectKey: (sessionId, { line = '' }) => `ledger:${sessionId}:${hashOf(line)}`,
      run: async ({ line = '' }, effectKey) => {
        await appendFile(ledger, `${effectKey} ${line}\n`)
        return `added: ${line}`
      },
      look: async (effectKey) => (await lines()).find((line) => line.startsWith(`${effectKey} `)),
    },
  }
}

const hashOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16)
