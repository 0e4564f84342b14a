// A page in a real browser. Whatever it complains about, breaks of the policy, or asks of strangers is a failure.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { Fixture } from './fixture.mjs';

export const LAPTOP = { viewport: { width: 1280, height: 800 } };
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

const shots = process.env.CAHOOTS_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

let browser;
export const start = async () => (browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] }));
export const stop = () => browser.close();

/** Opens an address. `silent`: someone may be away for a while, and what the browser says about that is no trouble; `complains`: what
 * the page itself must say in the console, and must have said. */
export async function open_at(url, options, look) {
  const context = await browser.newContext({ ...LAPTOP, ...options });
  const page = await context.newPage();
  const trouble = [];
  const away = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|status of 401|Failed to fetch/;
  let complained = 0;
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type()) || (options.silent && away.test(message.text()))) return;
    if (options.complains?.test(message.text())) complained++;
    else trouble.push(message.text());
  });
  page.on('pageerror', (error) => trouble.push(String(error)));
  page.on('request', (request) => !request.url().startsWith(url) && !request.url().startsWith('data:') && trouble.push(request.url()));
  if (options.javaScriptEnabled !== false) {
    await page.addInitScript(() => {
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    });
  }
  if (options.before) await options.before(page);
  try {
    await page.goto(url + (options.hash ?? ''));
    await look(page);
    if (options.javaScriptEnabled !== false) {
      assert.deepEqual(await page.evaluate('window.violations'), []);
      assert.equal(await page.evaluate('window.broken'), undefined, 'text became markup');
    }
    assert.deepEqual(trouble, []);
    assert.equal(complained > 0, Boolean(options.complains), 'the console was told');
  } finally {
    await context.close();
  }
}

/** Opens the page of a made-up federation or client. */
export async function open(world, options, look) {
  const fixture = await new Fixture(world, world.members ? 'coordinator' : 'client').start();
  try {
    await open_at(fixture.url, options, (page) => look(page, fixture));
  } finally {
    await fixture.die().catch(() => {});
  }
}

/** Waits until something is true, however long that takes within reason. */
export async function until(what, true_yet, patience = 20_000) {
  const end = Date.now() + patience;
  let last;
  do {
    last = await true_yet();
    if (last) return last;
    await new Promise((done) => setTimeout(done, 50));
  } while (Date.now() < end);
  return assert.fail(`never: ${what}`);
}

export const text = (page, selector) => page.locator(selector).innerText();
export const says = (page, selector, words) =>
  until(`${selector} says ${words}`, async () => (typeof words === 'string' ? (await text(page, selector)).includes(words) : words.test(await text(page, selector))));

/** Everything is there: the list, or how to begin. */
export const settled = (page) => until('the page is filled', () => page.evaluate(() => !document.getElementById('list').hidden || !document.getElementById('nobody').hidden));

export const picture = async (page, name, whole = false) => shots && (await page.screenshot({ path: `${shots}/${name}.png`, fullPage: whole }));

/** In the light and in the dark, on a laptop and as narrow as a phone. */
export async function pictures(page, name) {
  if (!shots) return;
  for (const [size, { viewport }] of Object.entries({ laptop: LAPTOP, phone: PHONE })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      // Charts and dots come to rest.
      await page.waitForTimeout(1200);
      await picture(page, `${name}-${size}-${colorScheme}`, true);
    }
  }
  await page.setViewportSize(LAPTOP.viewport);
  await page.emulateMedia({ colorScheme: null });
}

/** Clients in the rows that exist, from above. */
export const rows = (page) => page.$$eval('#list-rows tr[data-client]:not([hidden])', (all) => all.map((row) => Number(row.dataset.client)));

/** Contrast after WCAG 2, of every text that is seen against what is behind it: the worst, and where. */
export const worst_contrast = (page) =>
  page.evaluate(() => {
    const part = (value) => ((value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
        if (a === 1) return [r, g, b];
      }
      return [255, 255, 255];
    };
    let worst = { ratio: 99, where: '' };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.nodeValue.trim() || !element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      const [ink, paper] = [light(parse(element instanceof SVGElement ? style.fill : style.color)), light(behind(element))];
      const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
      seen++;
      if (ratio < worst.ratio) worst = { ratio, where: `${element.tagName}.${element.getAttribute('class')} "${walker.currentNode.nodeValue.trim().slice(0, 40)}"` };
    }
    return { ...worst, seen };
  });
