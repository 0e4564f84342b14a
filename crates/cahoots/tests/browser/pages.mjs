// The pages as a reader meets them: from a file, without a network, in the light and in the dark, on a phone, on paper.
import assert from 'node:assert/strict';
import { readFileSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const page_of = (name) => pathToFileURL(resolve(`results/${name}`)).href;
const json_of = (name) => JSON.parse(readFileSync(`results/${name}`, 'utf8'));
const RUNS = ['one', 'five', 'forty', 'worlds'];
const shots = process.env.CAHOOTS_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
});
after(() => browser.close());

// Opens a page as asked; whatever it complains about or asks of a network is a failure.
async function open(name, options = {}, look) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, offline: true, ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('request', (request) => request.url() !== page_of(name) && trouble.push(request.url()));
  await page.goto(page_of(name));
  try {
    await look(page);
    assert.deepEqual(trouble, []);
  } finally {
    await context.close();
  }
}

const column = (page, table, number) =>
  page.$$eval(`#${table} tbody tr`, (rows, n) => rows.map((row) => row.cells[n].textContent), number);
const first_number = (text) => Number(text.split('±')[0].replace(/,/g, ''));
const picture = async (page, name, whole = true) =>
  shots && (await page.screenshot({ path: `${shots}/${name}.png`, fullPage: whole }));

for (const name of RUNS) {
  test(`${name}: everything is there, from a file and without a network`, () =>
    open(`${name}/report.html`, {}, async (page) => {
      for (const id of ['words', 'results', 'figures', 'verdicts', 'privacy', 'configuration', 'again']) {
        assert.ok((await page.locator(`#${id}`).innerText()).length > 30, id);
      }
      const summary = json_of(`${name}/summary.json`);
      const labels = await column(page, 'results-table', 0);
      assert.deepEqual(labels, summary.map((entry) => entry.label));
      const figures = await page.locator('figure.figure svg').count();
      assert.ok(figures >= 1);
      const sizes = await page.$$eval('figure.figure svg', (all) => all.map((svg) => svg.getBoundingClientRect().height));
      assert.ok(sizes.every((height) => height > 100), String(sizes));
      const manifest = json_of(`${name}/manifest.json`);
      const configuration = await page.locator('#configuration').innerText();
      assert.ok(configuration.includes(manifest.source.trim().split('\n').at(-1)));
      assert.ok(configuration.includes(manifest.seeds.join(', ')));
      assert.ok((await page.locator('#again').innerText()).includes('manifest.json --out again'));
      await picture(page, `${name}-light`);
    }));
}

test('text of the experiment means itself', () =>
  open('five/report.html', {}, async (page) => {
    assert.equal(await page.evaluate('window.broken'), undefined);
    assert.ok((await page.locator('h1').innerText()).includes('<b>sweep</b> </script>'));
  }));

test('tables are sorted by a click, and the other way round by another', () =>
  open('five/report.html', {}, async (page) => {
    // Thousands with commas, means with intervals, numbers below zero.
    for (const [table, title, number] of [
      ['results-table', 'regret', 2],
      ['results-table', 'messages', 4],
      ['verdicts-table', 'difference', 2],
    ]) {
      const heading = page.locator(`#${table} thead button`, { hasText: title });
      await heading.click();
      const up = (await column(page, table, number)).map(first_number);
      assert.deepEqual(up, [...up].sort((a, b) => a - b), title);
      await heading.click();
      const down = (await column(page, table, number)).map(first_number);
      assert.deepEqual(down, [...up].sort((a, b) => b - a), title);
      assert.notEqual(up[0], down[0]);
      assert.equal(await page.locator(`#${table} th[aria-sort]`).count(), 1);
    }
    await page.locator('#results-table thead button', { hasText: 'entry' }).click();
    const names = await column(page, 'results-table', 0);
    assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
  }));

