import { parseArgs, type ParseArgsConfig } from 'node:util'

/** The command line is wrong: what is wrong, and how it should be. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly usage: string

  constructor(message: string, usage: string) {
    super(message)
    this.usage = usage
  }
}

type Options = NonNullable<ParseArgsConfig['options']>
type Parsed<O extends Options> = ReturnType<
  typeof parseArgs<{
    options: O & { help: { type: 'boolean'; short: 'h' } }
    allowPositionals: true
  }>
>

/**
 * The arguments of a command. `--help` is answered here: undefined is returned and the usage is
 * printed. Throws UsageError.
 */
export const parseCommand = <const O extends Options>(
  argv: readonly string[],
  options: O,
  usage: string,
): Parsed<O> | undefined => {
  try {
    const parsed = parseArgs({
      args: [...argv],
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    if (!(parsed.values as { help?: boolean }).help) return parsed
    process.stdout.write(usage)
    return undefined
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage)
  }
}
