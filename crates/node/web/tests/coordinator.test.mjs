// The coordinator's page as those who look at it meet it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LAPTOP, PHONE, open, picture, rows, says, settled, start, stop, text, until, worst_contrast } from './open.mjs';
import { HOSTILE, NOW, member, world } from './worlds.mjs';

before(start);
after(stop);

for (const clients of [0, 1, 50, 5000]) {
  test(`${clients} clients: everything is there`, () =>
    open(world(clients, { groups: clients === 1 ? 0 : 3 }), {}, async (page) => {
      await settled(page);
      await says(page, '#tile-clients', `of ${clients.toLocaleString('en')} here`);
      await says(page, '#fresh', /last update \d+ s ago/);
      await says(page, '#learnt-words', clients ? 'model' : 'Nothing is merged yet');
      for (const id of ['attention', 'privacy-words', 'journal', 'traffic', 'faults', 'terms', 'uptime', 'sentence']) {
        assert.ok((await text(page, `#${id}`)).length > 5, id);
      }
      if (clients) await until('the chart is drawn', () => page.locator('#activity-chart canvas').count());
      await picture(page, `coordinator-${clients}`, true);
    }));
}

test('nobody yet: the page says how to begin, with what to type', () =>
  open(world(0), {}, async (page) => {
    await settled(page);
    for (const place of ['#attention', '#nobody']) {
      const words = await text(page, place);
      assert.ok(words.includes('cahoots client client.toml') && words.includes('federation = "shops"') && words.includes('0 to 49'), words);
    }
    assert.ok(await page.locator('#list').isHidden());
  }));

test('tiles: numbers of the status, against all data and against the plan', () =>
  open(world(50), {}, async (page) => {
    await settled(page);
    assert.match(await text(page, '#tile-merged'), /1,200,331 rewards[^]*each exactly once[^]*12 to be confirmed · 3 refused/);
    assert.match(await text(page, '#tile-clients'), /45 of 50 here[^]*▲ 2 late · ■ 1 quarantined[^]*waiting for 7 · ✕ 2 turned away/);
    assert.match(await text(page, '#tile-traffic'), /42\.1 MB[^]*all data would be 250 MB[^]*29,500 of 35,000 messages/);
    assert.match(await text(page, '#tile-privacy'), /ε 0\.8 of 3[^]*client 17 has spent most[^]*one observation/);
    const traffic = await page.$$eval('#traffic tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(traffic.at(-1), ['what was sent, of the plan', '84.3%', '–']);
    assert.deepEqual(traffic[5], ['what was sent, of that', '2.46%', '16.9%']);
  }));

test('whatever a stranger wrote is text', () =>
  open(world(50, { hostile: true }), {}, async (page) => {
    await settled(page);
    await says(page, '#journal', '<img src=x');
    assert.ok((await page.title()).includes('<img src=x onerror'));
    const typed = HOSTILE.replaceAll('`', '');
    assert.ok((await text(page, '#attention')).replace(/\s+/g, ' ').includes(typed));
    await page.locator('#search').fill('another store');
    await page.locator('tr[data-client="17"] button').click();
    await says(page, '#story-facts', '<script>window.broken=1</script>');
    await page.locator('#story-close').click();
    assert.equal(await page.locator('main img, main script, dialog img, dialog script').count(), 0);
  }));

test('news come by themselves: a client changes, one comes, one goes', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    const state = (client) => page.locator(`tr[data-client="${client}"] td`).first().innerText();
    await until('client 3 is here', async () => (await state(3)) === '● here');
    fixture.change(3, { state: 'late', connected: false, last_contact: NOW - 900 });
    await until('client 3 is late', async () => (await state(3)) === '▲ late');
    fixture.change(50, { ...member(1), client: 50 });
    await says(page, '#found', '51 clients');
    fixture.change(2, { state: 'gone' });
    await says(page, '#found', '50 clients');
    await until('client 2 has no row', async () => !(await rows(page)).includes(2));
    fixture.world.status.attention = [];
    fixture.world.status.health = 'ok';
    fixture.push();
    await says(page, '#attention', 'Nothing needs you');
    await says(page, '#health', '● healthy');
  }));

