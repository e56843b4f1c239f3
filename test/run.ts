import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { countTests, type Counts } from './harness/count-tests.ts'
import { startTestServer, type TestServer } from './harness/test-server.ts'

/**
 * Runs the tests with tap, all of them or the files named, against a PostgreSQL server that is
 * started for them and ended with them. Closes with the line that CI counts from.
 */
const main = async (): Promise<number> => {
  const server = await startTestServer()
  const folder = mkdtempSync(join(tmpdir(), 'stemma-tap-'))
  process.once('exit', () => {
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  console.log(`PostgreSQL ${server.version} for the tests, process ${server.pid}`)
  const output = join(folder, 'output.tap')
  const code = await runTap(server, output)
  const counts = readCounts(output)
  if (counts.skipped > 0) console.log(`${counts.skipped} skipped`)
  console.log(`${counts.passed} passed, ${counts.failed} failed`)
  return code === 0 && counts.failed === 0 ? 0 : 1
}

const root = fileURLToPath(new URL('..', import.meta.url))

const runTap = (server: TestServer, output: string): Promise<number> =>
  new Promise((resolve) => {
    const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
    const options = ['--reporter=terse', `--output-file=${output}`]
    const child = spawn(process.execPath, [tap, ...options, ...process.argv.slice(2)], {
      cwd: root,
      stdio: ['inherit', process.stdout.isTTY ? 'inherit' : 'pipe', 'inherit'],
      env: { ...process.env, STEMMA_TEST_SERVER: server.url },
    })
    if (child.stdout) void printPlainly(child.stdout)
    // Ctrl-C reaches tap as well; we stay to end the server.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => child.kill(signal))
    }
    child.on('error', (error) => {
      console.error(error)
      resolve(1)
    })
    child.on('close', (code) => resolve(code ?? 1))
  })

/** In a file, tap's progress is a frame for every test: what is left are the lines that stay. */
const printPlainly = async (output: Readable): Promise<void> => {
  let blank = true
  for await (const raw of createInterface({ input: output })) {
    const line = stripVTControlCharacters(raw)
    if (/^(Asserts|Suites): /.test(line) || (blank && line === '')) continue
    blank = line === ''
    console.log(line)
  }
}

/** tap that ended before it wrote anything has failed, whatever it was. */
const readCounts = (output: string): Counts => {
  try {
    const counts = countTests(readFileSync(output, 'utf8'))
    if (counts.passed + counts.failed > 0) return counts
  } catch {
    // Below.
  }
  return { passed: 0, failed: 1, skipped: 0 }
}

process.exitCode = await main()
