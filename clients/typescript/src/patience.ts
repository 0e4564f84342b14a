/** How long to wait and how often to ask. All times are milliseconds. */

/** The first pause between two attempts is at most so long; each next may be twice as long. */
const FIRST_PAUSE = 50;
/** No pause is longer, unless the server asks for it. */
const LONGEST_PAUSE = 2_000;

/** A pause before the attempt after `attempts` of them: drawn evenly from all up to a bound, so that those who failed together
 * do not come back together. */
export const pause = (attempts: number): number => Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempts - 1));

/** What `retry-after` asks for, where it is a number of seconds. */
export function asked_pause(header: string | null): number {
  const seconds = header === null ? NaN : Number(header);
  return seconds > 0 ? seconds * 1_000 : 0;
}

/** The time that is left for a call and its attempts, and whether its caller has given it up. */
export class Patience {
  readonly #until: number;

  constructor(
    deadline: number,
    readonly signal: AbortSignal | undefined,
  ) {
    this.#until = now() + deadline;
  }

  left(): number {
    return this.#until - now();
  }

  /** Throws the caller's reason if it has given up. */
  check(): void {
    this.signal?.throwIfAborted();
  }

  /** Waits; ends early, by throwing, when the caller gives up. */
  rest(ms: number): Promise<void> {
    const { signal } = this;
    return new Promise((done, failed) => {
      const given_up = () => {
        clearTimeout(timer);
        failed(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', given_up);
        done();
      }, ms);
      signal?.addEventListener('abort', given_up, { once: true });
    });
  }

  /** Runs an attempt under a signal of its own: it is over after `ms`, or when the caller gives up, whether or not `run` heeds it. */
  async attempt<T>(ms: number, run: (signal: AbortSignal) => Promise<T>): Promise<T | 'timeout'> {
    const { signal } = this;
    const own = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let given_up: (() => void) | undefined;
    const over = new Promise<'timeout'>((late, failed) => {
      timer = setTimeout(() => late('timeout'), ms);
      given_up = () => failed(signal?.reason);
      signal?.addEventListener('abort', given_up, { once: true });
    });
    try {
      return await Promise.race([over, run(own.signal)]);
    } finally {
      clearTimeout(timer);
      if (given_up) signal?.removeEventListener('abort', given_up);
      own.abort();
    }
  }
}

/** A clock that nobody sets back. */
const now = (): number => performance.now();
