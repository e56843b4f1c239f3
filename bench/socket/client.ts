import { WebSocket } from 'ws'

/** A socket of `/v1/stream`; what comes is for `onFrame`. Resolves when it is open. */
export const openClient = async (
  port: number,
  onFrame: (text: string) => void,
): Promise<WebSocket> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/stream`, ['stemma.v1'], {
    perMessageDeflate: false,
  })
  socket.on('message', (data: Buffer) => onFrame(data.toString('latin1')))
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('error', reject)
  })
  return socket
}

/** Frames of this bench are ASCII; errors are none of what it measures. */
export const failOnError = (text: string): void => {
  if (text.includes('"error":')) throw new Error(`the server answered ${text}`)
}
