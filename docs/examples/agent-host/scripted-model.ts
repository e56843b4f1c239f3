import type { Entry } from './shapes.ts'

/** What a model says in one step: a text, and what it wants to be done before it goes on. */
export type Said = {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly input: Record<string, string> }[]
}

/** The results of the calls so far, in order. */
type Step = (results: readonly string[]) => Said

const script: readonly Step[] = [
  () => ({
    text: 'I read the shopping list.',
    calls: [{ name: 'read_note', input: { name: 'shopping' } }],
  }),
  ([list]) => ({
    text: 'I enter it in the ledger.',
    calls: [{ name: 'append_ledger', input: { line: `to buy: ${list}` } }],
  }),
  () => ({
    text: 'There is one thing that I cannot know.',
    calls: [{ name: 'ask_user', input: { question: 'Who goes shopping?', options: 'Ada,Ben' } }],
  }),
  ([list, , who]) => ({
    text: `So it is ${who}.`,
    calls: [
      { name: 'append_ledger', input: { line: `shopper: ${who}` } },
      { name: 'save_note', input: { name: 'plan', text: `${who} buys ${list}` } },
    ],
  }),
  (results) => ({ text: `Done. ${results.slice(1).join('. ')}.`, calls: [] }),
]

/**
 * Stands for a model: gives the next step of the script, as the context tells how far it is. A model
 * has no other memory, so whoever takes the turn over goes on where the context ends.
 */
export const askModel = async (context: readonly Entry[]): Promise<Said> => {
  const results = context
    .slice(context.findLastIndex(({ role }) => role === 'user') + 1)
    .filter(({ role }) => role === 'tool')
    .map(textOf)
  const step = script.find((_, n) => callsBefore(n, results) >= results.length)
  return step!(results)
}

const callsBefore = (step: number, results: readonly string[]): number =>
  script.slice(0, step).reduce((calls, said) => calls + said(results).calls.length, 0)

/** A result in words; of a call that is `unknown` the model is told just that. */
const textOf = ({ name, outcome, content = [] }: Entry): string =>
  outcome === 'ok' ? content.map(({ text }) => text).join('') : `${name}: outcome ${outcome}`
