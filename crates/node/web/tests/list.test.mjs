// The list of clients, by hand and by keyboard, with thousands in it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { open, picture, rows, says, settled, start, stop, text, until } from './open.mjs';
import { NOW, world } from './worlds.mjs';

before(start);
after(stop);

const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.id);

test('5,000 clients: only rows in sight exist, and every one can be reached', () =>
  open(world(5000), {}, async (page, fixture) => {
    await settled(page);
    assert.equal(await page.getAttribute('#list-table', 'aria-rowcount'), '5001');
    await until('rows', async () => (await rows(page)).length > 10);
    assert.ok((await page.locator('#list tr').count()) < 80);
    await page.$eval('#list', (list) => (list.scrollTop = list.scrollHeight / 2));
    await until('the middle', async () => (await rows(page)).includes(2500));
    const middle = await rows(page);
    assert.deepEqual(middle, [...middle].sort((a, b) => a - b), 'in their order in the document too');
    assert.ok((await page.locator('#list tr').count()) < 80);
    // What stands in a row is that client's.
    const [client] = middle.slice(-3);
    const cells = await page.$$eval(`tr[data-client="${client}"] > *`, (all) => all.map((cell) => cell.textContent));
    const one = fixture.world.members[client];
    assert.equal(cells[0], String(client));
    assert.ok(cells[1].includes(one.state) || one.waited_for, cells[1]);
    assert.equal(cells[3], String(one.waiting));
    assert.ok(cells[4].startsWith(String(one.received)), cells[4]);
    assert.equal(await page.getAttribute(`tr[data-client="${client}"]`, 'aria-rowindex'), String(client + 2));
    await page.$eval('#list', (list) => (list.scrollTop = list.scrollHeight));
    await until('the last', async () => (await rows(page)).at(-1) === 4999);
    await picture(page, 'list-5000-end');
  }));

test('search by number, state, group and words of a reason; states by a click', () =>
  open(world(5000), {}, async (page, fixture) => {
    await settled(page);
    const count = (is) => fixture.world.members.filter(is).length.toLocaleString('en');
    await page.locator('#search').fill('4321');
    await says(page, '#found', '1 of 5,000 clients');
    await until('its row', async () => String(await rows(page)) === '4321');
    await page.locator('#search').fill('quarantined');
    await says(page, '#found', `${count((one) => one.state === 'quarantined')} of`);
    await page.locator('#search').fill('group:2 late');
    await says(page, '#found', `${count((one) => one.state === 'late' && one.clusters.includes(2))} of`);
    await page.locator('#search').fill('bound 1e6');
    await says(page, '#found', `${count((one) => one.reason.includes('1e6'))} of`);
    await page.locator('#search').fill('nothing like that');
    assert.ok(await page.locator('#no-match').isVisible());
    await page.locator('#search').fill('');
    await page.locator('#filters [data-state="away"]').click();
    await says(page, '#found', `${count((one) => one.state === 'away')} of`);
    assert.equal(await page.getAttribute('#filters [data-state="away"]', 'aria-pressed'), 'true');
  }));

test('sorted by a click on a heading, and the other way round by another', () =>
  open(world(5000), {}, async (page, fixture) => {
    await settled(page);
    const all = fixture.world.members;
    const keys = { lag: (one) => one.waiting, released: (one) => one.received, refused: (one) => one.refused, 'last heard': (one) => -one.last_contact, client: (one) => -one.client };
    for (const [title, key] of Object.entries(keys)) {
      const heading = page.locator('#list-head th', { hasText: title });
      await heading.locator('button').click();
      assert.equal(await heading.getAttribute('aria-sort'), 'ascending');
      assert.equal(await page.locator('#list-head [aria-sort]').count(), 1);
      await heading.locator('button').click();
      assert.equal(await heading.getAttribute('aria-sort'), 'descending');
      const most = Math.max(...all.map(key));
      if (title === 'client') await until('the last first', async () => (await rows(page))[0] === 4999);
      else await until(`${title}: the most first`, async () => key(all[(await rows(page))[0]]) === most);
    }
    // What is not known comes last, either way.
    const spent = page.locator('#list-head th', { hasText: 'ε' }).locator('button');
    for (const _ of [1, 2]) {
      await spent.click();
      await until('a known one first', async () => all[(await rows(page))[0]].spent !== null);
    }
    // Worst first.
    await page.locator('#list-head th', { hasText: 'state' }).locator('button').click();
    await until('quarantined first', async () => all[(await rows(page))[0]].state === 'quarantined');
  }));

