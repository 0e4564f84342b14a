// The four numbers that come first. The server writes the same tiles into the page before any script runs.
import { element, get, replace, type Child } from './dom';
import { stands_by } from './replica';
import type { Replica, Status } from './shapes';
import { bytes, count, figure, several } from './words';

const tile = (id: string, title: string, number: string, ...lines: Child[]) =>
  element(
    'article',
    { class: 'tile', id: `tile-${id}` },
    element('h2', {}, title),
    element('p', { class: 'figure' }, number),
    ...lines.filter(Boolean).map((line) => element('p', {}, line)),
  );

export function show_tiles(status: Status): void {
  const at = status.replica;
  replace(get('tiles'), ...(at && stands_by(status) ? [read(status), leader(at), log(at)] : [merged(status), clients(status), traffic(status)]), privacy(status));
}

/** Of who stands by: what the log amounts to so far. */
function read(s: Status) {
  return tile('merged', 'merged by the leader', typeof s.observations === 'number' ? several(s.observations, 'reward') : 'not known', 'read from the log, by the same machine', `${several(s.seats, 'seat')} in all`);
}

function leader(at: Replica) {
  return tile('leader', 'leader', at.leader || 'nobody known', at.leader_address || 'its address is not known yet', `epoch ${count(at.epoch)}`);
}

function log(at: Replica) {
  return tile('log', 'log', at.lag ? `${several(at.lag, 'message')} behind` : 'all is read', `message ${count(at.sequence)} of ${count(at.end)}`, at.snapshot ? `snapshot of message ${count(at.snapshot.sequence)}, ${bytes(at.snapshot.bytes)}` : 'no snapshot yet');
}

function merged(s: Status) {
  const known = typeof s.observations === 'number';
  return tile(
    'merged',
    'merged',
    known ? several(s.observations!, 'reward') : several(s.received, 'upload'),
    'each exactly once',
    `${count(s.unconfirmed ?? 0)} to be confirmed · ${count(s.refused ?? 0)} refused`,
  );
}

function clients(s: Status) {
  const marks = [
    s.late ? `▲ ${count(s.late)} late` : '',
    s.quarantined?.length ? `■ ${count(s.quarantined.length)} quarantined` : '',
  ].filter(Boolean);
  const others = [s.waiting_for?.length ? `◆ ${s.waiting_for.length === 1 ? `waiting for ${s.waiting_for[0]}` : `${count(s.waiting_for.length)} waited for`}` : '', s.turned_away ? `✕ ${count(s.turned_away)} turned away` : ''].filter(Boolean);
  return tile(
    'clients',
    'clients',
    `${count(s.connected)} of ${count(s.members)} here`,
    marks.length ? marks.join(' · ') : `${several(s.seats, 'seat')} in all`,
    others.length ? others.join(' · ') : 'nobody is waited for',
  );
}

/** What sending every observation would have taken, where that is known. */
export function all_data(s: Status): number | null {
  return typeof s.observations === 'number' && s.observation_bytes ? s.observations * s.observation_bytes : null;
}

export function share(part: number, whole: number): string {
  const percent = (100 * part) / whole;
  return percent >= 1000 ? `${figure(part / whole)} times` : `${figure(percent)}%`;
}

function traffic(s: Status) {
  const used = s.bytes_received + s.bytes_sent;
  const all = all_data(s);
  const plan = s.plan?.messages
    ? `${count(s.received + s.sent)} of ${count(s.plan.messages)} messages`
    : s.plan?.bytes
      ? `${share(used, s.plan.bytes)} of the plan's ${bytes(s.plan.bytes)}`
      : `${several(s.received + s.sent, 'message')}, no plan`;
  return tile('traffic', 'sent', bytes(used), all ? `all data would be ${bytes(all)}` : `${bytes(s.bytes_received)} in, ${bytes(s.bytes_sent)} out`, plan);
}

function privacy(s: Status) {
  const promised = typeof s.privacy?.epsilon === 'number' ? s.privacy.epsilon : null;
  const most = s.most_spent;
  if (promised === null) return tile('privacy', 'privacy', 'none promised', 'statistics leave clients without noise', most ? `most spent: ε ${figure(most.epsilon)}, client ${most.client}` : null);
  const ceiling = most?.ceiling ?? null;
  return tile(
    'privacy',
    'privacy',
    most ? `ε ${figure(most.epsilon)} of ${figure(ceiling ?? promised)}` : `ε ${figure(promised)} promised`,
    most ? `client ${most.client} has spent most` : stands_by(s) ? 'the leader knows what is spent' : 'nothing has been spent yet',
    `unit: ${s.privacy?.unit ?? '–'}`,
  );
}
