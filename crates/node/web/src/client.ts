// A client's own page: its own data are its own to see. Asked for every two seconds.
import { Chart } from './chart';
import { drawn, element, get, prose, replace, write, type Child } from './dom';
import { Freshness } from './freshness';
import { ask, denied } from './live';
import { part } from './part';
import type { Apprentice, ClientStatus, Columns, Gain } from './shapes';
import { count, figure, several, sure } from './words';

const EVERY = 2000;

export function start_client(): void {
  const fresh = new Freshness('This client', 'Look at its log, and start it again with `cahoots client FILE`: what it knows is in its store.');
  const chart = new Chart(get('rewards-chart'), get<HTMLButtonElement>('rewards-table'));
  const windows = [...document.querySelectorAll<HTMLButtonElement>('[data-window]')];
  let chosen = '3600';

  const look = async () => {
    if (document.hidden) return;
    const asked = chosen;
    const [status, history, gain] = await Promise.all([ask<ClientStatus>('/status'), ask<Columns>(`/history${asked === 'all' ? '' : `?window=${asked}`}`), ask<Gain>('/gain')]);
    if (!status) return fresh.lost(await denied());
    fresh.heard();
    show(status, gain);
    if (history && asked === chosen) part('rewards-chart', () => draw(chart, history));
  };
  for (const button of windows) {
    button.addEventListener('click', () => {
      chosen = button.dataset.window!;
      for (const one of windows) one.setAttribute('aria-pressed', String(one === button));
      void look();
    });
  }
  const again = async () => {
    await look();
    setTimeout(() => void again(), EVERY);
  };
  void again();
  document.addEventListener('visibilitychange', () => void look());
}

function show(status: ClientStatus, gain: Gain | null): void {
  part('sentence', () => show_standing(status));
  part('tiles', () => show_tiles(status, gain));
  part('problems', () => {
    const problems = status.problems.map((problem) => element('li', { class: 'trouble' }, element('p', {}, prose(problem))));
    replace(get('problems'), ...(problems.length ? problems : [element('li', { class: 'calm' }, '✓ Nothing needs you.')]));
  });
  part('gain-words', () => show_gain(gain));
  part('privacy-words', () => replace(get('privacy-words'), ...status.privacy.words.split('\n').map((line) => element('p', {}, prose(line)))));
  part('facts', () => facts(status));
}

function show_standing(status: ClientStatus): void {
  const [mark, words, sentence] = standing(status);
  const health = get('health');
  health.dataset.health = mark;
  write(health, words);
  write(get('name'), `client ${status.client}`);
  document.title = `${mark === 'ok' ? '' : `${words.slice(0, 1)} `}client ${status.client} · cahoots`;
  replace(get('sentence'), prose(sentence));
  get('apprentice-words').hidden = !status.apprentice;
  write(get('apprentice-words'), status.apprentice?.words ?? '');
}

function show_tiles(status: ClientStatus, gain: Gain | null): void {
  replace(
    get('tiles'),
    tile('gain', 'gain from federation', typeof gain?.estimate === 'number' ? figure(gain.estimate) : 'not known', interval(gain), typeof gain?.decisions === 'number' ? `${count(gain.differed)} of ${several(gain.decisions, 'decision')} differed` : null),
    ...(status.apprentice ? [tile('apprentice', 'who decides', ...deciding(status.apprentice))] : []),
    tile('open', 'waiting', several(status.open_decisions, 'open decision'), 'whose reward has not come', status.expired ? `${count(status.expired)} given up` : null),
    tile('released', 'released', several(status.releases, 'release'), `${several(status.uploads, 'message')} sent, ${count(status.unconfirmed)} to be confirmed`, `${several(status.unsent, 'observation')} not sent yet`),
    tile('privacy', 'privacy', ...privacy(status)),
  );
}

/** How it stands: for the mark, in two words, in a sentence. */
function standing(s: ClientStatus): ['ok' | 'attention' | 'failing', string, string] {
  if (!s.joined) return ['attention', '▲ not joined', `It has not reached its federation yet${s.trouble ? `: ${s.trouble}` : ''}. It tries again by itself; until then it cannot decide.`];
  if (s.privacy.withdrawn) return ['attention', '▲ withdrawn', 'Nothing leaves it any more; it decides alone and goes on learning from its own rewards.'];
  if (s.problems.length) return ['attention', '▲ needs attention', `It decides; ${several(s.problems.length, 'thing needs', 'things need')} you, see below.`];
  if (!s.connected) return ['attention', '▲ alone for now', `It decides without the coordinator${s.trouble ? ` (${s.trouble})` : ''}, and connects again by itself. Nothing is lost.`];
  return ['ok', '● healthy', 'All is well: it decides, learns from its own rewards and from what others released.'];
}

const tile = (id: string, title: string, number: string, ...lines: Child[]) =>
  element('article', { class: 'tile', id: `tile-${id}` }, element('h2', {}, title), element('p', { class: 'figure' }, number), ...lines.filter(Boolean).map((line) => element('p', {}, line)));