test('only what changed is asked for', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    fixture.change(4, { state: 'late' });
    await until('it is shown', async () => (await page.locator('tr[data-client="4"] td').first().innerText()) === '▲ late');
    assert.deepEqual(fixture.asked.filter((path) => path.startsWith('/members')), ['/members?since=0', '/members?since=50']);
  }));

test('a coordinator that dies and returns: since when, and back by itself', () =>
  open(world(50), { silent: true }, async (page, fixture) => {
    await settled(page);
    await fixture.die();
    await says(page, '#gone', 'The coordinator does not answer');
    await says(page, '#gone', /Silent since \d\d:\d\d:\d\d, \d+ s ago/);
    assert.equal(await text(page, '#health'), '✕ silent');
    await picture(page, 'coordinator-gone');
    // Another process: revisions are counted anew, and one client is no longer there.
    fixture.world = world(49);
    fixture.world.status.started = NOW + 1;
    fixture.world.status.revision = 1;
    for (const one of fixture.world.members) fixture.changed.set(one.client, 1);
    await fixture.come_back();
    await until('the banner is gone', () => page.locator('#gone').isHidden());
    await says(page, '#found', '49 clients');
    await says(page, '#health', '▲ needs attention');
  }));

test('a stream that falls silent is not taken for a healthy one', () =>
  open(world(1), { before: (page) => page.clock.install() }, async (page, fixture) => {
    await page.clock.runFor(1000);
    await settled(page);
    clearInterval(fixture.beat);
    fixture.denied = false;
    const streams = () => fixture.asked.filter((path) => path === '/events').length;
    assert.equal(streams(), 1);
    await page.clock.fastForward(16_000);
    await until('it asked again', async () => {
      await page.clock.runFor(600);
      return streams() > 1;
    });
  }));

test('whoever may not look any more is told to sign in', () =>
  open(world(1), { silent: true }, async (page, fixture) => {
    await settled(page);
    fixture.denied = true;
    for (const socket of fixture.sockets) socket.destroy();
    await says(page, '#gone', 'Sign in again');
    assert.equal(await page.locator('#gone a').getAttribute('href'), '/');
  }));

test('nothing moves when something changes above', () =>
  open(world(50), { silent: true }, async (page, fixture) => {
    await settled(page);
    const tops = () => page.$$eval('.tile, .panel', (all) => all.map((one) => Math.round(one.getBoundingClientRect().top)));
    const was = await tops();
    fixture.world.status.attention = Array.from({ length: 60 }, (_, n) => ({ kind: 'late', client: n, since: NOW, words: `client ${n} is late. `.repeat(5), remedy: 'look' }));
    fixture.push();
    await says(page, '#attention-count', '(60)');
    assert.deepEqual(await tops(), was);
    fixture.world.status.attention = [];
    fixture.push();
    await says(page, '#attention', 'Nothing needs you');
    assert.deepEqual(await tops(), was);
    await fixture.die();
    await says(page, '#gone', 'does not answer');
    assert.deepEqual(await tops(), was);
  }));

test('charts have a table with the same numbers, and windows', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    await until('the chart is drawn', () => page.locator('#activity-chart canvas').count());
    const { history } = fixture.world;
    await page.locator('#activity-table').click();
    const shown = await page.$$eval('#activity-chart tbody tr', (all) => all.map((row) => [...row.cells].slice(1).map((cell) => Number(cell.textContent))));
    const wanted = history.time.map((_, n) => [history.received[n], history.sent[n], history.refused[n]]).reverse();
    assert.deepEqual(shown, wanted);
    assert.ok(await page.locator('#activity-chart .plot').isHidden());
    await page.locator('#activity-view').selectOption('bytes');
    await says(page, '#activity-chart thead', /from clients\s*to clients/);
    await page.locator('#activity-table').click();
    assert.ok(await page.locator('#activity-chart canvas').isVisible());
    await page.locator('[data-window="86400"]').click();
    await until('a day was asked for', () => fixture.asked.includes('/history?window=86400'));
    await page.locator('[data-window="all"]').click();
    await until('all was asked for', () => fixture.asked.includes('/history'));
    assert.equal(await page.locator('[data-window][aria-pressed="true"]').innerText(), 'all');
    // Under the cursor stands what was there then.
    await page.locator('#activity-view').selectOption('messages');
    const latest = await text(page, '#activity-chart .when');
    const box = await page.locator('#activity-chart .plot').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await until('another time is told', async () => (await text(page, '#activity-chart .when')) !== latest);
  }));

