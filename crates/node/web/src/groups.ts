// Who learns with whom: a dot per client, in the box of its group. A client in several groups has a dot in each. Who has
// just moved wears a ring for a while.
import { drawn, get, replace, table, write } from './dom';
import type { Book } from './members';
import { part } from './part';
import type { Member } from './shapes';
import { count, list, several, state_of } from './words';

/** The largest and smallest room of a dot, in the picture's own units. */
const ROOMY = 26;
const TIGHT = 2;
/** Above a box and between boxes, for few groups and for many. */
const LABEL = [15, 10];
const GAP = [8, 4];
const MANY = 20;
/** How long a move is shown, in milliseconds. */
const FRESH = 30_000;

/** Shapes of the states around the origin, of radius 1. */
const SHAPES: Record<string, string> = {
  here: 'M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z',
  away: 'M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z',
  late: 'M0-1.1L1.1.9H-1.1Z',
  quarantined: 'M-.9-.9H.9V.9H-.9Z',
  refused: 'M-1-.6L-.6-1 0-.4 .6-1 1-.6 .4 0 1 .6 .6 1 0 .4-.6 1-1 .6-.4 0Z',
  removed: 'M-1-.3H1V.3H-1Z',
};

interface Box {
  name: string;
  clients: number[];
  columns: number;
  x: number;
  y: number;
}

export class Groups {
  private readonly picture = get('groups-picture');
  private readonly dots = new Map<string, SVGPathElement>();
  private readonly boxes = drawn('g');
  private readonly layer = drawn('g');
  private readonly svg = drawn('svg', { role: 'img' }, this.boxes, this.layer);
  private readonly toggle = get('groups-table');
  private places = new Map<number, string>();
  private moved = new Map<number, number>();
  private frame = 0;

  constructor(
    private readonly book: Book,
    open: (client: number) => void,
  ) {
    this.picture.append(this.svg);
    book.on_change('groups-note', (changes) => {
      for (const member of changes) this.note(member);
      this.soon();
    });
    new ResizeObserver(() => this.soon()).observe(this.picture);
    this.toggle.addEventListener('click', () => {
      this.toggle.setAttribute('aria-pressed', String(this.toggle.getAttribute('aria-pressed') !== 'true'));
      this.soon();
    });
    const client = (event: Event) => (event.target as Element).getAttribute?.('data-client');
    this.svg.addEventListener('pointermove', (event) => this.tell(client(event)));
    this.svg.addEventListener('pointerleave', () => this.tell(null));
    this.svg.addEventListener('click', (event) => {
      const found = client(event);
      if (found) open(Number(found));
    });
    // Rings are taken off when their time has come.
    setInterval(() => this.moved.size && this.soon(), 5000);
  }

