// What is learnt: every number with its interval, drawn in the same row.
import { drawn, element, get, prose, replace, write } from './dom';
import type { Estimate, Model } from './shapes';
import { count, list, sure } from './words';

/** More rows than these are not read; the best or first ones are shown. */
const MOST = 200;

let chosen = '';

export function show_learnt(model: Model): void {
  replace(get('learnt-words'), prose(model.words));
  const select = get<HTMLSelectElement>('learnt-model');
  select.hidden = model.models.length < 2;
  // A list that is open under the cursor is left alone.
  if (document.activeElement !== select) {
    replace(select, ...model.models.map((one, n) => element('option', { value: String(n), selected: String(n) === chosen }, one.name)));
  }
  select.onchange = () => {
    chosen = select.value;
    show_learnt(model);
  };
  const one = model.models[Number(chosen) || 0] ?? model.models[0];
  const into = get('learnt');
  // Before the first reward, weights say what was assumed and not what was learnt.
  if (!one || (one.observations === 0 && !one.arms?.length)) {
    write(get('learnt-note'), '');
    return replace(into, element('p', { class: 'empty' }, 'Nothing is learnt yet: the first upload of a client changes that.'));
  }
  const rows = [...(one.weights ?? []), ...(one.arms ?? [])];
  const arms = (one.arms ?? []).length > 0;
  const about = [
    typeof one.observations === 'number' ? `From ${count(one.observations)} rewards` : '',
    one.clients ? `of client${one.clients.length === 1 ? '' : 's'} ${list(one.clients, 8)}` : '',
  ].filter(Boolean);
  const confidence = typeof model.confidence === 'number' ? `intervals hold with ${sure(model.confidence)} confidence` : 'no intervals are known';
  const hidden = (model.models_in_all ?? 0) > (model.shown ?? model.models.length) ? ` ${count(model.shown)} of ${count(model.models_in_all)} models are shown.` : '';
  const note = `${about.join(' ')}${about.length ? '; ' : ''}${confidence}.${hidden}`;
  write(get('learnt-note'), note.charAt(0).toUpperCase() + note.slice(1));
  replace(into, estimates(rows.slice(0, MOST), arms), rows.length > MOST && element('p', {}, `And ${count(rows.length - MOST)} more.`));
}

const known = (x: number | null | undefined): x is number => typeof x === 'number' && isFinite(x);

function estimates(rows: Estimate[], arms: boolean): HTMLTableElement {
  const ends = rows.flatMap((row) => [row.value, row.low, row.high]).filter(known);
  const low = Math.min(0, ...ends);
  const high = Math.max(0, ...ends);
  const at = (x: number) => `${(4 + (92 * (x - low)) / (high - low || 1)).toFixed(2)}%`;
  // As many digits for all as the largest needs for three.
  const digits = Math.min(6, Math.max(0, 3 - Math.ceil(Math.log10(Math.max(high, -low) || 1))));
  const write_down = (x: number | null | undefined) => (known(x) ? x.toFixed(digits).replace('-', '−') : '–');
  // Where nobody is in the running any more, nobody was dropped: all have settled.
  const running = rows.some((row) => row.active !== false);
  const pulled = rows.some((row) => known(row.pulls));
  const row = (one: Estimate) => {
    const dropped = running && one.active === false;
    return element(
      'tr',
      { class: dropped ? 'dropped' : null },
      element('th', { scope: 'row' }, one.name, dropped ? ' (dropped)' : null),
      element('td', { class: 'number' }, write_down(one.value)),
      element('td', { class: 'number' }, known(one.low) && known(one.high) ? `${write_down(one.low)} to ${write_down(one.high)}` : '–'),
      element('td', { class: 'whisker' }, whisker(one, at)),
      pulled && element('td', { class: 'number pulls' }, count(one.pulls)),
    );
  };
  const heading = (title: string, number = false) => element('th', { scope: 'col', class: number ? 'number' : null }, title);
  return element(
    'table',
    {},
    element('caption', { class: 'unseen' }, arms ? 'Arms, best first' : 'Weights'),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        heading(arms ? 'best first' : 'weight of'),
        heading(arms ? 'mean' : 'estimate', true),
        heading('between', true),
        element('th', { scope: 'col' }, element('span', { class: 'unseen' }, 'drawn')),
        pulled && element('th', { scope: 'col', class: 'number pulls' }, 'pulls'),
      ),
    ),
    element('tbody', {}, ...rows.map(row)),
  );
}

/** In shares of the room that there is: it differs from screen to screen. */
function whisker(one: Estimate, at: (x: number) => string): SVGElement {
  const line = (a: string, b: string, top: number, bottom: number) => drawn('line', { class: 'interval', x1: a, x2: b, y1: top, y2: bottom });
  const ends = known(one.low) && known(one.high) ? [at(one.low), at(one.high)] : null;
  return drawn(
    'svg',
    { 'aria-hidden': 'true' },
    drawn('line', { class: 'zero', x1: at(0), x2: at(0), y1: 0, y2: 16 }),
    ...(ends ? [line(ends[0]!, ends[0]!, 4, 12), line(ends[0]!, ends[1]!, 8, 8), line(ends[1]!, ends[1]!, 4, 12)] : []),
    known(one.value) && drawn('circle', { class: 'estimate', cx: at(one.value), cy: 8, r: 3.5 }),
  );
}
