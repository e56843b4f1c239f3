import { Ajv, type ErrorObject } from 'ajv'
import { resolve } from 'node:path'
import { Type, type Static } from 'typebox'

const mebibyte = 1024 * 1024

/** Every setting, by the name of its environment variable. An empty one counts as not set. */
export const settingsSchema = Type.Object({
  STEMMA_HOST: Type.String({ default: '127.0.0.1', description: 'address to listen on' }),
  STEMMA_PORT: Type.Integer({
    default: 4600,
    minimum: 0,
    maximum: 65_535,
    description: 'port to listen on; 0 takes any that is free',
  }),
  STEMMA_DATA_DIR: Type.String({
    default: '.stemma',
    description: 'where the embedded PostgreSQL lives, if DATABASE_URL is not set',
  }),
  DATABASE_URL: Type.Optional(
    Type.String({
      pattern: '^postgres(ql)?://',
      description: 'PostgreSQL 15 or later to use instead of the embedded one',
    }),
  ),
  STEMMA_URL: Type.String({
    default: 'http://127.0.0.1:4600',
    pattern: '^https?://',
    description: 'the service that the command line talks to',
  }),
  STEMMA_TOKEN: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._~+/-]+=*$',
      description: 'the token that the command line sends',
    }),
  ),
  STEMMA_TOKENS_FILE: Type.Optional(
    Type.String({ description: 'file of the tokens that are taken; without it, loopback only' }),
  ),
  STEMMA_ORIGINS: Type.Optional(
    Type.String({
      description: 'origins, separated by commas, whose pages may use the service',
    }),
  ),
  STEMMA_MAX_EVENT_BYTES: Type.Integer({
    default: mebibyte,
    minimum: 1024,
    maximum: 64 * mebibyte,
    description: 'the largest event; what is larger goes to a blob',
  }),
  STEMMA_MAX_BODY_BYTES: Type.Integer({
    default: 8 * mebibyte,
    minimum: 1024,
    maximum: 256 * mebibyte,
    description: 'the largest body of a request',
  }),
  STEMMA_MAX_EVENTS: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 10_000,
    description: 'the most events in one append or import',
  }),
  STEMMA_DEFAULT_PAGE: Type.Integer({
    default: 50,
    minimum: 1,
    maximum: 10_000,
    description: 'entries of a page whose limit is not given',
  }),
  STEMMA_MAX_PAGE: Type.Integer({
    default: 500,
    minimum: 1,
    maximum: 10_000,
    description: 'the most entries of a page',
  }),
  STEMMA_MAX_SUBSCRIPTIONS: Type.Integer({
    default: 1000,
    minimum: 1,
    maximum: 100_000,
    description: 'the most subscriptions on one socket',
  }),
  STEMMA_MAX_SOCKETS: Type.Integer({
    default: 20_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'the most sockets and streams of one server',
  }),
  STEMMA_DRAIN_TIMEOUT_MS: Type.Integer({
    default: 60_000,
    minimum: 1_000,
    maximum: 3_600_000,
    description: 'how long a full reader of a stream may take nothing before it is cut off',
  }),
  STEMMA_POOL_SIZE: Type.Integer({
    default: 16,
    minimum: 4,
    maximum: 1000,
    description: 'the most connections of one server to PostgreSQL',
  }),
  STEMMA_ACQUIRE_TIMEOUT_MS: Type.Integer({
    default: 10_000,
    minimum: 100,
    maximum: 600_000,
    description: 'how long a request waits for a connection before it is answered 503',
  }),
  STEMMA_STATEMENT_TIMEOUT_MS: Type.Integer({
    default: 30_000,
    minimum: 1_000,
    maximum: 3_600_000,
    description: 'how long one statement may run',
  }),
})

type Variables = Static<typeof settingsSchema>

/** The settings as the rest of the service sees them. Read once, at the start, and passed on. */
export type Settings = ReturnType<typeof settingsOf>

/** One line for each setting that is wrong; never the value of a secret. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/** Reads the settings. Throws SettingsError with all that is wrong with them. */
export const readSettings = (
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Settings => {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.properties).flatMap((name) => {
      const value = environment[name]
      return value === undefined || value === '' ? [] : [[name, value]]
    }),
  )
  const variables: unknown = { ...given }
  if (!check(variables)) {
    const lines = (check.errors ?? []).map((error) => explain(error, given))
    throw new SettingsError([...new Set(lines)].join('\n'))
  }
  const settings = settingsOf(variables)
  if (settings.defaultPage > settings.maxPage) {
    throw new SettingsError('STEMMA_DEFAULT_PAGE must not be above STEMMA_MAX_PAGE')
  }
  return settings
}

// An environment holds texts: here, and nowhere else, a text may become a number.
const check = new Ajv({ coerceTypes: true, useDefaults: true, allErrors: true }).compile<Variables>(
  settingsSchema,
)

const settingsOf = (variables: Variables) =>
  Object.freeze({
    host: variables.STEMMA_HOST,
    port: variables.STEMMA_PORT,
    dataDir: resolve(variables.STEMMA_DATA_DIR),
    databaseUrl: variables.DATABASE_URL,
    url: variables.STEMMA_URL,
    token: variables.STEMMA_TOKEN,
    tokensFile:
      variables.STEMMA_TOKENS_FILE === undefined
        ? undefined
        : resolve(variables.STEMMA_TOKENS_FILE),
    origins: originsOf(variables.STEMMA_ORIGINS ?? ''),
    maxEventBytes: variables.STEMMA_MAX_EVENT_BYTES,
    maxBodyBytes: variables.STEMMA_MAX_BODY_BYTES,
    maxEvents: variables.STEMMA_MAX_EVENTS,
    defaultPage: variables.STEMMA_DEFAULT_PAGE,
    maxPage: variables.STEMMA_MAX_PAGE,
    maxSubscriptions: variables.STEMMA_MAX_SUBSCRIPTIONS,
    maxSockets: variables.STEMMA_MAX_SOCKETS,
    drainTimeoutMs: variables.STEMMA_DRAIN_TIMEOUT_MS,
    poolSize: variables.STEMMA_POOL_SIZE,
    acquireTimeoutMs: variables.STEMMA_ACQUIRE_TIMEOUT_MS,
    statementTimeoutMs: variables.STEMMA_STATEMENT_TIMEOUT_MS,
  })

/** Each as a browser sends it in `Origin`. */
const originsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '')
    .map((origin) => {
      const parsed = URL.parse(origin)
      const isWeb = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
      // Apps have schemes of their own, as in tauri://localhost.
      const fits = isWeb
        ? parsed.origin === origin
        : /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/.test(origin)
      if (parsed !== null && fits) return origin
      throw new SettingsError(
        `STEMMA_ORIGINS: ${JSON.stringify(origin)} must be an origin as in https://pages.example, ` +
          'in small letters, without a path or a port that goes without saying',
      )
    })

const secrets: ReadonlySet<string> = new Set(['DATABASE_URL', 'STEMMA_TOKEN'])

const explain = (error: ErrorObject, given: Readonly<Record<string, string>>): string => {
  const name = error.instancePath.slice(1)
  const shown = secrets.has(name) ? name : `${name}="${given[name]}"`
  return `${shown} ${error.message ?? 'is not valid'}`
}