test('figures tell their values on hover', () =>
  open('five/report.html', {}, async (page) => {
    const summary = json_of('five/summary.json');
    const alone = summary.find((entry) => entry.label === 'linucb-alone');
    const svg = page.locator('#figure-regret svg');
    await svg.scrollIntoViewIfNeeded();
    const values = JSON.parse(await page.locator('#figure-regret script.values').textContent());
    const series = values.series.find((one) => one.name === 'linucb-alone');
    const last = series.points.at(-1);
    assert.ok(Math.abs(last[3] - alone.regret_mean) < 1e-3 * alone.regret_mean, 'what is told is what was measured');
    const box = await svg.boundingBox();
    assert.ok(await page.locator('#tip').isHidden());
    await page.mouse.move(box.x + (last[0] / values.width) * box.width, box.y + (last[1] / values.height) * box.height);
    const told = await page.locator('#tip').innerText();
    assert.ok(told.includes('linucb-alone') && told.includes('95%'), told);
    const written = Number(told.split('\n')[1].split(': ')[1].replace(/,/g, ''));
    assert.ok(Math.abs(written - alone.regret_mean) < 1e-3 * alone.regret_mean, told);
    await picture(page, 'five-hover', false);
    await page.mouse.move(box.x + 2, box.y + 2);
    assert.ok(await page.locator('#tip').isHidden(), 'far from everything nothing is told');
  }));

test('a map tells the value of its cell', () =>
  open('forty/report.html', {}, async (page) => {
    const svg = page.locator('#figure-regret-map svg');
    await svg.scrollIntoViewIfNeeded();
    const cell = await svg.locator('rect.cell').nth(3).boundingBox();
    await page.mouse.move(cell.x + cell.width / 2, cell.y + cell.height / 2);
    const told = await page.locator('#tip').innerText();
    assert.ok(told.includes('ridge = ') && told.includes('upload_ratio = '), told);
  }));

