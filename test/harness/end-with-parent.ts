import { endServer } from './end-server.ts'

/**
 * Runs beside a test's PostgreSQL server, in a session of its own, and ends the server when whoever
 * started it has ended, however that came about. Parameters: the server's process, and its folders.
 */
const [pid, ...folders] = process.argv.slice(2)
process.stdin.resume()
process.stdin.on('end', () => endServer(Number(pid), folders))
