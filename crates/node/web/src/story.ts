// One client's story: how it stands, what it has released, what happened to it.
import { happening } from './attention';
import { spent } from './columns';
import { element, get, prose, replace, write } from './dom';
import { ask } from './live';
import { part } from './part';
import type { Happening, Member, Status, Telemetry } from './shapes';
import { ago, bytes, clock, count, duration, figure, state_of } from './words';

const JOURNAL = 200;

export class Story {
  private readonly dialog = get<HTMLDialogElement>('story');
  private client: number | null = null;
  private from: Element | null = null;

  constructor(
    private readonly member: (client: number) => Member | undefined,
    private readonly status: () => Status | null,
    closed: (client: number, from: Element | null) => void,
  ) {
    this.dialog.addEventListener('close', () => {
      const client = this.client;
      this.client = null;
      history.replaceState(null, '', location.pathname);
      if (client !== null) closed(client, this.from);
    });
    // A click beside it closes it, too.
    this.dialog.addEventListener('click', (event) => event.target === this.dialog && this.dialog.close());
    get('story-close').addEventListener('click', () => this.dialog.close());
  }

  open(client: number): void {
    this.client = client;
    if (!this.dialog.open) this.from = document.activeElement;
    replace(get('story-journal'), element('li', { class: 'calm' }, 'asking …'));
    history.replaceState(null, '', `#client-${client}`);
    part('story-facts', () => this.show());
    if (!this.dialog.open) this.dialog.showModal();
    get('story-body').scrollTop = 0;
    void this.refresh();
  }

  /** Opens what the address names, if it names someone. */
  open_named(): void {
    const named = /^#client-(\d+)$/.exec(location.hash);
    if (named && this.member(Number(named[1]))) this.open(Number(named[1]));
  }

  /** News came. */
  async refresh(): Promise<void> {
    const client = this.client;
    if (client === null) return;
    part('story-facts', () => this.show());
    const answer = await ask<{ events: Happening[] }>(`/journal?client=${client}&limit=${JOURNAL}`);
    if (!answer || this.client !== client) return;
    const nothing = element('li', { class: 'calm' }, 'Nothing happened to it since this coordinator was started.');
    part('story-journal', () => replace(get('story-journal'), ...(answer.events.length ? answer.events.map((one) => happening(one, false)) : [nothing])));
  }

  show(): void {
    if (this.client === null) return;
    const [member, status] = [this.member(this.client), this.status()];
    write(get('story-title'), `Client ${this.client}`);
    if (!member || !status) return replace(get('story-facts'), element('p', {}, 'Its number is free: nobody has it.'));
    const state = state_of(member.state);
    const attention = (status.attention ?? []).filter((one) => one.client === this.client);
    const remedy = (state.remedy || '').replaceAll('NUMBER', String(this.client));
    const trouble = attention.length
      ? attention.map((one) =>
          element('li', { class: 'trouble' }, element('p', {}, prose(one.words)), one.remedy ? element('p', { class: 'remedy' }, element('b', {}, 'What to do: '), prose(one.remedy)) : null),
        )
      : [];
    replace(
      get('story-facts'),
      element('p', { class: 'sentence', 'data-in': member.state }, element('b', {}, `${state.shape} ${member.state}. `), prose(state.means), member.waited_for ? ' A round waits for it.' : ''),
      member.reason ? element('p', {}, element('b', {}, 'Why: '), prose(member.reason)) : null,
      remedy && !trouble.length ? element('p', { class: 'remedy' }, element('b', {}, 'What to do: '), prose(remedy)) : null,
      trouble.length ? element('ul', { class: 'plain' }, ...trouble) : null,
      facts(member, status.now),
      element('h3', {}, 'Privacy'),
      privacy(member),
      element('h3', {}, 'What it tells of itself'),
      telemetry(member.telemetry),
    );
  }
}

function facts(m: Member, now: number) {
  const rows: [string, string][] = [
    ['joined', m.joined ? `${clock(m.joined, now)}, ${ago(m.joined, now)}` : '–'],
    [m.connected ? 'connected for' : 'not connected for', m.since ? duration(now - m.since) : '–'],
    ['last contact', ago(m.last_contact, now)],
    ['lag', `${count(m.waiting ?? 0)} messages wait for its confirmation`],
    ['released', `${count(m.received ?? 0)} uploads merged, ${bytes(m.bytes_received ?? 0)}`],
    ['sent to it', bytes(m.bytes_sent ?? 0)],
    ['refused', `${count(m.refused ?? 0)} uploads, ${count(m.implausible ?? 0)} of them implausible`],
    ['groups', m.clusters?.length ? m.clusters.join(', ') : '–'],
  ];
  return element('dl', {}, ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

function privacy(m: Member) {
  const of = m.spent;
  if (!of) return element('p', {}, 'It has not told what its releases have cost.');
  const ceiling = typeof of.ceiling === 'number' ? of.ceiling : null;
  const words = [
    typeof of.epsilon === 'number' ? `Its ${count(of.releases)} releases have cost ε = ${figure(of.epsilon)}${of.delta ? ` (δ = ${figure(of.delta)})` : ''} per ${of.unit ?? 'unit'}` : `It has made ${count(of.releases)} releases`,
    ceiling !== null ? `, of ${figure(ceiling)} that it allows.` : '; it has named no ceiling.',
    of.unprotected ? ` ${count(of.unprotected)} of them left without any noise.` : '',
    of.withdrawn ? ` It has withdrawn: ${of.withdrawn}. Nothing leaves it any more.` : '',
  ];
  const bar = ceiling !== null && typeof of.epsilon === 'number' && element('meter', { min: 0, max: ceiling, value: Math.min(of.epsilon, ceiling), 'aria-label': `ε ${spent(m)}` });
  return element('div', {}, element('p', {}, words.join('')), bar);
}

function telemetry(t: Telemetry | null | undefined) {
  if (!t) return element('p', {}, 'Nothing: it shares no more than its uploads. Its own page, beside its app, shows the rest to whoever runs it.');
  const mean = t.rewards && typeof t.reward_sum === 'number' ? `, ${figure(t.reward_sum / t.rewards)} each` : '';
  const rows: [string, string][] = [
    ['rewards', `${count(t.rewards)}${mean}`],
    ['not sent yet', count(t.unsent)],
    ['open decisions', count(t.open_decisions)],
    ['gain from federation', t.gain ? `${figure(t.gain.estimate)} (between ${figure(t.gain.low)} and ${figure(t.gain.high)})` : 'not known'],
  ];
  return element('dl', {}, ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}
