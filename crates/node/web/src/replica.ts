// One of several coordinators: who leads, how far this one is, and where the rest is to be seen.
import { element, get, prose, replace, write } from './dom';
import type { Replica, Status } from './shapes';
import { ago, count, duration } from './words';

/** Whether clients speak to another one. */
export const stands_by = (status: Status): boolean => !!status.replica && status.replica.role !== 'leading';

/** In the header, and anew every second: times go on. */
export function show_replica(status: Status, now: number): void {
  const at = status.replica;
  document.documentElement.toggleAttribute('data-stands-by', stands_by(status));
  write(get('replica'), at ? [role(at), leader(at), silent(at, now), snapshot(at, now)].filter(Boolean).join(' · ') : '');
  const elsewhere = get('elsewhere');
  elsewhere.hidden = !stands_by(status);
  if (at && !elsewhere.hidden) replace(elsewhere, 'Clients, curves and what happened are on the leader’s page', ...where(at));
}

const role = (at: Replica) => (at.role === 'leading' ? '' : `◇ ${at.role}`);

const leader = (at: Replica) => (at.leader ? `leader ${at.leader} (epoch ${count(at.epoch)}, lag ${count(at.lag)})` : `nobody is known to lead (lag ${count(at.lag)})`);

const silent = (at: Replica, now: number) => (typeof at.stalled_since === 'number' ? `✕ log silent for ${duration(now - at.stalled_since)}` : '');

const snapshot = (at: Replica, now: number) => (at.snapshot ? `snapshot ${ago(at.snapshot.time, now)}` : 'no snapshot yet');

function where(at: Replica) {
  // Whoever could write the log could name an address of any kind.
  if (at.leader_page && /^https?:\/\//.test(at.leader_page)) return [': ', element('a', { href: at.leader_page }, at.leader_page), '.'];
  return [at.leader ? prose(`; \`http\` in the file of ${at.leader} says where.`) : ', once somebody leads.'];
}
