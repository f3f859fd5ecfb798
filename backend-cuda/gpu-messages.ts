// What the launcher and its workers say to each other over IPC. Plain data.

import type { ErrorCode } from '../spec/error.ts'
import type { LibraryPaths } from './cuda-addon.ts'
import type { GpuRankOptions, Tally } from './gpu-rank.ts'

export type TokenTransport = 'gloo' | 'sockets' | 'none'

export interface Setup extends GpuRankOptions {
  readonly paths: LibraryPaths
  readonly ordinal: number
  /** What carries token payloads of a CPU transport; `none` where the program has none. */
  readonly tokens: TokenTransport
  /** Folder of Gloo's rendezvous. */
  readonly store: string
  /** 32 characters that only the ranks of this run know. */
  readonly secret: string
  /** Ids of the communicators by key, base64. */
  readonly ids: Readonly<Record<string, string>>
}

export type ToWorker =
  | { readonly type: 'setup'; readonly setup: Setup }
  /** Ports of the ranks' token sockets, by rank. */
  | { readonly type: 'join'; readonly ports: readonly number[] }
  /** The engine's two calls of a step; `batch` indexes the setup's list. */
  | { readonly type: 'step'; readonly step: number; readonly batch: number }
  | { readonly type: 'idle' }
  | { readonly type: 'met'; readonly key: string }
  | { readonly type: 'status' }
  | { readonly type: 'end'; readonly abort: boolean }

/** Where a rank stands. */
export interface RankStatus {
  readonly step: number
  /** The state of its machine. */
  readonly state: string
  readonly hostWaitsFor?: string | undefined
  /** The oldest unfinished work of each stream. */
  readonly heads: readonly { readonly stream: string; readonly label: string }[]
  readonly unfinished: readonly string[]
}

export type FromWorker =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'ready' }
  | { readonly type: 'reply'; readonly step: number }
  | { readonly type: 'meet'; readonly key: string }
  | { readonly type: 'drained'; readonly tally: Tally; readonly wrongWords: number }
  | { readonly type: 'raised'; readonly step: number; readonly reason: string }
  | { readonly type: 'failed'; readonly text: string; readonly code?: ErrorCode }
  | { readonly type: 'lost'; readonly peer: number }
  | ({ readonly type: 'status' } & RankStatus)
  | { readonly type: 'ended'; readonly abortMs: number }