const interval = (gain: Gain | null): string =>
  typeof gain?.low === 'number' && gain.low === gain.high ? 'the same as alone so far' : typeof gain?.low === 'number' && typeof gain.high === 'number' ? `between ${figure(gain.low)} and ${figure(gain.high)}${typeof gain.confidence === 'number' ? `, ${sure(gain.confidence)} sure` : ''}` : 'see below why';

function deciding(a: Apprentice): [string, string, string] {
  const share = `${figure(100 * a.explore)}%`;
  const who = a.mode === 'in-charge' ? `but for ${share} by its app` : `but for ${share} by this client`;
  const told = a.differed ? `its picks earned between ${figure(a.low)} and ${figure(a.high)} more in ${several(a.differed, 'comparison')}` : 'nothing was compared yet';
  return [a.mode === 'in-charge' ? 'this client' : 'the app', who, told];
}

function privacy(s: ClientStatus): [string, string, string] {
  const spent = s.privacy.spent?.map((one) => one.epsilon).filter((epsilon): epsilon is number => typeof epsilon === 'number') ?? [];
  const ceiling = s.privacy.ceiling ? `ceiling ${figure(s.privacy.ceiling.max_epsilon)} for one ${s.privacy.ceiling.unit}` : 'no ceiling';
  if (typeof s.privacy.promised_epsilon !== 'number') return ['none promised', s.unprotected ? `${several(s.unprotected, 'release')} without noise` : 'nothing has left without noise', ceiling];
  return [spent.length ? `ε ${figure(Math.max(...spent))} spent` : `ε ${figure(s.privacy.promised_epsilon)} promised`, `of ${figure(s.privacy.promised_epsilon)} promised`, ceiling];
}

function show_gain(gain: Gain | null): void {
  write(get('gain-words'), gain?.words ?? 'Not known yet.');
  const { low, estimate, high } = gain ?? {};
  const known = typeof low === 'number' && typeof estimate === 'number' && typeof high === 'number';
  get('gain-picture').hidden = !known || low === high;
  if (!known) return replace(get('gain-verdict'));
  write(get('gain-verdict'), low > 0 ? '✓ Federation helps this client.' : high < 0 ? '✕ Federation hurts this client: its data are not like the others’.' : '– It cannot be told yet whether federation helps or hurts.');
  if (gain?.left) write(get('gain-verdict'), '✕ Federation was found to hurt this client: it decides by its own data alone now.');
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const at = (x: number) => 10 + (280 * (x - from)) / (to - from || 1);
  replace(
    get('gain-picture'),
    drawn(
      'svg',
      { viewBox: '0 0 300 34', role: 'img', 'aria-label': `gain ${figure(estimate)}, ${interval(gain)}` },
      drawn('line', { class: 'zero', x1: at(0), x2: at(0), y1: 0, y2: 22 }),
      drawn('path', { class: 'interval', d: `M${at(low)} 5V17M${at(low)} 11H${at(high)}M${at(high)} 5V17` }),
      drawn('circle', { class: 'estimate', cx: at(estimate), cy: 11, r: 4 }),
      drawn('text', { x: Math.min(290, Math.max(10, at(0))), y: 32, 'text-anchor': 'middle' }, '0'),
    ),
  );
}

function facts(s: ClientStatus): void {
  const rows: [string, string][] = [
    ['messages to the coordinator', `${count(s.uploads)}, ${count(s.unconfirmed)} not confirmed yet`],
    ['messages from it', count(s.downloads)],
    ['releases', `${count(s.releases)}, ${count(s.unprotected)} of them without noise`],
    ['not sent yet', several(s.unsent, 'observation')],
    ['not merged', s.refusals.uploads ? `${several(s.refusals.uploads, 'upload')} with ${several(s.refusals.observations, 'observation')}: ${s.refusals.reason}` : 'none'],
    ['lost to an old copy', several(s.lost, 'message')],
  ];
  replace(get('facts'), ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));
}

function draw(chart: Chart, history: Columns): void {
  const rewards = history.rewards ?? [];
  const mean = (sum: number, n: number) => (n > 0 ? sum / n : null);
  const federated = history.federated ?? [];
  // The same numbers twice, apart by what was in use: where others' data came in is seen at once.
  const means = (history.reward_sum ?? []).map((sum, n) => mean(sum, rewards[n] ?? 0));
  chart.draw({
    caption: 'average reward over time',
    time: history.time ?? [],
    series: [
      { label: 'with others’ data', colour: 'blue', values: means.map((value, n) => (federated[n] ? value : null)) },
      { label: 'alone', colour: 'orange', dash: [4, 3], values: means.map((value, n) => (federated[n] ? null : value)) },
    ],
    format: figure,
    empty: 'No reward yet since this client was started: `POST /decide`, then `POST /reward`.',
  });
}
