import { createServer } from 'node:net'

/** Whether nobody listens there at the moment. */
export const isFree = async (port: number): Promise<boolean> => {
  try {
    await listen(port)
    return true
  } catch {
    return false
  }
}

/** A port of 127.0.0.1 that nobody listens on at the moment. */
export const freePort = (): Promise<number> => listen(0)

const listen = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      const found = typeof address === 'object' && address ? address.port : port
      server.close(() => resolve(found))
    })
  })
