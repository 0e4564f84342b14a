// A chart over time, and the same numbers as a table.
import uPlot from 'uplot';
import { drawn, element, prose, replace, table } from './dom';
import { colour, on_theme } from './theme';
import { clock } from './words';

export interface Series {
  label: string;
  /** Name of a colour of the style sheet. */
  colour: string;
  /** Told apart without colours, too. */
  dash?: number[];
  values: (number | null)[];
}

export interface Content {
  /** What is shown, for those who cannot see it. */
  caption: string;
  time: number[];
  series: Series[];
  format: (value: number | null | undefined) => string;
  /** Only whole numbers make sense. */
  whole?: boolean;
  /** Said instead where there is nothing to draw. */
  empty: string;
}

const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();
/** Fewer numbers than these are points, too. */
const FEW = 30;
const FONT = '11px system-ui, sans-serif';

/** A time on an axis, as fine as the axis is. */
function mark(seconds: number, step: number): string {
  const text = clock(seconds, seconds);
  if (step >= 86_400) return clock(seconds, 0).slice(5, 10);
  return step >= 60 ? text.slice(0, 5) : text;
}

export class Chart {
  private plot: uPlot | null = null;
  private shape = '';
  private content: Content | null = null;
  private readonly legend = element('p', { class: 'legend' });
  private readonly picture = element('div', { class: 'plot', role: 'img' });
  private readonly numbers = element('div', { class: 'scroll numbers', tabindex: '0', role: 'region', hidden: true });
  private readonly empty = element('p', { class: 'empty', hidden: true });

  constructor(
    box: HTMLElement,
    private readonly toggle: HTMLButtonElement,
  ) {
    box.append(this.legend, this.picture, this.numbers, this.empty);
    toggle.addEventListener('click', () => {
      toggle.setAttribute('aria-pressed', String(toggle.getAttribute('aria-pressed') !== 'true'));
      this.show();
    });
    new ResizeObserver(() => this.fit()).observe(this.picture);
    on_theme(() => this.plot?.redraw(false));
  }

  draw(content: Content): void {
    this.content = content;
    this.show();
  }

  private show(): void {
    const content = this.content;
    if (!content) return;
    const as_table = this.toggle.getAttribute('aria-pressed') === 'true';
    const nothing = content.time.length === 0;
    this.empty.hidden = !nothing;
    this.legend.hidden = nothing;
    this.picture.hidden = nothing || as_table;
    this.numbers.hidden = nothing || !as_table;
    if (nothing) return replace(this.empty, prose(content.empty));
    const [from, to] = this.window();
    this.picture.setAttribute('aria-label', `${content.caption}, ${clock(from)} to ${clock(to)}; the button "table" shows the numbers`);
    if (as_table) this.tabulate(content);
    else this.plotted(content);
    this.tell(null);
  }

  /** From when to when it is drawn: a minute at least, however few moments there are. */
  private window(): [from: number, to: number] {
    const time = this.content?.time ?? [];
    const last = time.at(-1) ?? 0;
    return [Math.min(time[0] ?? last, last - 60), last];
  }

  private tabulate(content: Content): void {
    const columns = [{ title: 'time' }, ...content.series.map((series) => ({ title: series.label, number: true }))];
    const newest = content.time.map((_, n) => content.time.length - 1 - n);
    const rows = newest.map((n) => [clock(content.time[n]!), ...content.series.map((series) => content.format(series.values[n]))]);
    this.numbers.setAttribute('aria-label', content.caption);
    replace(this.numbers, table(content.caption, columns, rows));
  }

  private plotted(content: Content): void {
    const data = [content.time, ...content.series.map((series) => series.values)] as uPlot.AlignedData;
    const shape = content.series.map((series) => series.label).join();
    if (this.plot && this.shape === shape) {
      this.plot.setData(data);
      this.fit();
      return;
    }
    this.plot?.destroy();
    this.shape = shape;
    const axis = { stroke: () => colour('soft'), grid: { stroke: () => colour('grid'), width: 1 }, ticks: { show: false } };
    this.plot = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { x: { range: () => this.window() }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > Math.min(0, low) ? high * 1.05 : 1] } },
        axes: [
          { ...axis, size: 24, space: 64, font: FONT, values: (_, splits, _axis, _space, step) => splits.map((value) => mark(value, step)) },
          {
            ...axis,
            size: 58,
            space: 36,
            ...(content.whole ? { incrs: WHOLE } : {}),
            font: FONT,
            values: (_, splits) => splits.map((value) => this.content!.format(value)),
          },
        ],
        series: [
          {},
          ...content.series.map((series) => ({
            label: series.label,
            stroke: () => colour(series.colour),
            width: 1.5,
            dash: series.dash,
            // Points that stand alone would not be seen as lines.
            points: { show: (plot: uPlot, n: number) => [...plot.data[n]!].filter((value) => typeof value === 'number').length < FEW, size: 5, fill: () => colour(series.colour) },
          })),
        ],
        hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx ?? null)] },
      },
      data,
      this.picture,
    );
  }

  /** The legend, with the numbers under the cursor or the latest ones. */
  private tell(index: number | null): void {
    const content = this.content;
    if (!content || content.time.length === 0) return;
    const at = index ?? content.time.length - 1;
    replace(
      this.legend,
      element('span', { class: 'when' }, clock(content.time[at]!)),
      ...content.series.map((series) =>
        element(
          'span',
          { class: 'entry' },
          drawn(
            'svg',
            { width: 16, height: 8, 'aria-hidden': 'true' },
            drawn('line', { x1: 0, x2: 16, y1: 4, y2: 4, class: `line-${series.colour}`, 'stroke-dasharray': series.dash?.join(' ') }),
          ),
          `${series.label} `,
          element('b', {}, content.format(series.values[at])),
        ),
      ),
    );
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(120, this.picture.clientWidth), height: Math.max(90, this.picture.clientHeight) };
  }

  private fit(): void {
    if (!this.plot || this.picture.hidden) return;
    const size = this.size();
    if (size.width !== this.plot.width || size.height !== this.plot.height) this.plot.setSize(size);
  }
}
