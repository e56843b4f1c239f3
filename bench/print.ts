import type { Bench } from './bench.ts'
import type { Measured, Spread } from './measure.ts'

/** A bench's figures as text: those of each contender, then each claim with its verdict. */
export const print = ({ name, about }: Bench, { figures, claims }: Measured): string => {
  const lines = [`\n${name}: ${about}`]
  const width = Math.max(...[...figures.keys()].map((key) => key.length))
  for (const [figure, { spread, unit }] of figures) {
    const middle = short(spread[1]).padStart(7)
    lines.push(`  ${figure.padEnd(width)}  ${middle}${unit}  ${range(spread, short)}`)
  }
  for (const { ours, against, ratio, must, atMost, reached } of claims) {
    const which = against === undefined ? ours : `${ours} : ${against}`
    const demand =
      must !== undefined
        ? `; must reach ${two(must)}`
        : atMost !== undefined
          ? `; may be ${two(atMost)}`
          : ''
    const verdict = reached === undefined ? '' : `: ${reached ? 'reached' : 'MISSED'}`
    lines.push(`  = ${two(ratio[1])} ${range(ratio, two)}  ${which}${demand}${verdict}`)
  }
  return lines.join('\n')
}

const short = (n: number): string => n.toFixed(n < 10 ? 2 : 0)
const two = (n: number): string => n.toFixed(2)

const range = ([low, , high]: Spread, text: (n: number) => string): string =>
  `(${text(low)} to ${text(high)})`
