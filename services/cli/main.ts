#!/usr/bin/env node
import { SettingsError } from '../settings.ts'
import { takesSettingsOnly } from './settings-usage.ts'
import { UsageError } from './usage-error.ts'

type Command = {
  readonly summary: string
  /** Runs with the arguments after its name. Gives the exit code. */
  readonly run: (argv: string[]) => Promise<number>
}

/** Each is loaded when it runs: `stemma sessions` needs no server. */
const commands: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'run the service',
    run: async (argv) => {
      const what = 'Runs the service until it is stopped with Ctrl-C or SIGTERM.'
      if (!takesSettingsOnly('serve', what, argv)) return 0
      return (await import('./serve.ts')).runServe([])
    },
  },
  migrate: {
    summary: 'bring the database to the schema of this build',
    run: async (argv) => {
      const what = 'Brings the database to the schema of this build, and does nothing else.'
      if (!takesSettingsOnly('migrate', what, argv)) return 0
      return (await import('./migrate.ts')).runMigrate([])
    },
  },
  rebuild: {
    summary: 'compute a projection anew from the log, beside the live one',
    run: async (argv) => (await import('./rebuild.ts')).runRebuildCommand(argv),
  },
  projections: {
    summary: 'list the projections and which generation of each is live',
    run: async (argv) => (await import('./projections.ts')).runProjections(argv),
  },
  import: {
    summary: 'bring in sessions of other agents from files',
    run: async (argv) => (await import('./import.ts')).runImport(argv),
  },
  sessions: {
    summary: 'list sessions',
    run: async (argv) => (await import('./sessions.ts')).runSessions(argv),
  },
  show: {
    summary: 'print the transcript of a session',
    run: async (argv) => (await import('./show.ts')).runShow(argv),
  },
  tail: {
    summary: 'follow the events of a session, or of all',
    run: async (argv) => (await import('./tail.ts')).runTail(argv),
  },
  work: {
    summary: 'list what waits for an owner, and follow it',
    run: async (argv) => (await import('./work.ts')).runWork(argv),
  },
  token: {
    summary: 'make a token, and the entry for the file of tokens',
    run: async (argv) => (await import('./token.ts')).runToken(argv),
  },
}

const help = `stemma, the session store that several agent servers share

  stemma <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`)
  .join('\n')}

  stemma <command> --help says more. Commands but serve, migrate, rebuild and token talk to a
  running service: STEMMA_URL (default http://127.0.0.1:4600), STEMMA_TOKEN.
`

/** Exit codes: 0 done, 1 it failed, 2 the command line or the settings are wrong. */
const main = async (argv: readonly string[]): Promise<number> => {
  const [name, ...rest] = argv
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help)
    return name === undefined ? 2 : 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) {
    process.stderr.write(`stemma: there is no command ${JSON.stringify(name)}\n\n${help}`)
    return 2
  }
  try {
    return await command.run(rest)
  } catch (error) {
    return await explain(name, error)
  }
}

const explain = async (name: string, error: unknown): Promise<number> => {
  if (error instanceof UsageError) {
    process.stderr.write(`stemma ${name}: ${error.message}\n\n${error.usage}`)
    return 2
  }
  if (error instanceof SettingsError) {
    process.stderr.write(`stemma: the settings are wrong\n${error.message}\n`)
    return 2
  }
  const { describeFailure } = await import('./describe-failure.ts')
  process.stderr.write(`stemma ${name}: ${describeFailure(error)}\n`)
  return 1
}

/** Who runs the file with an older Node directly, and not through npm or npx, lands here. */
const tooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 18)
}

// A reader that has seen enough (`stemma show … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

if (tooOld(process.versions.node)) {
  process.stderr.write(
    `stemma needs Node 22.18 or later and this is ${process.versions.node}: run it as "npx stemma" in its folder, where npm has put a Node that fits\n`,
  )
  process.exitCode = 2
} else process.exitCode = await main(process.argv.slice(2))
