// The coordinator's page: one stream of states, and what is asked for besides when it is looked at.
import { start_activity } from './activity';
import { show_attention, show_faults, show_journal, show_traffic } from './attention';
import { get, prose, replace, write } from './dom';
import { Freshness } from './freshness';
import { Groups } from './groups';
import { show_learnt } from './learnt';
import { List } from './list';
import { ask, follow } from './live';
import { Book } from './members';
import { part } from './part';
import { show_replica } from './replica';
import type { Happening, Model, Status } from './shapes';
import { Story } from './story';
import { show_tiles } from './tiles';
import { count, duration, figure } from './words';

/** Milliseconds between questions about what changes slowly. */
const SLOWLY = 5000;
const LATELY = 60;

const HEALTH = { ok: '● healthy', attention: '▲ needs attention', failing: '✕ failing' };

export function start_coordinator(): void {
  let status: Status | null = null;
  let heard_at = 0;
  const book = new Book();

  const story = new Story(
    (client) => book.all.get(client),
    () => status && { ...status, now: now() },
    (client, from) => list.holds(from) && list.focus(client),
  );
  const open = (client: number) => story.open(client);
  const list = new List(book, open);
  new Groups(book, open);
  const refresh_activity = start_activity();

  /** The coordinator's time: this machine's clock may be off. */
  function now(): number {
    return status ? status.now + (performance.now() - heard_at) / 1000 : 0;
  }

  function show(next: Status): void {
    part('sentence', () => show_standing(next));
    part('replica', () => show_replica(next, now()));
    part('tiles', () => show_tiles(next));
    part('attention', () => show_attention(next, open));
    part('faults', () => show_faults(next));
    part('traffic', () => show_traffic(next));
    part('privacy-words', () => show_privacy(next));
  }

  function show_standing(next: Status): void {
    document.title = `${next.health === 'ok' ? '' : `${HEALTH[next.health]?.slice(0, 1) ?? ''} `}${next.federation} · cahoots`;
    const health = get('health');
    health.dataset.health = next.health;
    write(health, HEALTH[next.health] ?? next.health);
    replace(get('sentence'), prose(next.sentence));
    write(get('algorithm'), next.algorithm);
    write(get('federation'), next.federation);
    write(get('terms'), [`parameters version ${count(next.params_version ?? 0)}`, next.rounds ? `round ${count(next.rounds)}` : '', next.version ? `cahoots ${next.version}` : ''].filter(Boolean).join(' · '));
    for (const place of document.querySelectorAll('#nobody .its-federation')) write(place, next.federation);
    for (const place of document.querySelectorAll('#nobody .last-seat')) write(place, String(Math.max(0, next.seats - 1)));
  }

  function show_privacy(next: Status): void {
    const promised = next.privacy;
    replace(get('privacy-words'), ...(promised?.words ?? 'Not known.').split('\n').flatMap((line) => [prose(line), document.createElement('br')]).slice(0, -1));
    const most = next.most_spent;
    const none = typeof promised?.epsilon !== 'number';
    const lines = [
      none ? '' : `Promised: ε = ${figure(promised?.epsilon)}, δ = ${figure(promised?.delta)} for ${promised?.unit ?? 'one unit'}.`,
      most ? `Client ${most.client} has spent most: ε = ${figure(most.epsilon)}${typeof most.ceiling === 'number' ? ` of ${figure(most.ceiling)} that it allows` : ''}.` : '',
    ];
    write(get('privacy-spent'), lines.filter(Boolean).join(' '));
  }

  function take(next: Status): void {
    status = next;
    heard_at = performance.now();
    if (!document.hidden) show(next);
    tick();
    void book.update(next);
  }

  function tick(): void {
    if (!status || document.hidden) return;
    write(get('uptime'), `up ${duration(now() - status.started)}`);
    list.tick(now());
    const last = status;
    part('replica', () => show_replica(last, now()));
    part('story-facts', () => story.show());
  }

  async function ask_slowly(): Promise<void> {
    if (document.hidden || !status) return;
    // Whatever becomes of one answer, the others are shown.
    const shown = async <T>(path: string, place: string, show: (answer: T) => void) => {
      const answer = await ask<T>(path);
      if (answer) part(place, () => show(answer));
    };
    await Promise.all([
      shown<Model>('/model', 'learnt', show_learnt),
      shown<{ events: Happening[] }>(`/journal?limit=${LATELY}`, 'journal', (journal) => show_journal(journal.events, open)),
      refresh_activity(),
      story.refresh(),
    ]);
  }

  const fresh = new Freshness('The coordinator', 'Look at its log, and start it again with `cahoots serve FILE`: clients go on deciding meanwhile and lose nothing.');
  let first = true;
  book.on_change('story-title', () => {
    if (first) story.open_named();
    first = false;
  });
  addEventListener('hashchange', () => story.open_named());
  follow(fresh, (next) => {
    const news = !status || status.started !== next.started;
    take(next);
    if (news) void ask_slowly();
  });
  setInterval(tick, 1000);
  setInterval(() => void ask_slowly(), SLOWLY);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden || !status) return;
    show(status);
    tick();
    void ask_slowly();
  });
}
