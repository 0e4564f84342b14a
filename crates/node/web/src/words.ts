// Numbers, times and states in words.
import type { State } from './shapes';
import states from './states.json';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** 1,204,331; a dash for what is not known. */
export const count = (n: number | null | undefined): string => (typeof n === 'number' && isFinite(n) ? whole.format(n) : '–');

/** "1 client", "2 clients" */
export const several = (n: number, one: string, more = `${one}s`): string => `${count(n)} ${n === 1 ? one : more}`;

/** Three digits that matter: 0.000123, 12.3, 1,230. */
export function figure(x: number | null | undefined): string {
  if (typeof x !== 'number' || !isFinite(x)) return '–';
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return Number(x.toPrecision(3)).toExponential().replace('e+', 'e').replaceAll('-', '−');
  const text = size >= 100 ? whole.format(x) : String(Number(x.toPrecision(3)));
  return text.replace('-', '−');
}

/** How sure one is, in percent and never rounded up: 95%. */
export const sure = (chance: number): string => (chance > 0.999 ? 'more than 99.9%' : `${Math.floor(1000 * chance + 1e-9) / 10}%`);

/** 12.3 MB */
export function bytes(n: number | null | undefined): string {
  if (typeof n !== 'number' || !isFinite(n)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  while (n >= 999.5 && unit < units.length - 1) {
    n /= 1000;
    unit++;
  }
  return `${unit === 0 ? whole.format(n) : n.toPrecision(3)} ${units[unit]}`;
}

/** 3 d 4 h */
export function duration(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} min`;
  const h = Math.floor(m / 60);
  if (h < 24) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return h % 24 && d < 30 ? `${d} d ${h % 24} h` : `${d} d`;
}

export const ago = (then: number | null | undefined, now: number): string =>
  typeof then === 'number' ? `${duration(now - then)} ago` : 'never';

const two = (n: number): string => String(n).padStart(2, '0');

/** 14:03:07, with the day where it was another one. */
export function clock(seconds: number, now = Date.now() / 1000): string {
  const then = new Date(seconds * 1000);
  const time = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  const day = `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
  return then.toDateString() === new Date(now * 1000).toDateString() ? time : `${day} ${time}`;
}

/** "4, 9 and 31"; no more than `most` of them. */
export function list(numbers: number[], most = 5): string {
  const named = numbers.slice(0, most).map(String);
  if (numbers.length > most) return `${named.join(', ')} and ${count(numbers.length - most)} more`;
  return named.length < 2 ? named.join('') : `${named.slice(0, -1).join(', ')} and ${named.at(-1)}`;
}

interface Meaning {
  shape: string;
  means: string;
  remedy: string;
}

/** A state is a shape, a word and what it means; its colour comes last. Worst first. */
export const STATES: Record<State, Meaning> = states;

const RANKS = Object.keys(STATES);

export const state_of = (name: string): Meaning & { rank: number } =>
  RANKS.includes(name) ? { ...STATES[name as State], rank: RANKS.indexOf(name) } : { shape: '?', rank: RANKS.length, means: '', remedy: '' };
