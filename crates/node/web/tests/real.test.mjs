// The pages of a real federation: what the program really serves, and what becomes of the page when it is killed.
import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { after, before, test } from 'node:test';
import { CLUSTERED, Federation, K_ARMED, LARGE, decide, pull } from './federation.mjs';
import { POLICY } from './fixture.mjs';
import { open_at, picture, pictures, rows, says, settled, start, stop, text, until } from './open.mjs';

before(start);
after(stop);

const real = { skip: !process.env.CAHOOTS && 'no program was named' };

/** Nothing is empty, and nothing could not be shown. */
async function every_part_is_filled(page) {
  for (const id of ['sentence', 'tiles', 'attention', 'groups-note', 'learnt-words', 'privacy-words', 'journal', 'found', 'traffic', 'faults', 'terms', 'uptime', 'fresh']) {
    await says(page, `#${id}`, /\w[^]*\w/);
  }
  await until('the chart', () => page.locator('#activity-chart canvas').count());
  await until('dots', () => page.locator('path.dot').count());
  await until('what is learnt', () => page.locator('#learnt tbody tr, #learnt .empty').count());
  await until('rows', async () => (await rows(page)).length);
  assert.equal(await page.locator('[data-broken]').count(), 0);
  const [wide, room] = await page.$eval('#learnt', (box) => [box.scrollWidth, box.clientWidth]);
  assert.ok(wide <= room, `what is learnt is cut: ${wide} in ${room}`);
}

