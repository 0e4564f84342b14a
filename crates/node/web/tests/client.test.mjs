// A client's own page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PHONE, open, picture, says, start, stop, text, until, worst_contrast } from './open.mjs';
import { client_world } from './worlds.mjs';

before(start);
after(stop);

test('all is well: a sentence, rewards over time, gain with its interval, privacy, what has left', () =>
  open(client_world(), {}, async (page, fixture) => {
    await says(page, '#sentence', 'All is well');
    await says(page, '#name', 'client 4');
    await says(page, '#tile-gain', /3\.2[^]*between 0\.4 and 6\.5, 95% sure/);
    await says(page, '#gain-words', 'over 120 decisions');
    await says(page, '#gain-verdict', '✓ Federation helps');
    await says(page, '#privacy-words', 'No privacy');
    await says(page, '#facts', '41, 1 not confirmed yet');
    await until('the chart is drawn', () => page.locator('#rewards-chart canvas').count());
    await page.locator('#rewards-table').click();
    const shown = await page.$$eval('#rewards-chart tbody tr', (all) => all.map((row) => [...row.cells].slice(1).map((cell) => cell.textContent)));
    const { history } = fixture.world;
    assert.equal(shown.length, history.time.length);
    const mean = history.reward_sum.at(-1) / history.rewards.at(-1);
    assert.ok(Math.abs(Number(shown[0][0]) - mean) < 1e-3 && shown[0][1] === '–');
    assert.ok(shown.at(-1)[0] === '–' && Number(shown.at(-1)[1]) > 0, 'alone before others’ data came');
    await picture(page, 'client-well');
  }));

test('trouble is said, with what to do; what is not known is said to be so', () =>
  open(client_world({ hostile: true, connected: false, gain: false }), {}, async (page) => {
    await says(page, '#health', '▲ needs attention');
    await says(page, '#problems', '<img src=x');
    await says(page, '#gain-words', 'not known for this algorithm');
    assert.ok(await page.locator('#gain-picture').isHidden());
    await picture(page, 'client-trouble');
  }));

test('when federation hurts, it says so', () => {
  const made = client_world();
  Object.assign(made.gain, { low: -9, estimate: -5, high: -1 });
  return open(made, {}, (page) => says(page, '#gain-verdict', '✕ Federation hurts'));
});

test('whose apprentice it is, and when it is in charge', async () => {
  const made = client_world();
  const words = 'This client is an apprentice: its app decides.';
  made.status.apprentice = { mode: 'apprentice', round: 1, decisions: 400, differed: 120, missing: 0, open: 3, low: -4, estimate: 9, high: 21, confidence: 0.9625, takeovers: 0, explore: 0.1, words };
  await open(made, {}, async (page) => {
    await says(page, '#apprentice-words', words);
    await says(page, '#tile-apprentice', /the app[^]*but for 10% by this client[^]*between −4 and 21 more in 120 comparisons/);
    await picture(page, 'client-apprentice');
  });
  Object.assign(made.status.apprentice, { mode: 'in-charge', low: 2 });
  await open(made, {}, (page) => says(page, '#tile-apprentice', /this client[^]*but for 10% by its app/));
  await open(client_world(), {}, async (page) => {
    await says(page, '#sentence', 'All is well');
    assert.ok(await page.locator('#apprentice-words').isHidden());
    assert.equal(await page.locator('#tile-apprentice').count(), 0);
  });
});

test('a coordinator that is away is no trouble; one that dies and returns is told of', () =>
  open(client_world({ connected: false }), { silent: true }, async (page, fixture) => {
    await says(page, '#sentence', 'without the coordinator (connection refused), and connects again by itself');
    await fixture.die();
    await says(page, '#gone', /This client does not answer[^]*cahoots client FILE[^]*Silent since/);
    fixture.world.status.connected = true;
    await fixture.come_back();
    await until('the banner is gone', () => page.locator('#gone').isHidden());
    await says(page, '#sentence', 'All is well');
  }));

test('whoever may not look any more is told to sign in', () =>
  open(client_world(), { silent: true }, async (page, fixture) => {
    await says(page, '#sentence', 'All is well');
    fixture.denied = true;
    await says(page, '#gone', 'Sign in again');
    assert.equal(await page.locator('#gone a').getAttribute('href'), '/');
  }));

for (const colorScheme of ['light', 'dark']) {
  test(`${colorScheme}: everything can be read, on a phone too`, () =>
    open(client_world({ hostile: true }), { ...PHONE, colorScheme }, async (page) => {
      await says(page, '#facts', 'not confirmed');
      const worst = await worst_contrast(page);
      assert.ok(worst.seen > 30 && worst.ratio >= 4.5, `${worst.where} has ${worst.ratio}`);
      const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= room && room === 390, `${wide} in ${room}`);
      await picture(page, `client-phone-${colorScheme}`, true);
    }));
}

test('no reward yet: what to do is said', () => {
  const made = client_world();
  for (const key of Object.keys(made.history)) if (Array.isArray(made.history[key])) made.history[key] = [];
  return open(made, {}, async (page) => {
    await says(page, '#rewards-chart', 'POST /decide');
    assert.ok((await text(page, '#rewards-chart')).includes('No reward yet'));
  });
});

test('one moment is drawn in the minute that it ends', () => {
  const made = client_world();
  for (const key of Object.keys(made.history)) if (Array.isArray(made.history[key])) made.history[key] = made.history[key].slice(-1);
  return open(made, {}, async (page) => {
    await until('the chart is drawn', () => page.locator('#rewards-chart canvas').count());
    const label = await page.locator('#rewards-chart .plot').getAttribute('aria-label');
    const [from, to] = label.match(/(\d\d):(\d\d):(\d\d) to (\d\d):(\d\d):(\d\d)/).slice(1).map(Number).reduce((all, n, i) => ((all[i < 3 ? 0 : 1] = all[i < 3 ? 0 : 1] * 60 + n), all), [0, 0]);
    assert.equal((to - from + 86_400) % 86_400, 60, label);
  });
});
