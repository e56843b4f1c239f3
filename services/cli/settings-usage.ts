import { settingsSchema } from '../settings.ts'
import { parseCommand, UsageError } from './usage-error.ts'

/** Settings of other commands. */
const others: ReadonlySet<string> = new Set(['STEMMA_URL', 'STEMMA_TOKEN'])

type Setting = { readonly description?: string; readonly default?: unknown }

/**
 * For a command that takes all it needs from the environment: answers `--help` with the settings, and
 * refuses anything else. Gives whether the command is to run. Throws UsageError.
 */
export const takesSettingsOnly = (name: string, what: string, argv: readonly string[]): boolean => {
  const usage = `stemma ${name}\n\n${what}\n\nIt takes settings from the environment:\n\n${settingLines()}`
  const parsed = parseCommand(argv, {}, usage)
  if (!parsed) return false
  if (parsed.positionals.length > 0) throw new UsageError('takes no arguments', usage)
  return true
}

const settingLines = (): string => {
  const properties: Readonly<Record<string, object>> = settingsSchema.properties
  const settings = Object.entries(properties).filter(([setting]) => !others.has(setting))
  const widest = Math.max(...settings.map(([setting]) => setting.length))
  return settings
    .map(([setting, schema]) => {
      const { description = '', default: value }: Setting = schema
      const otherwise = value === undefined ? '' : ` (default ${JSON.stringify(value)})`
      return `  ${setting.padEnd(widest)}  ${description}${otherwise}\n`
    })
    .join('')
}
