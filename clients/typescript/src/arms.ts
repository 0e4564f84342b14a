import type { NamedArm } from './decide.js';
import type { CallOptions } from './transport.js';

/** An arm to be known by its id: by its features, or by its index where arms have none. */
export type Registration = (NamedArm & { features: readonly number[]; index?: never }) | { id: string; index: number; features?: never };

/** How many arms are registered. */
export interface Registered {
  arms: number;
}

type Post = (path: string, body: unknown, options: CallOptions) => Promise<unknown>;
type Get = (path: string, options: CallOptions) => Promise<unknown>;

/** Arms that are registered once, and then referred to by id. They survive restarts. */
export class Arms {
  readonly #post: Post;
  readonly #get: Get;

  constructor(post: Post, get: Get) {
    this.#post = post;
    this.#get = get;
  }

  /** Adds arms, or says anew what they are. */
  async register(arms: readonly Registration[], options: CallOptions = {}): Promise<Registered> {
    return (await this.#post('arms', { register: arms }, options)) as Registered;
  }

  /** Takes arms away. */
  async retire(ids: readonly string[], options: CallOptions = {}): Promise<Registered> {
    return (await this.#post('arms', { retire: ids }, options)) as Registered;
  }

  /** All that are registered. */
  async list(options: CallOptions = {}): Promise<Registration[]> {
    return ((await this.#get('arms', options)) as { arms: Registration[] }).arms;
  }
}
