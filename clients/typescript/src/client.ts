import type { Abandoned, Activated, ArmOf, Decision, NamedOffer, Of, Offer, PositionOffer, Reward, Taken, TakenOrNot } from './decide.js';
import { Arms } from './arms.js';
import { written } from './json.js';
import type { Gain, Health, Status } from './status.js';
import { ask, type CallOptions, type Line } from './transport.js';
import { unique } from './unique.js';

/** Where the client is, and how patient to be with it. */
export interface ClientOptions {
  /** Its address: `http://127.0.0.1:7801`. */
  url: string | URL;
  /** `token` in its file, if it has one. */
  token?: string;
  /** Milliseconds that one attempt may take: 5,000 unless told. */
  timeout?: number;
  /** Milliseconds that a call may take, all attempts and pauses together: 30,000 unless told. */
  deadline?: number;
  /** How often a call is made again when no answer came, or the answer was "not now": 8 unless told. */
  retries?: number;
  /** What speaks HTTP: the global `fetch` unless told. */
  fetch?: typeof fetch;
}

/** A Cahoots client, seen from its app.
 *
 * Calls that got no answer are made again, under the same id: a decision is taken once, and a reward counted once, however often
 * they were asked for. */
export class Client {
  /** Arms that are known by id. */
  readonly arms: Arms;
  readonly #line: Line;

  constructor(options: ClientOptions) {
    const { url, token, timeout = 5_000, deadline = 30_000, retries = 8, fetch } = options;
    this.#line = {
      base: base(url),
      token,
      timeout: positive('timeout', timeout),
      deadline: positive('deadline', deadline),
      retries: whole('retries', retries),
      // Called without an owner: browsers refuse a `fetch` that is called as a method of something else.
      fetch: fetch ?? ((...request) => globalThis.fetch(...request)),
    };
    this.arms = new Arms((path, body, options) => this.#post(path, body, options), (path, options) => this.#get(path, options));
  }

  /** Chooses an arm. */
  decide(offer: PositionOffer, options?: CallOptions): Promise<Decision<number>>;
  decide<const Id extends string>(offer: NamedOffer<Id>, options?: CallOptions): Promise<Decision<Id>>;
  // Where it is not known which of both: nothing that the two above would refuse.
  decide<O extends Offer>(offer: O & (Offer extends O ? unknown : never), options?: CallOptions): Promise<Decision>;
  async decide(offer: Offer, options: CallOptions = {}): Promise<Decision> {
    return (await this.#post('decide', this.#named(offer), options)) as Decision;
  }

  /** Several decisions in one call, 1,000 at most unless the client's file says otherwise: all of them or none. */
  async decideAll<const Offers extends readonly Offer[]>(
    offers: Offers,
    options: CallOptions = {},
  ): Promise<{ -readonly [K in keyof Offers]: Decision<ArmOf<Offers[K]>> }> {
    if (offers.length === 0) return [] as never;
    const body = { decisions: offers.map((offer) => this.#named(offer)) };
    const { decisions } = (await this.#post('decide', body, options)) as { decisions: unknown };
    return decisions as { -readonly [K in keyof Offers]: Decision<ArmOf<Offers[K]>> };
  }

  /** Says what came of a decision; answered when it is on disk. */
  async reward(reward: Reward, options: CallOptions = {}): Promise<Taken> {
    return (await this.#post('reward', reward, options)) as Taken;
  }

  /** Several rewards in one call, 1,000 at most unless the client's file says otherwise. Each has its own answer, in the same
   * order: one that is refused does not hold up the others. */
  async rewardAll(rewards: readonly Reward[], options: CallOptions = {}): Promise<TakenOrNot[]> {
    if (rewards.length === 0) return [];
    return ((await this.#post('reward', { rewards }, options)) as { rewards: TakenOrNot[] }).rewards;
  }

  /** A deferred decision was carried out: from now on it counts. */
  async activate(of: Of, options: CallOptions = {}): Promise<Activated> {
    return (await this.#post('activate', of, options)) as Activated;
  }

  /** Gives a decision up: its reward will not come. */
  async abandon(of: Of, options: CallOptions = {}): Promise<Abandoned> {
    return (await this.#post('abandon', of, options)) as Abandoned;
  }

  /** What the client is doing. */
  async status(options: CallOptions = {}): Promise<Status> {
    return (await this.#get('status', options)) as Status;
  }

  /** What federation gained this client. */
  async gain(options: CallOptions = {}): Promise<Gain> {
    return (await this.#get('gain', options)) as Gain;
  }

  /** Whether the client takes inputs, now: asked once. Throws if it is not there. */
  async health(options: CallOptions = {}): Promise<Health> {
    const { status, body } = await ask({ ...this.#line, retries: 0 }, { path: 'health', answers: [200, 503] }, options);
    return status === 200 ? (body as Health) : { status: 'unavailable', error: String((body as { error?: unknown }).error) };
  }

  /** An event makes it safe to ask again; where nobody will, none is needed. */
  #named(offer: Offer): Offer {
    return offer.event === undefined && this.#line.retries > 0 ? { ...offer, event: unique() } : offer;
  }

  async #post(path: string, body: unknown, options: CallOptions): Promise<unknown> {
    return (await ask(this.#line, { path, body: written(body) }, options)).body;
  }

  async #get(path: string, options: CallOptions): Promise<unknown> {
    return (await ask(this.#line, { path }, options)).body;
  }
}

function base(url: string | URL): URL {
  const wrong = (why: string) => new TypeError(`url: ${JSON.stringify(String(url))} ${why}; it is like "http://127.0.0.1:7801"`);
  let base: URL;
  try {
    base = new URL(url);
  } catch {
    throw wrong('is no address');
  }
  if (base.protocol !== 'http:' && base.protocol !== 'https:') throw wrong('is not http or https');
  if (base.username || base.password) throw wrong('has a password in it: a client knows a `token`');
  base.search = base.hash = '';
  // Paths are looked up below it.
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

function positive(name: string, ms: number): number {
  // What is beyond 2^31 - 1 a timer takes for nothing.
  if (!(ms > 0 && ms <= 2 ** 31 - 1)) throw new RangeError(`${name}: ${ms} is no number of milliseconds above 0`);
  return ms;
}

function whole(name: string, many: number): number {
  if (!(Number.isSafeInteger(many) && many >= 0)) throw new RangeError(`${name}: ${many} is no number of times`);
  return many;
}
