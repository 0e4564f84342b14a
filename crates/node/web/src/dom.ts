// Elements made by hand. Text goes in as text and never as markup: what is shown was written by strangers.

export type Child = Node | string | number | null | undefined | false;

export const get = <T extends HTMLElement = HTMLElement>(id: string): T => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
};

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number | boolean | null | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  set(made, attributes);
  add(made, children);
  return made;
}

export function drawn<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number | boolean | null | undefined> = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  set(made, attributes);
  add(made, children);
  return made;
}

function set(on: Element, attributes: Record<string, string | number | boolean | null | undefined>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    on.setAttribute(name, value === true ? '' : String(value));
  }
}

function add(to: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    to.append(child instanceof Node ? child : String(child));
  }
}

/** Writes a text where it is another one than what stands there: a selection or a cursor is left alone. */
export function write(into: Element, text: string): void {
  if (into.textContent !== text) into.textContent = text;
}

/** Makes an element's children look like these. What is the same stays the same node: focus, selection and scrolling hold. */
export function replace(into: Element, ...children: Child[]): void {
  const next = document.createElement('template').content;
  for (const child of children) if (child !== null && child !== undefined && child !== false) next.append(child instanceof Node ? child : String(child));
  match(into, next);
}

function match(into: Element, next: Element | DocumentFragment): void {
  const wanted = [...next.childNodes];
  wanted.forEach((want, n) => {
    const have = into.childNodes[n];
    if (!have) into.append(want);
    else if (have.nodeName !== want.nodeName || (have as Element).id !== (want as Element).id) have.replaceWith(want);
    else if (want instanceof Element) {
      for (const { name } of [...(have as Element).attributes]) if (!want.hasAttribute(name)) (have as Element).removeAttribute(name);
      for (const { name, value } of want.attributes) if ((have as Element).getAttribute(name) !== value) (have as Element).setAttribute(name, value);
      match(have as Element, want);
    } else if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
  });
  while (into.childNodes.length > wanted.length) into.lastChild!.remove();
}

/** Words in which `what is to be typed` stands between backticks. */
export function prose(words: string): DocumentFragment {
  const all = document.createDocumentFragment();
  words.split('`').forEach((part, index, parts) => {
    // A backtick without its partner means itself.
    const code = index % 2 === 1 && index < parts.length - 1;
    if (index % 2 === 1 && !code) all.append('`');
    if (part) all.append(code ? element('code', {}, part) : part);
  });
  return all;
}

export interface Column {
  title: string;
  number?: boolean;
}

/** A plain table with a caption for those who do not see where it stands. */
export function table(caption: string, columns: Column[], rows: Child[][]): HTMLTableElement {
  const cell = (name: 'th' | 'td', column: Column, child: Child, scope?: string) =>
    element(name, { class: column.number ? 'number' : null, scope }, child);
  return element(
    'table',
    {},
    element('caption', { class: 'unseen' }, caption),
    element('thead', {}, element('tr', {}, ...columns.map((column) => cell('th', column, column.title, 'col')))),
    element(
      'tbody',
      {},
      ...rows.map((row) =>
        element('tr', {}, ...row.map((child, n) => cell(n === 0 ? 'th' : 'td', columns[n]!, child, n === 0 ? 'row' : undefined))),
      ),
    ),
  );
}