/** What is learnt, row by row: names, estimates, intervals. */
const learnt = (page) => page.$$eval('#learnt tbody tr', (all) => all.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
const numbers = (text) => text.replaceAll('−', '-').match(/-?[\d.]+/g).map(Number);

test('a real coordinator: empty, filled, killed, back', real, async () => {
  const federation = await new Federation().start();
  try {
    assert.equal((await fetch(federation.url)).headers.get('content-security-policy'), POLICY);
    await open_at(federation.url, { silent: true }, async (page) => {
      await settled(page);
      await says(page, '#attention', 'cahoots client client.toml');
      const clients = [await federation.join(0), await federation.join(1), await federation.join(2)];
      await Promise.all(clients.map((client) => decide(client, 60)));
      await says(page, '#tile-clients', '3 of 3 here');
      await until('rewards are merged', async () => /[1-9]\d* rewards/.test(await text(page, '#tile-merged')));
      await until('three rows', async () => String(await rows(page)) === '0,1,2');
      await until('three weights', async () => (await page.locator('#learnt tbody tr').count()) === 3);
      await says(page, '#journal', 'joined');
      await until('dots', async () => (await page.locator('path.dot').count()) === 3);
      await until('the chart', () => page.locator('#activity-chart canvas').count());
      // What the server writes into the page is what the script makes of the same status.
      const with_scripts = async () => (await text(page, '#tiles')).replace(/\s+/g, ' ');
      await open_at(federation.url, { javaScriptEnabled: false }, async (plain) => {
        await until('the same tiles', async () => {
          await plain.reload();
          return (await text(plain, '#tiles')).replace(/\s+/g, ' ') === (await with_scripts());
        });
        assert.equal(await text(plain, '#health'), await text(page, '#health'));
      });
      await page.locator('tr[data-client="1"] button').click();
      await says(page, '#story-journal', 'joined');
      await page.keyboard.press('Escape');
      await pictures(page, 'real');

      await federation.coordinator.kill();
      await says(page, '#gone', /The coordinator does not answer[^]*Silent since/);
      await decide(clients[0], 5);
      await federation.serve();
      await until('the banner is gone', () => page.locator('#gone').isHidden());
      await says(page, '#tile-clients', '3 of 3 here');
      await until('three rows', async () => String(await rows(page)) === '0,1,2');

      await clients[2].kill();
      await says(page, '#tile-clients', '2 of 3 here');
      await until('one is away', async () => (await page.locator('tr[data-client="2"] td').first().innerText()).includes('away'));
    });
  } finally {
    await federation.stop();
  }
});

/** As a browser does: asks, and keeps the connection until the other side closes it. */
const visited = (url) =>
  new Promise((done) => {
    const agent = new Agent({ keepAlive: true });
    get(url, { agent }, (answer) => answer.resume()).on('socket', (socket) => socket.on('close', done));
  });

test('a real federation of plain arms: before the first phase, and ranked with intervals after it', real, async () => {
  const federation = await new Federation().start('', K_ARMED);
  try {
    const idle = visited(federation.url);
    const clients = [await federation.join(0), await federation.join(1), await federation.join(2)];
    await open_at(federation.url, {}, async (page) => {
      await says(page, '#tile-clients', '3 of 3 here');
      await every_part_is_filled(page);
      await says(page, '#learnt-words', 'no mean is known yet');
      assert.deepEqual(await learnt(page), [0, 1, 2, 3].map((arm) => [`arm ${arm}`, '–', '–']));
      const pays = [0.2, 0.9, 0.1, 0.8];
      await Promise.all(clients.map((client) => pull(client, 120, pays)));
      await until('two are given up', async () => (await learnt(page)).filter(([name]) => name.includes('dropped')).length === 2);
      const shown = await learnt(page);
      assert.deepEqual(shown.map(([name]) => name), ['arm 1', 'arm 3', 'arm 0 (dropped)', 'arm 2 (dropped)'], 'best first');
      for (const [name, estimate, between] of shown) {
        const [low, high] = numbers(between);
        const truth = pays[Number(name.match(/\d/))];
        assert.ok(low < truth && truth < high && Math.abs(numbers(estimate) - truth) < 0.05, `${name}: ${estimate}, ${between}`);
      }
      assert.equal(await page.locator('#learnt svg circle').count(), 4);
      await says(page, '#learnt-note', 'confidence');
      await says(page, '#journal', 'joined');
      await every_part_is_filled(page);
      await pictures(page, 'real-arms');
      await idle;
      const { limits } = await (await fetch(`${federation.url}status`)).json();
      assert.equal(limits.late, 0, 'who has asked and asks no more is not late');
    });
  } finally {
    await federation.stop();
  }
});

test('a real federation of two kinds of clients: each among its like', real, async () => {
  const federation = await new Federation().start('tick = 0.1', CLUSTERED);
  try {
    const clients = await Promise.all([0, 1, 2, 3, 4, 5].map((client) => federation.join(client)));
    await open_at(federation.url, {}, async (page) => {
      await says(page, '#tile-clients', '6 of 6 here');
      const worth = (client) => 2 * (client.client % 2);
      await until('two groups', async () => {
        await Promise.all(clients.map((client) => decide(client, 15, worth(client))));
        return (await text(page, '#groups-note')).includes('6 clients in 2 groups');
      }, 60_000);
      await until('two models', async () => (await page.locator('#learnt-model option').count()) === 2);
      // The groups that are shown and the models are the same ones, under the same names.
      await page.locator('#groups-table').click();
      const groups = await page.$$eval('#groups-numbers tbody tr', (all) => all.map((row) => [row.cells[0].textContent, row.cells[2].textContent]));
      assert.deepEqual(groups.map(([, who]) => who).sort(), ['0, 2 and 4', '1, 3 and 5']);
      for (const [place, [name, who]] of groups.entries()) {
        assert.equal(await page.locator(`#learnt-model option:nth-child(${place + 1})`).innerText(), name);
        await page.locator('#learnt-model').selectOption(String(place));
        await says(page, '#learnt-note', `of clients ${who}`);
        await until('three weights', async () => (await learnt(page)).length === 3);
        const most = who.startsWith('0') ? 'feature 0' : 'feature 2';
        await until(`${most} is worth most`, async () => (await learnt(page)).sort((a, b) => numbers(b[1])[0] - numbers(a[1])[0])[0][0] === most);
      }
      await page.locator('#groups-table').click();
      await every_part_is_filled(page);
      await pictures(page, 'real-groups');
    });
  } finally {
    await federation.stop();
  }
});

test('a real coordinator with 5,000 members', real, async () => {
  const federation = await new Federation().start('', LARGE);
  try {
    const crowd = await federation.crowd(5000, 200);
    await open_at(federation.url, {}, async (page) => {
      await settled(page);
      await says(page, '#tile-clients', '200 of 5,000 here');
      await says(page, '#sentence', '200 of 5,000 clients are here');
      await says(page, '#found', '5,000 clients');
      await until('a dot for each', async () => (await page.locator('path.dot').count()) === 5000);
      await says(page, '#filters', /○ away 4,800[^]*● here 200/);
      await page.$eval('#list', (list) => (list.scrollTop = list.scrollHeight));
      await until('the last row', async () => (await rows(page)).at(-1) === 4999);
      assert.ok((await rows(page)).length < 100, 'only rows in sight exist');
      await page.locator('#search').fill('4321');
      await says(page, '#found', '1 of 5,000 clients');
      await page.locator('tr[data-client="4321"] button').click();
      await says(page, '#story-facts', 'away');
      await says(page, '#story-journal', 'joined');
      await page.keyboard.press('Escape');
      await page.locator('#search').fill('');
      await every_part_is_filled(page);
      await pictures(page, 'real-5000');
      await crowd.kill();
      await says(page, '#tile-clients', '0 of 5,000 here');
      await until('all rows say so', async () => (await page.$$eval('#list-rows tr[data-client]:not([hidden])', (all) => all.every((row) => row.dataset.in === 'away'))));
    });
  } finally {
    await federation.stop();
  }
});

test('late is what the page says it is, and a stranger is no member', real, async () => {
  const federation = await new Federation().start('[limits]\nlate = 1');
  try {
    const clients = [await federation.join(0), await federation.join(1), await federation.join(2)];
    await open_at(federation.url, {}, async (page) => {
      await says(page, '#tile-clients', '3 of 3 here');
      const state = (client) => page.locator(`tr[data-client="${client}"] td`).first().innerText();
      const member = async (client) => (await (await fetch(`${federation.url}members`)).json()).members.find((one) => one.client === client);
      const story = async (client) => {
        await page.locator(`tr[data-client="${client}"] button`).click();
        await says(page, '#story-title', `Client ${client}`);
        const words = await text(page, '#story-facts');
        await page.keyboard.press('Escape');
        return words;
      };
      await clients[0].kill();
      await until('it is late', async () => (await state(0)) === '▲ late');
      assert.equal((await member(0)).connected, false);
      assert.match(await story(0), /not connected, and has been away for longer than late[^]*What to do:[^]*its log|look at its log/);
      await clients[1].kill();
      // Someone else under its number is not let in, and changes nothing that is shown of it.
      await federation.join(1, '', 'another').then((one) => one, (error) => error);
      await until('it is late', async () => (await state(1)) === '▲ late');
      const late = await member(1);
      assert.ok(!late.connected && late.refused === 0 && !late.reason, JSON.stringify(late));
      // Who is connected and says nothing is not late.
      await decide(clients[2], 1);
      assert.equal(await state(2), '● here');
    });
  } finally {
    await federation.stop();
  }
});

test('a real client: its own page, killed', real, async () => {
  const federation = await new Federation().start();
  try {
    const client = await federation.join(4);
    await decide(client, 40);
    assert.equal((await fetch(client.url)).headers.get('content-security-policy'), POLICY);
    await open_at(client.url, { silent: true }, async (page) => {
      await says(page, '#name', 'client 4');
      await says(page, '#sentence', 'All is well');
      await says(page, '#gain-words', /\w/);
      await says(page, '#privacy-words', 'No privacy');
      await until('the chart', () => page.locator('#rewards-chart canvas').count());
      await pictures(page, 'real-client');
      await client.kill();
      await says(page, '#gone', 'This client does not answer');
    });
  } finally {
    await federation.stop();
  }
});

test('with a token: asked for once, in a form that can be read; without it, nothing is shown', real, async () => {
  const token = '0123456789abcdef-of-the-page';
  const federation = await new Federation().start(`token = "${token}"`);
  try {
    for (const path of ['status', 'members', 'events', 'page.js']) assert.equal((await fetch(federation.url + path)).status, 401, path);
    await open_at(federation.url, { silent: true }, async (page) => {
      assert.ok(!(await page.content()).includes('shops'));
      assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector('code')).fontFamily.includes('monospace')), true, 'styled');
      await page.locator('input').fill('wrong');
      await page.keyboard.press('Enter');
      await says(page, '[role=alert]', 'not the token');
      await picture(page, 'real-login');
      await page.locator('input').fill(token);
      await page.keyboard.press('Enter');
      await says(page, '#federation', 'shops');
      await says(page, '#fresh', 'last update');
      await settled(page);
    });
  } finally {
    await federation.stop();
  }
});

test('a client with a token: its page asks for it in a form; what the browser was given looks and decides nothing', real, async () => {
  const token = '0123456789abcdef-of-the-app';
  const federation = await new Federation().start();
  try {
    const client = await federation.join(4, `token = "${token}"`);
    for (const path of ['status', 'history', 'gain', 'page.js']) assert.equal((await fetch(client.url + path)).status, 401, path);
    await open_at(client.url, { silent: true, complains: /status of 403/ }, async (page) => {
      await says(page, 'form', 'in the client\'s file');
      await page.locator('input').fill('wrong');
      await page.keyboard.press('Enter');
      await says(page, '[role=alert]', 'not the token');
      await page.locator('input').fill(token);
      await page.keyboard.press('Enter');
      await says(page, '#name', 'client 4');
      await says(page, '#sentence', 'All is well');
      await says(page, '#fresh', 'last update');
      const decided = await page.evaluate(async () => (await fetch('/decide', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"arms": [[1, 0, 0]]}' })).status);
      assert.equal(decided, 403);
    });
    // Who has not been asked is still asked.
    await open_at(client.url, { silent: true }, (page) => says(page, 'form', 'Token'));
  } finally {
    await federation.stop();
  }
});
