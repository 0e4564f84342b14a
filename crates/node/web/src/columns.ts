// The columns of the list of clients: what stands in them, and how they sort.
import type { Member } from './shapes';
import { ago, bytes, count, figure, state_of } from './words';

export interface Field {
  key: string;
  title: string;
  /** Explained to who points at it. */
  hint: string;
  number?: boolean;
  /** Left out where a screen is narrow; a client's story has it. */
  wide?: boolean;
  text: (member: Member, now: number) => string;
  /** Sorted by; what is not known comes last either way. */
  order: (member: Member) => number | null;
}

export const FIELDS: Field[] = [
  { key: 'client', title: 'client', hint: 'its number', text: (m) => String(m.client), order: (m) => m.client },
  {
    key: 'state',
    title: 'state',
    hint: 'worst first',
    text: (m) => (m.waited_for && m.state === 'here' ? '◆ waited for' : `${state_of(m.state).shape} ${m.state}${m.waited_for ? ' ◆' : ''}`),
    order: (m) => state_of(m.state).rank - (m.waited_for ? 0.5 : 0),
  },
  {
    key: 'contact',
    title: 'last heard',
    hint: 'when it was last heard',
    number: true,
    text: (m, now) => ago(m.last_contact, now),
    order: (m) => (typeof m.last_contact === 'number' ? -m.last_contact : null),
  },
  { key: 'lag', title: 'lag', hint: 'messages that wait for its confirmation', number: true, text: (m) => count(m.waiting ?? 0), order: (m) => m.waiting ?? 0 },
  {
    key: 'released',
    title: 'released',
    hint: 'uploads that were merged, and bytes from it',
    number: true,
    wide: true,
    text: (m) => `${count(m.received ?? 0)} · ${bytes(m.bytes_received ?? 0)}`,
    order: (m) => m.received ?? 0,
  },
  {
    key: 'refusals',
    title: 'refused',
    hint: 'uploads that were not merged',
    number: true,
    wide: true,
    text: (m) => count(m.refused ?? 0),
    order: (m) => m.refused ?? 0,
  },
  {
    key: 'epsilon',
    title: 'ε / ceiling',
    hint: 'what its releases have cost its users in privacy, of the most that it allows',
    number: true,
    text: (m) => spent(m),
    order: (m) => m.spent?.epsilon ?? null,
  },
  {
    key: 'groups',
    title: 'groups',
    hint: 'the groups that it learns in',
    wide: true,
    text: (m) => (m.clusters?.length ? m.clusters.join(', ') : '–'),
    order: (m) => m.clusters?.[0] ?? null,
  },
];

export function spent(member: Member): string {
  const of = member.spent;
  if (!of) return '–';
  if (of.withdrawn) return `withdrawn at ${figure(of.epsilon)}`;
  if (of.unprotected && typeof of.epsilon !== 'number') return 'no noise';
  return typeof of.ceiling === 'number' ? `${figure(of.epsilon)} / ${figure(of.ceiling)}` : figure(of.epsilon);
}

/** Whether a client is meant by what someone types: its number, its state, its group, words of its reason. */
export function matches(member: Member, typed: string): boolean {
  return typed
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => {
      if (/^\d+$/.test(word)) return String(member.client).startsWith(word);
      const group = /^group:(\d+)$/.exec(word);
      if (group) return (member.clusters ?? []).includes(Number(group[1]));
      return `${member.state} ${member.waited_for ? 'waited for' : ''} ${member.reason ?? ''}`.toLowerCase().includes(word);
    });
}