test('groups: a dot per membership, a move is seen, a table beside', () =>
  open(world(50), {}, async (page, fixture) => {
    await settled(page);
    const memberships = fixture.world.members.reduce((sum, one) => sum + one.clusters.length, 0);
    await until('every dot is there', async () => (await page.locator('path.dot').count()) === memberships);
    assert.equal(await page.locator('path.moved').count(), 0);
    assert.ok((await page.locator('path.dot-late').count()) > 0 && (await page.locator('path.dot-away').count()) > 0);
    const before = await page.locator('path.dot[data-client="4"]').getAttribute('data-at');
    fixture.change(4, { clusters: [2] });
    await says(page, '#groups-note', '1 client just moved');
    assert.notEqual(await page.locator('path.moved[data-client="4"]').getAttribute('data-at'), before);
    await page.locator('#groups-table').click();
    const table = await page.$$eval('#groups-numbers tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(table.map((row) => row[0]), ['group 0', 'group 1', 'group 2']);
    for (const [name, count] of table) {
      const number = Number(name.split(' ')[1]);
      assert.equal(Number(count), fixture.world.members.filter((one) => one.clusters.includes(number)).length, name);
    }
    assert.equal(table[2][3], '4');
    await page.locator('#groups-table').click();
    await page.locator('path.dot[data-client="9"]').click();
    await says(page, '#story-title', 'Client 9');
  }));

test('what is learnt: every weight with its interval, another model, arms best first', async () => {
  await open(world(50), {}, async (page, fixture) => {
    await settled(page);
    await until('weights', async () => (await page.locator('#learnt tbody tr').count()) === 26);
    assert.equal(await page.locator('#learnt svg circle').count(), 26);
    const first = () => page.$eval('#learnt tbody tr:nth-child(2)', (row) => [...row.cells].map((cell) => cell.textContent));
    const near = (shown, one) => assert.ok(Math.abs(Number(shown.replace('−', '-')) - one) < 6e-4, `${shown} for ${one}`);
    near((await first())[1], fixture.world.model.models[0].weights[1].value);
    await page.locator('#learnt-model').selectOption('2');
    const weight = fixture.world.model.models[2].weights[1];
    const [name, value, between] = await first();
    assert.equal(name, 'feature 1');
    near(value, weight.value);
    near(between.split(' to ')[0], weight.low);
    near(between.split(' to ')[1], weight.high);
    await says(page, '#learnt-note', '95% confidence');
  });
  await open(world(1, { groups: 0 }), {}, async (page) => {
    await settled(page);
    await until('arms', async () => (await page.locator('#learnt tbody tr').count()) === 5);
    assert.deepEqual(await page.$$eval('#learnt tbody th', (all) => all.map((cell) => cell.textContent)), ['arm 3', 'arm 0', 'arm 4', 'arm 1', 'arm 2 (dropped)']);
  });
});

test('plain arms: ranked, with what is known of each; where nothing is known yet, all of the page is there all the same', async () => {
  const cells = (page) => page.$$eval('#learnt tbody tr', (all) => all.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
  await open(world(50, { groups: 0, arms: 'unknown' }), {}, async (page) => {
    await settled(page);
    await until('arms', async () => (await page.locator('#learnt tbody tr').count()) === 7);
    assert.deepEqual((await cells(page))[0], ['arm 0', '–', '–']);
    assert.equal(await page.locator('#learnt svg circle').count(), 0, 'what is not known is not drawn');
    await says(page, '#learnt-note', 'No intervals are known');
    await says(page, '#journal', 'joined');
    await until('the chart is drawn', () => page.locator('#activity-chart canvas').count());
  });
  await open(world(50, { groups: 0, arms: 'known' }), {}, async (page) => {
    await settled(page);
    await until('arms', async () => (await page.locator('#learnt tbody tr').count()) === 8);
    const shown = await cells(page);
    assert.deepEqual(shown[0], ['arm 6', '0.710', '0.660 to 0.760']);
    assert.deepEqual(shown[3], ['arm 5 (dropped)', '0.500', '0.360 to 0.640']);
    assert.deepEqual(shown[7], ['arm 7 (dropped)', '–', '–']);
    assert.equal(await page.locator('#learnt svg circle').count(), 7);
    await says(page, '#learnt-note', 'more than 99.9% confidence');
    await picture(page, 'coordinator-arms', true);
  });
  // The best arm stands farthest to the right: what is cut there is what matters most. Signs and long names take most room.
  for (const width of [1280, 1100, 390, 360]) {
    const made = world(50, { groups: 0, arms: 'known' });
    for (const arm of made.model.models[0].arms) if (arm.value !== null) Object.assign(arm, { name: arm.name.replace('arm ', 'arm 12'), low: arm.low - 1.2 });
    await open(made, { viewport: { width, height: 800 } }, async (page) => {
      await until('arms', async () => (await page.locator('#learnt tbody tr').count()) === 8);
      const [wide, room] = await page.$eval('#learnt', (box) => [box.scrollWidth, box.clientWidth]);
      assert.ok(wide <= room, `${wide} in ${room} at ${width}`);
    });
  }
});

test('one part that cannot be shown says so in its place, and stops no other', async () => {
  const made = world(50);
  const good = made.model;
  made.model = { words: 'hm', models: [{ name: 'a', weights: 7 }] };
  await open(made, { complains: /learnt/ }, async (page, fixture) => {
    await settled(page);
    await says(page, '#learnt-panel', 'This part could not be shown');
    await says(page, '#journal', 'joined');
    await until('the chart is drawn', () => page.locator('#activity-chart canvas').count());
    fixture.world.model = good;
    await until('weights', async () => (await page.locator('#learnt tbody tr').count()) === 26);
    assert.ok(!(await text(page, '#learnt-panel')).includes('could not be shown'));
  });
  for (const [key, wrong] of [['attention', 'nonsense'], ['privacy', { epsilon: 1, words: 4 }]]) {
    const made = world(50);
    made.status[key] = wrong;
    await open(made, { complains: new RegExp(key) }, async (page) => {
      await settled(page);
      await says(page, '#tile-clients', '45 of 50 here');
      await says(page, '#traffic', 'uploads, from clients');
      await until('rows', async () => (await rows(page)).length > 5);
      await until('dots', () => page.locator('path.dot').count());
      await says(page, '#learnt-note', '95% confidence');
      await says(page, '#journal', 'joined');
    });
  }
});

test('before the first reward nothing is said to be learnt', () => {
  const made = world(50, { groups: 0 });
  made.model.models[0].observations = 0;
  return open(made, {}, async (page) => {
    await settled(page);
    await says(page, '#learnt', 'Nothing is learnt yet');
    assert.ok(!(await text(page, '#learnt-panel')).includes('confidence'));
  });
});

test('without scripts: the tiles, and nothing that needs scripts', () =>
  open(world(50), { javaScriptEnabled: false }, async (page) => {
    await says(page, '#tiles', '45 of 50 here');
    assert.ok(await page.locator('.panels').first().isHidden());
    assert.ok(await page.locator('#clients').isHidden());
    assert.ok(await page.locator('#theme').isHidden());
    await picture(page, 'coordinator-no-script');
  }));

for (const colorScheme of ['light', 'dark']) {
  test(`${colorScheme}: everything can be read`, () =>
    open(world(50), { colorScheme }, async (page) => {
      await settled(page);
      await until('weights', () => page.locator('#learnt tbody tr').count());
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(paper === 'rgb(21, 24, 27)', colorScheme === 'dark', paper);
      const check = async (where) => {
        const worst = await worst_contrast(page);
        assert.ok(worst.seen > 100 && worst.ratio >= 4.5, `${where}: ${worst.where} has ${worst.ratio}`);
      };
      await check('the page');
      await page.locator('tr[data-client="17"] button').click();
      await says(page, '#story-journal', 'went away');
      await check('a story');
      await page.keyboard.press('Escape');
      await page.locator('#help-open').click();
      await check('help');
    }));
}

test('light or dark can be chosen, is remembered, and survives a browser that keeps nothing', async () => {
  const paper = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await open(world(1), { colorScheme: 'light' }, async (page) => {
    await settled(page);
    const light = await paper(page);
    await page.locator('#theme').click();
    const dark = await paper(page);
    assert.notEqual(dark, light);
    await page.reload();
    await until('it is remembered', async () => (await paper(page)) === dark);
    await page.locator('#theme').click();
    assert.equal(await paper(page), light);
    // Back at what the system has: it is followed again.
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await paper(page), dark);
  });
  const nothing = (page) =>
    page.addInitScript(() => Object.defineProperty(window, 'localStorage', { get: () => { throw new Error('denied'); } }));
  await open(world(1), { colorScheme: 'light', before: nothing }, async (page) => {
    await settled(page);
    const light = await paper(page);
    await page.locator('#theme').click();
    assert.notEqual(await paper(page), light);
  });
});

test('who wants less motion gets none', () =>
  open(world(50), { reducedMotion: 'reduce' }, async (page) => {
    await settled(page);
    await until('dots', () => page.locator('path.dot').count());
    assert.equal(await page.$eval('path.dot', (dot) => getComputedStyle(dot).transitionDuration), '0s');
  }));

for (const width of [360, 390]) {
  for (const clients of [0, 50, 5000]) {
    test(`${clients} clients on a phone of ${width} pixels: nothing is wider than the screen`, () =>
      open(world(clients, { hostile: clients === 50 }), { ...PHONE, viewport: { width, height: 780 } }, async (page) => {
        await settled(page);
        await says(page, '#sentence', /\w/);
        const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= room && room === width, `${wide} in ${room}`);
        if (clients) {
          await page.locator('#list').scrollIntoViewIfNeeded();
          await until('rows', async () => (await rows(page)).length > 5);
          assert.ok(await page.$eval('#list', (list) => list.scrollWidth <= list.clientWidth), 'the list needs no sideways scrolling');
          await page.locator('#list-rows tr[data-client="1"]').tap();
          await says(page, '#story-title', 'Client 1');
          const box = await page.locator('#story').boundingBox();
          assert.ok(box.x >= 0 && box.x + box.width <= width);
        }
        await picture(page, `coordinator-phone-${width}-${clients}`, true);
      }));
  }
}

