// The list of clients: thousands of rows of which only those in sight exist. Rows keep their places while someone points at
// them or has the focus in them.
import { FIELDS, matches, type Field } from './columns';
import { element, get, write } from './dom';
import type { Book } from './members';
import { part } from './part';
import type { Member } from './shapes';
import { count, several, state_of, STATES } from './words';

/** As in the style sheet. */
const ROW = 32;
const SPARE = 6;

export class List {
  private order: number[] = [];
  private sorted: Field = FIELDS[0]!;
  private direction = 1;
  private state = '';
  private now = 0;
  private frame = 0;
  private readonly scroller = get('list');
  private readonly body = get('list-rows');
  private readonly search = get<HTMLInputElement>('search');
  private readonly filters = get('filters');
  private readonly above = spacer();
  private readonly below = spacer();
  private readonly rows: HTMLTableRowElement[] = [];

  constructor(
    private readonly book: Book,
    private readonly open: (client: number) => void,
  ) {
    this.heading();
    this.body.append(this.above, this.below);
    this.scroller.addEventListener('scroll', () => this.soon(), { passive: true });
    new ResizeObserver(() => this.soon()).observe(this.scroller);
    this.search.addEventListener('input', () => this.sort());
    this.filters.addEventListener('click', (event) => {
      const button = (event.target as Element).closest<HTMLElement>('[data-state]');
      if (!button) return;
      this.state = button.dataset.state!;
      this.sort();
    });
    this.body.addEventListener('click', (event) => {
      const row = (event.target as Element).closest<HTMLElement>('tr[data-client]');
      if (row) this.open(Number(row.dataset.client));
    });
    this.body.addEventListener('keydown', (event) => this.key(event));
    book.on_change('list-rows', (changes) => {
      this.count_states();
      const settled = changes.every((member) => member.state !== 'gone');
      if (this.held() && settled) {
        // Newcomers go to the end until nobody looks at the rows.
        const known = new Set(this.order);
        for (const member of changes) if (!known.has(member.client) && this.shown(member)) this.order.push(member.client);
        this.soon();
      } else this.sort(false);
    });
  }

  /** Times go on without any news. */
  tick(now: number): void {
    this.now = now;
    this.soon();
  }

  /** Whether the focus came from here. */
  holds(element: Element | null): boolean {
    return element === null || element === document.body || this.scroller.contains(element);
  }

  /** Puts the focus on a client's row, or near it. */
  focus(client: number): void {
    const row = this.rows.find((one) => !one.hidden && one.dataset.client === String(client));
    (row?.querySelector('button') ?? this.scroller).focus({ preventScroll: true });
  }

  private held(): boolean {
    return this.body.matches(':hover') || this.body.contains(document.activeElement) || document.querySelector('dialog[open]') !== null;
  }

  private shown(member: Member): boolean {
    return (this.state === '' || member.state === this.state) && matches(member, this.search.value);
  }

  private sort(to_top = true): void {
    const { order } = this.sorted;
    const keyed = [...this.book.all.values()].filter((member) => this.shown(member)).map((member) => ({ client: member.client, key: order(member) }));
    keyed.sort((a, b) => {
      if (a.key === null || b.key === null) return a.key === b.key ? a.client - b.client : a.key === null ? 1 : -1;
      return (a.key - b.key) * this.direction || a.client - b.client;
    });
    this.order = keyed.map((one) => one.client);
    if (to_top) this.scroller.scrollTop = 0;
    const all = this.book.all.size;
    write(get('found'), this.order.length === all ? several(all, 'client') : `${count(this.order.length)} of ${several(all, 'client')}`);
    get('list-table').setAttribute('aria-rowcount', String(this.order.length + 1));
    get('nobody').hidden = all > 0;
    get('clients-tools').hidden = all === 0;
    this.scroller.hidden = all === 0;
    // Few clients take little room; whom someone searches for does not change it.
    this.scroller.style.setProperty('--rows', `${Math.max(all, 5) * ROW + 46}px`);
    get('no-match').hidden = all === 0 || this.order.length > 0;
    this.count_states();
    this.soon();
  }

  private heading(): void {
    const cells = FIELDS.map((field) => {
      const button = element('button', { type: 'button', title: field.hint }, field.title);
      const cell = element('th', { scope: 'col', class: classes(field) }, button);
      button.addEventListener('click', () => {
        this.direction = this.sorted === field ? -this.direction : 1;
        this.sorted = field;
        for (const other of cells) other.removeAttribute('aria-sort');
        cell.setAttribute('aria-sort', this.direction > 0 ? 'ascending' : 'descending');
        this.sort();
      });
      return cell;
    });
    cells[0]!.setAttribute('aria-sort', 'ascending');
    get('list-head').append(element('tr', { 'aria-rowindex': '1' }, ...cells));
  }