  private note(member: Member): void {
    const place = (member.clusters ?? []).join();
    const before = this.places.get(member.client);
    if (member.state === 'gone') this.places.delete(member.client);
    else {
      if (before !== undefined && before !== place) this.moved.set(member.client, Date.now());
      this.places.set(member.client, place);
    }
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      part('groups-picture', () => this.draw());
    });
  }

  private grouped(): Map<string, number[]> {
    const groups = new Map<string, number[]>();
    const clients = [...this.book.all.values()].filter((member) => member.state !== 'removed').sort((a, b) => a.client - b.client);
    const any = clients.some((member) => member.clusters?.length);
    for (const { client, clusters } of clients) {
      const names = clusters?.length ? clusters.map((n) => `group ${n}`) : [any ? 'in no group' : 'all together'];
      for (const name of names) {
        const there = groups.get(name);
        if (there) there.push(client);
        else groups.set(name, [client]);
      }
    }
    return new Map([...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
  }

  private draw(): void {
    const groups = this.grouped();
    const as_table = this.toggle.getAttribute('aria-pressed') === 'true';
    const nobody = groups.size === 0;
    get('groups-empty').hidden = !nobody;
    this.picture.hidden = nobody || as_table;
    get('groups-numbers').hidden = nobody || !as_table;
    for (const [client, when] of this.moved) if (Date.now() - when > FRESH) this.moved.delete(client);
    this.tell(null);
    if (nobody) return;
    if (as_table) return this.tabulate(groups);
    const width = this.picture.clientWidth;
    const height = this.picture.clientHeight;
    if (width < 40 || height < 40) return;
    this.svg.setAttribute('aria-label', `${this.sentence(groups)} The button "table" shows who is where.`);
    const { boxes, cell, height: needed } = fitted(groups, width - 1, height);
    // What does not fit even so is scrolled.
    this.svg.setAttribute('viewBox', `0 0 ${width} ${Math.max(height, needed)}`);
    this.svg.style.height = `${Math.max(height, needed)}px`;
    const label = LABEL[groups.size > MANY ? 1 : 0]!;
    this.frames(boxes, cell, label);
    this.fill(boxes, cell, label);
  }

  private frames(boxes: Box[], cell: number, label: number): void {
    const named = boxes.length === 1 || boxes.every((box) => box.columns * cell > 24);
    replace(
      this.boxes,
      ...boxes.flatMap((box) => {
        const rows = Math.ceil(box.clients.length / box.columns);
        const whole = `${box.name} · ${count(box.clients.length)}`;
        // A letter takes about so much room.
        const text = box.columns * cell > 5.6 * whole.length ? whole : box.name.replace('group ', '');
        return [
          drawn('rect', { class: 'group', x: box.x, y: box.y + label, width: box.columns * cell + 4, height: rows * cell + 4, rx: 3 }),
          named ? drawn('text', { class: label < 12 ? 'small' : null, x: box.x + 1, y: box.y + label - 3 }, text) : drawn('text', {}),
        ];
      }),
    );
  }

  private fill(boxes: Box[], cell: number, label: number): void {
    const used = new Set<string>();
    const radius = Math.min(8, cell * 0.38);
    for (const box of boxes) {
      box.clients.forEach((client, n) => {
        // The first dot of a client is the same one wherever it goes: it is seen to move.
        let key = String(client);
        for (let copy = 2; used.has(key); copy++) key = `${client}/${copy}`;
        used.add(key);
        const state = this.book.all.get(client)!.state;
        const x = box.x + 2 + cell * ((n % box.columns) + 0.5);
        const y = box.y + label + 2 + cell * (Math.floor(n / box.columns) + 0.5);
        let dot = this.dots.get(key);
        if (!dot) {
          dot = drawn('path', { 'data-client': client });
          this.dots.set(key, dot);
          this.layer.append(dot);
        }
        const look = `dot dot-${state}${this.moved.has(client) ? ' moved' : ''}`;
        if (dot.getAttribute('class') !== look) {
          dot.setAttribute('class', look);
          dot.setAttribute('d', SHAPES[state] ?? SHAPES.here!);
        }
        const transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) scale(${radius.toFixed(2)})`;
        if (dot.dataset.at !== transform) {
          dot.dataset.at = transform;
          dot.style.transform = transform;
        }
      });
    }
    for (const [key, dot] of this.dots) {
      if (used.has(key)) continue;
      dot.remove();
      this.dots.delete(key);
    }
  }

  private tabulate(groups: Map<string, number[]>): void {
    const rows = [...groups].map(([name, clients]) => {
      const fresh = clients.filter((client) => this.moved.has(client));
      return [name, count(clients.length), list(clients, 40), fresh.length ? list(fresh, 10) : '–'];
    });
    const columns = [{ title: 'group' }, { title: 'clients', number: true }, { title: 'who' }, { title: 'just moved' }];
    replace(get('groups-numbers'), table('Who learns with whom', columns, rows));
  }

  private sentence(groups: Map<string, number[]>): string {
    const names = [...groups.keys()];
    const clients = new Set([...groups.values()].flat()).size;
    if (names[0] === 'all together' || names.length === 0) return `${several(clients, 'client')} ${clients === 1 ? 'learns' : 'learn'} in one group.`;
    const real = names.filter((name) => name !== 'in no group').length;
    const moved = this.moved.size ? ` ${several(this.moved.size, 'client')} just moved.` : '';
    return `${several(clients, 'client')} in ${several(real, 'group')}.${moved}`;
  }

  private tell(client: string | null | undefined): void {
    const member = client ? this.book.all.get(Number(client)) : undefined;
    const into = get('groups-note');
    if (!member) return write(into, this.book.all.size ? this.sentence(this.grouped()) : '');
    const where = member.clusters?.length ? `, group ${list(member.clusters)}` : '';
    write(into, `${state_of(member.state).shape} client ${member.client}: ${member.state}${where}`);
  }
}

interface Shelves {
  boxes: Box[];
  cell: number;
  height: number;
}

/** Boxes on shelves, with as much room for a dot as the picture allows. */
function fitted(groups: Map<string, number[]>, width: number, height: number): Shelves {
  let best = shelves(groups, width, TIGHT);
  let [small, large] = [TIGHT, ROOMY];
  for (let tries = 0; tries < 12; tries++) {
    const cell = (small + large) / 2;
    const tried = shelves(groups, width, cell);
    if (tried.height <= height) {
      best = tried;
      small = cell;
    } else large = cell;
  }
  return best;
}

function shelves(groups: Map<string, number[]>, width: number, cell: number): Shelves {
  const boxes: Box[] = [];
  const [label, gap] = [LABEL[groups.size > MANY ? 1 : 0]!, GAP[groups.size > MANY ? 1 : 0]!];
  const most = Math.max(1, Math.floor((width - 6) / cell));
  let [x, y, shelf] = [1, 0, 0];
  for (const [name, clients] of groups) {
    const columns = groups.size === 1 ? Math.min(most, clients.length) : Math.min(most, Math.max(Math.ceil(26 / cell), Math.ceil(Math.sqrt(clients.length * 1.6))));
    const [wide, high] = [columns * cell + 4, Math.ceil(clients.length / columns) * cell + 4 + label];
    if (x + wide > width && x > 1) {
      x = 1;
      y += shelf + gap / 2;
      shelf = 0;
    }
    boxes.push({ name, clients, columns, x, y });
    x += wide + gap;
    shelf = Math.max(shelf, high);
  }
  return { boxes, cell, height: y + shelf };
}