test('rows stay where they are under the cursor', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    await page.locator('#list-head th', { hasText: 'lag' }).locator('button').click();
    const order = await rows(page);
    await page.locator(`tr[data-client="${order[2]}"] td`).nth(2).hover();
    fixture.change(order[2], { waiting: 900 });
    await until('the number is new', async () => (await page.locator(`tr[data-client="${order[2]}"] td`).nth(2).innerText()) === '900');
    assert.deepEqual(await rows(page), order);
    await page.mouse.move(5, 5);
    fixture.change(order[3], { waiting: 901 });
    await until('in order again', async () => String(await rows(page)) !== String(order));
  }));

test('all by keyboard: to the list, through it, into a story and back', () =>
  open(world(5000), {}, async (page) => {
    await settled(page);
    await until('rows', async () => (await rows(page)).length > 10);
    // The first stop leads past everything else.
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    await page.keyboard.press('Enter');
    const stops = [];
    for (let n = 0; n < 40 && (await focused(page)) !== 'client 0'; n++) {
      await page.keyboard.press('Tab');
      stops.push(await focused(page));
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.notEqual(outline, 'none', `the focus is seen at ${stops.at(-1)}`);
    }
    assert.equal(await focused(page), 'client 0', String(stops));
    await page.keyboard.press('ArrowDown');
    assert.equal(await focused(page), 'client 1');
    await page.keyboard.press('End');
    assert.equal(await focused(page), 'client 4999');
    await page.keyboard.press('PageUp');
    await page.keyboard.press('ArrowUp');
    const there = await focused(page);
    assert.match(there, /client 49\d\d/);
    await page.keyboard.press('Enter');
    await says(page, '#story-title', there.replace('c', 'C'));
    assert.ok(await page.evaluate(() => document.getElementById('story').contains(document.activeElement)));
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#story').isHidden());
    assert.equal(await focused(page), there);
    await page.keyboard.press('Home');
    assert.equal(await focused(page), 'client 0');
  }));

test('a story: state, remedy, what it released and what that cost, what happened, live', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    await page.locator('#attention button', { hasText: 'client 31' }).click();
    await says(page, '#story-facts', '■ quarantined.');
    await says(page, '#story-facts', 'cahoots members FILE restore 31');
    await says(page, '#story-facts', 'uploads merged');
    await says(page, '#story-facts', 'of 3 that it allows');
    await says(page, '#story-facts', 'it shares no more than its uploads');
    await until('its events alone were asked for', () => fixture.asked.some((path) => path.startsWith('/journal?client=31&')));
    fixture.change(31, { state: 'here', refused: 77 });
    await says(page, '#story-facts', '77 uploads');
    await picture(page, 'story');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.dataset.client), '31', 'back where it was opened');
    // Who is named among what happened is opened from there.
    await page.locator('#journal button', { hasText: /^client 7$/ }).first().click();
    await says(page, '#story-title', 'Client 7');
    await page.keyboard.press('Escape');
    // What a client chose to share is shown, and no more.
    await page.locator('tr[data-client="3"]').click();
    await says(page, '#story-facts', '3.2 (between −0.1 and 6.5)');
  }));

test('an address names a client', () =>
  open(world(50), { hash: '#client-17' }, async (page) => {
    await says(page, '#story-title', 'Client 17');
    await page.locator('#story-close').click();
    assert.ok(!page.url().includes('#'));
  }));

test('times go on without any news', () =>
  open(world(1), { before: (page) => page.clock.install({ time: NOW * 1000 }) }, async (page) => {
    await page.clock.runFor(1500);
    await settled(page);
    await page.clock.runFor(100);
    const heard = () => text(page, 'tr[data-client="0"] td.col-contact');
    const before = await heard();
    await until('it is longer ago', async () => {
      await page.clock.runFor(1000);
      return (await heard()) !== before;
    });
  }));
