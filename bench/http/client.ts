import { connect, type Socket } from 'node:net'

/**
 * One kept-alive connection that sends one request after another. By hand on a socket, because a
 * full client would cost more than the server that it measures. Gives the status.
 */
export type Client = {
  readonly post: (path: string, body: string) => Promise<number>
  readonly close: () => void
}

export const openClient = async (port: number): Promise<Client> => {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return {
    post: (path, body) => {
      const reply = readReply(socket)
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
          `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
      return reply
    },
    close: () => socket.destroy(),
  }
}

/** Replies have a length and are ASCII; what comes in several pieces is put together. */
const readReply = (socket: Socket): Promise<number> =>
  new Promise((resolve, reject) => {
    let text = ''
    const closed = (): void => reject(new Error('the server closed the connection'))
    const hear = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, head))
      if (!length) return reject(new Error(`a reply without a length: ${text.slice(0, head)}`))
      if (text.length < head + 4 + Number(length[1])) return
      socket.off('data', hear)
      socket.off('close', closed)
      resolve(Number(text.slice(9, 12)))
    }
    socket.on('data', hear)
    socket.once('close', closed)
  })