  private count_states(): void {
    const tally = new Map<string, number>();
    for (const member of this.book.all.values()) tally.set(member.state, (tally.get(member.state) ?? 0) + 1);
    for (const name of ['', ...Object.keys(STATES)]) {
      let button = this.filters.querySelector<HTMLButtonElement>(`[data-state="${name}"]`);
      if (!button) {
        button = element('button', { type: 'button', 'data-state': name });
        this.filters.append(button);
      }
      const n = name === '' ? this.book.all.size : (tally.get(name) ?? 0);
      write(button, name === '' ? `all ${count(n)}` : `${state_of(name).shape} ${name} ${count(n)}`);
      button.setAttribute('aria-pressed', String(this.state === name));
      button.hidden = n === 0 && name !== '' && this.state !== name;
    }
  }

  private soon(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      part('list', () => this.paint());
    });
  }

  private paint(): void {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - SPARE);
    const last = Math.min(this.order.length, Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / ROW) + SPARE);
    // As many as a full view takes, wherever it is scrolled to: a row that someone presses must not become another.
    const enough = Math.ceil(this.scroller.clientHeight / ROW) + 1 + 2 * SPARE;
    while (this.rows.length < enough) this.add_row();
    // CSSOM, which a strict policy allows, where a style attribute is not.
    this.above.style.height = `${first * ROW}px`;
    this.below.style.height = `${Math.max(0, this.order.length - last) * ROW}px`;
    // A row keeps its client while it is in sight, so that the focus stays where it is.
    for (let index = first; index < last; index++) this.fill(this.rows[index % this.rows.length]!, index);
    const used = new Set<HTMLElement>();
    for (let index = first; index < last; index++) {
      const row = this.rows[index % this.rows.length]!;
      used.add(row);
      this.place(row, index, first);
    }
    for (const row of this.rows) {
      if (used.has(row)) continue;
      row.hidden = true;
      delete row.dataset.client;
    }
  }

  /** Rows stand in the document in their order: a keyboard goes through them in it. */
  private place(row: HTMLTableRowElement, index: number, first: number): void {
    const before = index === first ? this.above : this.rows[(index - 1) % this.rows.length]!;
    if (before.nextElementSibling !== row) before.after(row);
  }

  private add_row(): void {
    const cells = FIELDS.map((field, n) =>
      n === 0 ? element('th', { scope: 'row' }, element('button', { type: 'button' })) : element('td', { class: classes(field) }),
    );
    const row = element('tr', { hidden: true }, ...cells);
    this.rows.push(row);
    this.below.before(row);
  }

  private fill(row: HTMLTableRowElement, index: number): void {
    const client = this.order[index]!;
    const member = this.book.all.get(client);
    row.hidden = false;
    row.dataset.client = String(client);
    row.dataset.index = String(index);
    row.dataset.in = member?.state ?? 'gone';
    row.setAttribute('aria-rowindex', String(index + 2));
    FIELDS.forEach((field, n) => {
      const cell = row.cells[n]!;
      write(n === 0 ? cell.firstElementChild! : cell, n === 0 ? String(client) : member ? field.text(member, this.now) : 'gone');
      if (n === 0) cell.firstElementChild!.setAttribute('aria-label', `client ${client}`);
    });
  }

  private key(event: KeyboardEvent): void {
    const row = (event.target as Element).closest<HTMLElement>('tr[data-index]');
    if (!row) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 2);
    const now = Number(row.dataset.index);
    const steps: Record<string, number> = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: this.order.length - 1 };
    const wanted = steps[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    const index = Math.min(this.order.length - 1, Math.max(0, wanted));
    const [top, bottom] = [index * ROW, (index + 2) * ROW];
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    if (bottom > this.scroller.scrollTop + this.scroller.clientHeight) this.scroller.scrollTop = bottom - this.scroller.clientHeight;
    this.paint();
    this.rows.find((one) => !one.hidden && one.dataset.index === String(index))?.querySelector('button')?.focus({ preventScroll: true });
  }
}

const spacer = () => element('tr', { class: 'spacer', 'aria-hidden': 'true' });

const classes = (field: Field): string => [`col-${field.key}`, field.number ? 'number' : '', field.wide ? 'wide-only' : ''].filter(Boolean).join(' ');
