/** What every contender appends: 600 bytes as JSON. */
export const payload = { title: 'x'.repeat(588) }

export const payloadText = JSON.stringify(payload)
