// What needs someone, what happened lately, and every fault and refusal with what to do about it.
import { element, get, prose, replace, table, write } from './dom';
import { stands_by } from './replica';
import type { Attention, Happening, Status } from './shapes';
import { all_data, share } from './tiles';
import { ago, bytes, clock, count } from './words';

/** More than these nobody reads; the list of clients has them all. */
const MOST = 50;

const SHAPES: Record<string, string> = { refused: '✕', late: '▲', quarantined: '■', waiting: '◆', limits: '!', privacy: 'ε', store: '✕', lost: '✕', log: '✕' };

export function show_attention(status: Status, open: (client: number) => void): void {
  const all = status.attention ?? [];
  write(get('attention-count'), all.length ? `(${count(all.length)})` : '');
  if (all.length === 0 && status.members === 0 && !stands_by(status)) {
    const how = [...get('nobody').children].map((one) => one.cloneNode(true));
    return replace(get('attention'), element('li', {}, ...how));
  }
  if (all.length === 0) {
    return replace(get('attention'), element('li', { class: 'calm' }, '✓ Nothing needs you.'));
  }
  const more = all.length > MOST && element('li', {}, `And ${count(all.length - MOST)} more: see the list of clients below.`);
  replace(get('attention'), ...all.slice(0, MOST).map((one) => item(one, status.now)), more);
  opens(get('attention'), open);
}

/** Whoever is named in it by a button is opened by a click. */
function opens(box: HTMLElement, open: (client: number) => void): void {
  box.onclick = (event) => {
    const client = (event.target as Element).closest<HTMLElement>('[data-client]')?.dataset.client;
    if (client !== undefined) open(Number(client));
  };
}

const item = (one: Attention, now: number) =>
  element(
    'li',
    { class: 'trouble' },
    element('p', {}, element('b', { class: 'mark', title: one.kind }, `${SHAPES[one.kind] ?? '!'} `), prose(one.words), one.since ? ` (${ago(one.since, now)})` : null),
    element(
      'p',
      { class: 'remedy' },
      one.remedy ? element('b', {}, 'What to do: ') : null,
      one.remedy ? prose(`${one.remedy} `) : null,
      typeof one.client === 'number' && element('button', { type: 'button', class: 'link', 'data-client': one.client }, `client ${one.client}`),
    ),
  );

/** One thing that happened; `whose` names the client, where it is not clear anyway. */
export const happening = (one: Happening, whose = true) =>
  element(
    'li',
    {},
    element('time', { datetime: new Date(one.time * 1000).toISOString() }, clock(one.time)),
    ' ',
    element('b', {}, one.kind),
    ' ',
    whose && typeof one.client === 'number' && element('button', { type: 'button', class: 'link', 'data-client': one.client }, `client ${one.client}`),
    whose && typeof one.client === 'number' && ' ',
    prose(one.words),
  );

export function show_journal(events: Happening[], open: (client: number) => void): void {
  opens(get('journal'), open);
  if (events.length === 0) return replace(get('journal'), element('li', { class: 'calm' }, 'Nothing yet since this coordinator was started.'));
  replace(get('journal'), ...events.map((one) => happening(one)));
}

const LIMITS: Record<string, [words: string, remedy: string]> = {
  connections: ['connections turned away: too many at once', 'Raise `limits.connections` if they are yours.'],
  accept_errors: ['connections that the system could not hand over', 'Raise the limit of open files of the process.'],
  late: ['peers that took too long to speak', 'Look at the line; else someone is probing.'],
  too_large: ['messages larger than allowed', 'Look at the sender; `limits` in the file names the most.'],
  open_decisions: ['decisions beyond what may be open', 'Reward or abandon decisions sooner.'],
  identities: ['strangers who could not say who they are', 'Check certificates and invitations; else someone is probing.'],
};

export function show_faults(status: Status): void {
  const rows: [string, number, string][] = [
    ['uploads refused', status.refused ?? 0, 'The data are kept at the client. Its story says why and what to do.'],
    ['of those, implausible', status.implausible ?? 0, 'Look at the scale of its features and rewards.'],
    ['clients turned away', status.turned_away ?? 0, 'Their number is taken, their terms differ, or they are not invited: see what happened lately.'],
    ['clients removed', status.removed ?? 0, 'Nothing: someone did that.'],
    ...Object.entries(status.limits ?? {}).map(([name, n]): [string, number, string] => [LIMITS[name]?.[0] ?? name, n, LIMITS[name]?.[1] ?? '']),
  ];
  replace(
    get('faults'),
    table(
      'Faults and refusals',
      [{ title: 'what' }, { title: 'how many', number: true }, { title: 'what to do' }],
      rows.map(([what, n, remedy]) => [what, count(n), n > 0 ? prose(remedy) : element('span', { class: 'soft nothing' }, 'nothing')]),
    ),
  );
}

export function show_traffic(s: Status): void {
  const used = s.bytes_received + s.bytes_sent;
  const all = all_data(s);
  const versus = (part: number, whole: number | null | undefined) => (whole ? share(part, whole) : '–');
  const rows = [
    ['uploads, from clients', count(s.received), bytes(s.bytes_received)],
    ['downloads, to clients', count(s.sent), bytes(s.bytes_sent)],
    ['passed on between clients', count(s.relayed ?? 0), '–'],
    ['both ways', count(s.received + s.sent), bytes(used)],
    ['had every observation been sent', count(s.observations), all ? bytes(all) : '–'],
    ['what was sent, of that', versus(s.received + s.sent, s.observations), versus(used, all)],
    ['the plan', count(s.plan?.messages), s.plan?.bytes ? bytes(s.plan.bytes) : '–'],
    ['what was sent, of the plan', versus(s.received + s.sent, s.plan?.messages), versus(used, s.plan?.bytes)],
  ];
  replace(get('traffic'), table('Messages and bytes', [{ title: '' }, { title: 'messages', number: true }, { title: 'bytes', number: true }], rows));
}
