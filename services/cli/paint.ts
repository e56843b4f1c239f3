import { styleText } from 'node:util'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'blue' | 'magenta'

/** Colours a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string

export const plain: Paint = (_style, text) => text

export const coloured: Paint = (style, text) =>
  text === '' ? text : styleText(style, text, { validateStream: false })

/** Colours where standard output is a terminal that has them, and NO_COLOR is not set. */
export const paintFor = (stream: NodeJS.WriteStream): Paint =>
  stream.isTTY && stream.hasColors() ? (style, text) => styleText(style, text, { stream }) : plain

/** Columns to fill: the terminal's, else what fits most. */
export const columnsOf = (stream: NodeJS.WriteStream): number =>
  (stream.isTTY && stream.columns) || 100
