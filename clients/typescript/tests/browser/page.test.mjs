// The built client in a page of another origin, in a real browser, beside real processes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Client } from '../../dist/index.js';
import { federated, until } from '../federation.mjs';

let browser;
before(async () => (browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })));
after(() => browser.close());

/** Runs `look` beside a shop: a server that has the page and the built client, and an origin of its own. */
async function shop(look) {
  const here = new URL('.', import.meta.url);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://shop');
    if (pathname === '/favicon.ico') return response.writeHead(204).end();
    const script = pathname.startsWith('/dist/');
    const file = script ? new URL(`../../dist/${basename(pathname)}`, here) : new URL('page.html', here);
    response.writeHead(200, { 'content-type': script ? 'text/javascript' : 'text/html; charset=utf-8' });
    response.end(readFileSync(file));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await look(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
}

/** The page, with the client that it is told of. */
async function opened(origin, query, look) {
  const page = await browser.newPage();
  try {
    await page.goto(`${origin}/?${new URLSearchParams(query)}`);
    await look(page);
  } finally {
    await page.close();
  }
}

const text = (page, id) => page.locator(`#${id}`).innerText();
const says = (page, id, words) => until(`${id} says ${words}`, async () => (await text(page, id)) === String(words));

test('a page of a listed origin decides and rewards by clicks', () =>
  shop((origin) =>
    federated(async (federation) => {
      const { url } = await federation.join(0, `origins = ["${origin}"]`);
      const client = new Client({ url });
      await opened(origin, { client: url }, async (page) => {
        await says(page, 'shown', 1);
        for (let visitor = 1; visitor <= 10; visitor++) {
          // Who sees the second headline buys.
          const buys = (await text(page, 'headline')) === 'Half the price';
          await page.locator(buys ? '#buy' : '#leave').click();
          await says(page, 'shown', visitor + 1);
        }
        const status = await client.status();
        assert.deepEqual([status.decisions, status.rewards, status.open_decisions], [11, 10, 1]);
        assert.equal(String(status.reward_sum), await text(page, 'bought'));
        assert.equal(await text(page, 'said'), '');
      });
    })));

test('a page that is not listed gets nothing', () =>
  shop((origin) =>
    federated(async (federation) => {
      const { url } = await federation.join(0, 'origins = ["https://shop.example"]');
      await opened(origin, { client: url }, (page) => says(page, 'said', 'CahootsError unreachable 0'));
      assert.equal((await new Client({ url }).status()).decisions, 0);
    })));

test('a page shows its token; a wrong one is refused, and the page can read why', () =>
  shop((origin) =>
    federated(async (federation) => {
      const token = '0123456789abcdef-of-the-shop';
      const { url } = await federation.join(0, `origins = ["${origin}"]\ntoken = "${token}"`);
      await opened(origin, { client: url, token: 'wrong' }, (page) => says(page, 'said', 'CahootsError refused 401'));
      await opened(origin, { client: url, token }, (page) => says(page, 'shown', 1));
      assert.equal((await new Client({ url, token }).status()).decisions, 1);
    })));
