import { CahootsError, type Failure } from './error.js';
import { Patience, asked_pause, pause } from './patience.js';

/** How one call is made. */
export interface CallOptions {
  /** Gives the call up: it then throws the signal's reason. What was already sent may have been taken. */
  signal?: AbortSignal;
  /** Milliseconds for the whole call with all its attempts and pauses, in place of the client's `deadline`. */
  deadline?: number;
  /** Browsers: the request is finished even if the page is left meanwhile. For a last reward in `pagehide`. */
  keepalive?: boolean;
}

/** Where to, and how patiently. */
export interface Line {
  base: URL;
  token: string | undefined;
  /** Milliseconds of one attempt. */
  timeout: number;
  /** Milliseconds of a call. */
  deadline: number;
  /** Attempts after the first. */
  retries: number;
  fetch: typeof fetch;
}

/** An answer that was read. */
export interface Answer {
  status: number;
  /** What the JSON says; `undefined` where it is none. */
  body: unknown;
  text: string;
}

/** An attempt that may be made again. */
interface Missed {
  failure: Failure;
  status: number;
  words: string;
  /** Milliseconds that the server asks to wait. */
  wait: number;
  cause?: unknown;
}

/** What to ask: a body makes it a POST. */
export interface Question {
  path: string;
  body?: string;
  /** The statuses that are answers and no failures. */
  answers?: readonly number[];
}

/** Asks until there is an answer, or no attempt, no time or no will is left. Whoever asks must see to it that asking twice does
 * no harm. */
export async function ask(line: Line, question: Question, options: CallOptions): Promise<Answer> {
  const { path, body, answers = [200] } = question;
  const call = `${body === undefined ? 'GET' : 'POST'} /${path}`;
  const patience = new Patience(options.deadline ?? line.deadline, options.signal);
  for (let attempts = 1; ; attempts++) {
    patience.check();
    const most = Math.min(line.timeout, Math.max(patience.left(), 0));
    const got = await patience.attempt(most, (signal) => attempt(line, question, signal, options.keepalive)).catch((cause: unknown) => {
      patience.check();
      return unreachable(cause);
    });
    const missed = got === 'timeout' ? { failure: 'timeout' as const, status: 0, words: `no answer within ${Math.round(most)} ms`, wait: 0 } : got;
    if (!('failure' in missed)) {
      const { status, body: said, text } = missed;
      if (answers.includes(status) && said !== undefined) return missed;
      if (answers.includes(status)) throw new CahootsError('unreadable', status, `the answer is not JSON: ${excerpt(text)}`, call, attempts);
      throw new CahootsError('refused', missed.status, words_of(missed), call, attempts);
    }
    const wait = Math.max(pause(attempts), missed.wait);
    if (attempts > line.retries || wait >= patience.left()) {
      const cause = 'cause' in missed ? { cause: missed.cause } : undefined;
      throw new CahootsError(missed.failure, missed.status, missed.words, call, attempts, cause);
    }
    await patience.rest(wait);
  }
}

/** The request was made in vain, or nobody can say. */
const AGAIN = (status: number): boolean => status === 408 || status === 429 || status >= 500;

async function attempt(line: Line, { path, body, answers = [200] }: Question, signal: AbortSignal, keepalive = false): Promise<Answer | Missed> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (line.token !== undefined) headers['authorization'] = `Bearer ${line.token}`;
  const response = await line.fetch(new URL(path, line.base), {
    method: body === undefined ? 'GET' : 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
    signal,
    keepalive,
    cache: 'no-store',
    credentials: 'omit',
    // A token goes where it was meant to go.
    redirect: 'error',
  });
  const { status } = response;
  const text = await response.text();
  const answer = { status, body: parsed(text), text };
  if (!answers.includes(status) && AGAIN(status)) {
    return { failure: 'unavailable', status, words: words_of(answer), wait: asked_pause(response.headers.get('retry-after')) };
  }
  return answer;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const excerpt = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);

/** The server's own words, where it has any. */
function words_of({ status, body }: Answer): string {
  const error = (body as { error?: unknown } | null | undefined)?.error;
  return typeof error === 'string' ? error : `status ${status} without words`;
}

function unreachable(cause: unknown): Missed {
  // Node hides the reason one level below "fetch failed".
  const { message, cause: below } = (cause ?? {}) as { message?: string; cause?: { message?: string; code?: string } };
  const words = below?.message || below?.code || message || String(cause);
  return { failure: 'unreachable', status: 0, words: `no answer: ${words}`, wait: 0, cause };
}
