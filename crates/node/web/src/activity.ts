// What it does now: messages, bytes, clients and rewards over time.
import { Chart, type Series } from './chart';
import { get } from './dom';
import { ask } from './live';
import { part } from './part';
import type { Columns } from './shapes';
import { bytes, count } from './words';

interface View {
  caption: string;
  format: (value: number | null | undefined) => string;
  series: [key: string, label: string, colour: string, dash?: number[]][];
}

const VIEWS: Record<string, View> = {
  messages: {
    caption: 'messages over time',
    format: count,
    series: [
      ['received', 'uploads', 'blue'],
      ['sent', 'downloads', 'green', [6, 3]],
      ['refused', 'refused', 'orange', [2, 2]],
    ],
  },
  bytes: {
    caption: 'bytes over time',
    format: bytes,
    series: [
      ['bytes_received', 'from clients', 'blue'],
      ['bytes_sent', 'to clients', 'green', [6, 3]],
    ],
  },
  clients: { caption: 'clients that were here', format: count, series: [['connected', 'clients here', 'blue']] },
  rewards: { caption: 'rewards in what is merged', format: count, series: [['observations', 'rewards merged', 'blue']] },
};

/** Tells how to ask for it again. */
export function start_activity(): () => Promise<void> {
  const chart = new Chart(get('activity-chart'), get<HTMLButtonElement>('activity-table'));
  const view = get<HTMLSelectElement>('activity-view');
  const windows = [...document.querySelectorAll<HTMLButtonElement>('[data-window]')];
  let columns: Columns = {};
  let chosen = '3600';

  const draw = () => part('activity-chart', () => {
    const { caption, format, series } = VIEWS[view.value] ?? VIEWS.messages!;
    const step = Number((columns as Record<string, unknown>).step_seconds ?? 1);
    const per = view.value === 'messages' || view.value === 'bytes' ? `, in every ${step} s` : '';
    const drawn: Series[] = series.map(([key, label, colour, dash]) => ({ label, colour, dash, values: columns[key] ?? [] }));
    chart.draw({ caption: caption + per, time: columns.time ?? [], series: drawn, format, whole: true, empty: 'Nothing has happened yet since this coordinator was started.' });
  });
  const refresh = async () => {
    const asked = chosen;
    const answer = await ask<Columns>(`/history${asked === 'all' ? '' : `?window=${asked}`}`);
    if (!answer || asked !== chosen) return;
    columns = answer;
    draw();
  };
  view.addEventListener('change', draw);
  for (const button of windows) {
    button.addEventListener('click', () => {
      chosen = button.dataset.window!;
      for (const one of windows) one.setAttribute('aria-pressed', String(one === button));
      void refresh();
    });
  }
  return refresh;
}
