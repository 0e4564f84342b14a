'use strict';
(() => {
  // Tables: a click on a heading sorts by it, another one turns the order round.
  const key = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    const number = Number(text.replace(/,/g, '').replace(/\u2212/g, '-'));
    return text !== '' && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    if (typeof a === 'number') return -1;
    if (typeof b === 'number') return 1;
    return a.localeCompare(b, 'en', { numeric: true });
  };
  for (const table of document.querySelectorAll('table.sortable')) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.querySelector('button').addEventListener('click', () => {
        const down = heading.getAttribute('aria-sort') === 'ascending';
        headings.forEach((other) => other.removeAttribute('aria-sort'));
        heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row, place) => [key(row, column), place, row]);
        rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
        body.append(...rows.map((row) => row[2]));
      });
    });
  }

  // Figures: the value nearest to the pointer.
  const tip = document.getElementById('tip');
  const written = (value) => {
    if (value === null) return 'none';
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(3);
    return value.toLocaleString('en', { maximumSignificantDigits: 5 });
  };
  for (const figure of document.querySelectorAll('figure.figure')) {
    const source = figure.querySelector('script.values');
    const svg = figure.querySelector('svg');
    if (!source || !svg) continue;
    const values = JSON.parse(source.textContent);
    const points = values.series.flatMap((series) => series.points.map((point) => ({ series, point })));
    const spot = document.createElementNS('http://www.w3.org/2000/svg', 'circle');
    spot.setAttribute('class', 'spot');
    spot.setAttribute('r', '7');
    spot.setAttribute('visibility', 'hidden');
    svg.append(spot);
    const hide = () => {
      tip.hidden = true;
      spot.setAttribute('visibility', 'hidden');
    };
    const show = (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * values.width;
      const y = ((event.clientY - box.top) / box.height) * values.height;
      let best = null;
      let least = 48 * 48;
      for (const one of points) {
        const distance = (one.point[0] - x) ** 2 + (one.point[1] - y) ** 2;
        if (distance < least) {
          least = distance;
          best = one;
        }
      }
      if (!best) return hide();
      const [px, py, at, value, low, high] = best.point;
      const lines = [best.series.name];
      if (best.series.panel) lines.push(best.series.panel);
      lines.push((at === '' ? '' : `${at}: `) + written(value));
      if (low !== undefined) lines.push(`95%: ${written(low)} to ${written(high)}`);
      tip.textContent = lines.join('\n');
      tip.hidden = false;
      const room = tip.getBoundingClientRect();
      const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - room.width - 6);
      const above = event.clientY - room.height - 12;
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${above < 4 ? event.clientY + 18 : above}px`;
      spot.setAttribute('cx', px);
      spot.setAttribute('cy', py);
      spot.setAttribute('visibility', 'visible');
    };
    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', hide);
    document.addEventListener('scroll', hide, { passive: true });
  }

  // Light or dark: the system's choice, until another one is made.
  const theme = document.getElementById('theme');
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const name = () => { theme.textContent = dark() ? 'light' : 'dark'; };
  theme.hidden = false;
  name();
  theme.addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    name();
  });

  // On paper everything is open but what pictures show already.
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('main details')) {
      if (!details.closest('figure') && !details.open) {
        details.dataset.closed = '';
        details.open = true;
      }
    }
  });
  addEventListener('afterprint', () => {
    for (const details of document.querySelectorAll('details[data-closed]')) {
      delete details.dataset.closed;
      details.open = false;
    }
  });
})();