test('a laptop shows every answer without scrolling', () =>
  open(world(50), LAPTOP, async (page) => {
    await settled(page);
    for (const id of ['sentence', 'tiles', 'attention', 'activity-chart', 'groups-picture', 'learnt', 'privacy-words']) {
      const box = await page.locator(`#${id}`).boundingBox();
      assert.ok(box.y + box.height <= 800, `${id} ends at ${box.y + box.height}`);
    }
  }));

test('help explains every word', () =>
  open(world(50), {}, async (page) => {
    await settled(page);
    await page.locator('#help-open').click();
    const words = await text(page, '#help');
    for (const word of ['here', 'away', 'late', 'refused', 'quarantined', 'removed', 'waited for', 'turned away', 'merged', 'released', 'lag', 'ceiling', 'unit', 'group', 'plan', 'implausible', 'all data would be', 'seat', 'parameters version']) {
      assert.ok(words.includes(word), word);
    }
    // What a state means is said once, in the same words here and in the story of whoever is in it.
    const meanings = await page.$$eval('#help dt[data-state]', (all) => Object.fromEntries(all.map((one) => [one.dataset.state, one.nextElementSibling.textContent])));
    assert.deepEqual(Object.keys(meanings).sort(), ['away', 'here', 'late', 'quarantined', 'refused', 'removed']);
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#help').isHidden());
    assert.equal(await page.evaluate(() => document.activeElement.id), 'help-open');
    for (const [client, state] of [[3, 'here'], [5, 'away'], [8, 'late'], [17, 'refused'], [31, 'quarantined']]) {
      await page.evaluate((client) => (location.hash = `client-${client}`), client);
      await says(page, '#story-facts .sentence', state);
      assert.ok((await page.locator('#story-facts .sentence').textContent()).includes(meanings[state]), state);
    }
  }));
