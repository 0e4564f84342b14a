export { Client, type ClientOptions } from './client.js';
export { CahootsError, type Failure } from './error.js';
export type { Arms, Registered, Registration } from './arms.js';
export type * from './decide.js';
export type * from './status.js';
export type { CallOptions } from './transport.js';
