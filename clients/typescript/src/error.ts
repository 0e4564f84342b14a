/** Why a call failed. */
export type Failure =
  /** The server answered, and the answer is no: `status` and `words` say why. Asking again would not help. */
  | 'refused'
  /** The server answered that it cannot now (408, 429, 5xx), until no attempt or no time was left. */
  | 'unavailable'
  /** No answer came: nobody listens there, or the connection was cut. */
  | 'unreachable'
  /** No answer came in time. */
  | 'timeout'
  /** What answered is no Cahoots client: its body cannot be read. */
  | 'unreadable';

/** A call that failed. A call that was given up by its `signal` throws the signal's reason instead, as `fetch` does. */
export class CahootsError extends Error {
  override readonly name = 'CahootsError';

  constructor(
    /** Why. */
    readonly failure: Failure,
    /** HTTP status of the last answer; 0 where there was none. */
    readonly status: number,
    /** What the server said, or what is known where it said nothing. */
    readonly words: string,
    /** What was asked: `POST /decide`. */
    readonly call: string,
    /** How often it was asked. */
    readonly attempts: number,
    options?: ErrorOptions,
  ) {
    const times = attempts === 1 ? '' : ` (asked ${attempts} times)`;
    super(`${call}: ${status ? `${status}: ` : ''}${words}${times}`, options);
  }
}
