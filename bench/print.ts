import type { Bench } from './bench.ts'
import type { Measured, Spread } from './measure.ts'

/** A bench's figures as text: the rate of each contender, then each claim with its verdict. */
export const print = ({ name, about }: Bench, { rates, claims }: Measured): string => {
  const lines = [`\n${name}: ${about}`]
  const width = Math.max(...[...rates.keys()].map((key) => key.length))
  for (const [contender, rate] of rates) {
    lines.push(
      `  ${contender.padEnd(width)}  ${whole(rate[1]).padStart(7)}/s  ${range(rate, whole)}`,
    )
  }
  for (const { ours, against, ratio, must, reached } of claims) {
    const verdict =
      must === undefined ? '' : `; must reach ${two(must)}: ${reached ? 'reached' : 'MISSED'}`
    lines.push(`  = ${two(ratio[1])} ${range(ratio, two)}  ${ours} : ${against}${verdict}`)
  }
  return lines.join('\n')
}

const whole = (n: number): string => n.toFixed(n < 10 ? 1 : 0)
const two = (n: number): string => n.toFixed(2)

const range = ([low, , high]: Spread, text: (n: number) => string): string =>
  `(${text(low)} to ${text(high)})`