// Contrast after WCAG 2: text against what is behind it.
const contrast = (page, selector) =>
  page.$$eval(selector, (all) => {
    const light = ([r, g, b]) => {
      const part = (value) => ((value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const paper = light(parse(getComputedStyle(document.body).backgroundColor));
    const ratio = (element) => {
      const style = getComputedStyle(element);
      const ink = light(parse(element instanceof SVGElement ? style.fill : style.color));
      return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    };
    return Math.min(...all.map(ratio));
  });

for (const scheme of ['light', 'dark']) {
  test(`${scheme}: everything can be read`, () =>
    open('five/report.html', { colorScheme: scheme }, async (page) => {
      const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(dark === 'rgb(255, 255, 255)', scheme === 'light', dark);
      for (const selector of ['p', 'td', 'thead button', 'a', 'pre', 'summary', 'svg text.tick', 'svg text.entry', 'svg .note']) {
        const least = await contrast(page, selector);
        assert.ok(least >= 4.5, `${selector}: ${least}`);
      }
      const paper = await page.$eval('#figure-regret svg > rect', (rect) => getComputedStyle(rect).fill);
      assert.equal(paper, dark, 'a picture lies on the page, not on a sheet of its own');
      await picture(page, `five-${scheme}`);
    }));
}

test('light and dark can be chosen', () =>
  open('one/report.html', { colorScheme: 'light' }, async (page) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await paper();
    await page.locator('#theme').click();
    assert.notEqual(await paper(), before);
    await page.locator('#theme').click();
    assert.equal(await paper(), before);
  }));

for (const name of [...RUNS.map((run) => `${run}/report.html`), 'papers/index.html']) {
  test(`${name} on a phone: nothing is wider than the screen`, () =>
    open(name, { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }, async (page) => {
      const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= room && room <= 376, `${wide} in ${room}`);
      const sizes = await page.$$eval('figure.figure svg', (all) => all.map((svg) => svg.getBoundingClientRect().width));
      assert.ok(sizes.every((width) => width >= 320), String(sizes));
      await picture(page, `${name.split('/')[0]}-phone`);
    }));
}

test('on paper: black on white, what is folded is unfolded, nothing to click', () =>
  open('five/report.html', { colorScheme: 'dark' }, async (page) => {
    const pdf = await page.pdf({ format: 'A4', ...(shots ? { path: `${shots}/five-print.pdf` } : {}) });
    assert.ok(pdf.length > 20_000);
    await page.emulateMedia({ media: 'print' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    assert.ok(await page.locator('nav').isHidden());
    const folded = await page.locator('#configuration details:not([open])').count();
    assert.equal(folded, 0);
    const fill = await page.$eval('#figure-regret svg text.tick', (text) => getComputedStyle(text).fill);
    assert.equal(fill, 'rgb(0, 0, 0)');
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    assert.ok((await page.locator('#configuration details:not([open])').count()) > 0);
  }));

test('without scripts everything but hover and sorting is there', () =>
  open('forty/report.html', { javaScriptEnabled: false }, async (page) => {
    assert.equal(await page.locator('#results-table tbody tr').count(), 42);
    assert.ok(await page.locator('#figure-regret svg').isVisible());
    assert.ok(await page.locator('#theme').isHidden());
  }));

test('forty entries are one legend, one scale and one map', () =>
  open('forty/report.html', {}, async (page) => {
    assert.equal(await page.locator('#figure-regret .chart').count(), 5);
    assert.equal(await page.locator('#figure-regret-map .cell').count(), 40);
    const entries = await page.locator('#figure-regret text.entry').allTextContents();
    assert.ok(entries.includes('linucb-alone') && entries.includes('linucb-shared'), String(entries));
  }));

test('different objectives are neither compared nor mixed up', () =>
  open('worlds/report.html', {}, async (page) => {
    const words = await page.locator('#words').innerText();
    assert.ok(words.includes('only those with the same objective are compared'), words);
    const own = 'rewards delay=0, measured against "global": pf-ucb personalization=0 delay=0 had a regret of';
    assert.ok(words.includes(own), words);
    assert.ok((await page.locator('#figure-regret svg').textContent()).includes('rewards delay=20'));
    // Only the entry that pursues the same as the first is held against it, world by world.
    assert.deepEqual(await column(page, 'verdicts-table', 0), [
      'pf-ucb personalization=1 delay=0',
      'pf-ucb personalization=1 delay=20',
    ]);
    assert.deepEqual(await column(page, 'verdicts-table', 1), ['ucb-alone delay=0', 'ucb-alone delay=20']);
    assert.deepEqual((await column(page, 'results-table', 1)).slice(3, 5), ['rewards delay=0', 'rewards delay=20']);
  }));

test('papers: every item with its state, every claim with its verdict', () =>
  open('papers/index.html', {}, async (page) => {
    const items = await column(page, 'overview-table', 0);
    assert.ok(items.length > 25 && items.includes('hetofed/table-1'));
    const states = await column(page, 'overview-table', 2);
    const state = Object.fromEntries(items.map((item, row) => [item, states[row]]));
    assert.equal(state['dp-mab/figure-9'], 'a quick look');
    assert.equal(state['hetofed/table-1'], 'not run');
    for (const item of ['dp-mab/figure-9', 'pf-ucb/figure-5']) {
      const report = json_of(`papers/${item}/report.json`);
      const verdicts = await column(page, `${item.replace('/', '-')}-table`, 4);
      assert.deepEqual(verdicts, report.claims.map((claim) => claim.verdict.replaceAll('-', ' ')));
      const row = items.indexOf(item);
      const hold = (await column(page, 'overview-table', 3))[row];
      assert.equal(Number(hold), report.claims.filter((claim) => claim.verdict === 'holds').length);
    }
    const svg = page.locator('[id="figure-pf-ucb/figure-5 figure-5"] svg');
    assert.ok(await svg.isVisible());
    await picture(page, 'papers-light');
  }));
