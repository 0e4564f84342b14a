// The pages of several coordinators with one log: who leads, who stands by, and a log that does not answer.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Pair } from './federation.mjs';
import { PHONE, open, open_at, pictures, says, settled, start, stop, text, until, worst_contrast } from './open.mjs';
import { HOSTILE, replicated, world } from './worlds.mjs';

before(start);
after(stop);

test('a coordinator without others says nothing of them', () =>
  open(world(50), {}, async (page) => {
    await settled(page);
    assert.equal(await text(page, '#replica'), '');
    assert.ok(await page.locator('#elsewhere').isHidden());
  }));

test('who leads: epoch, lag and snapshot are in the header, and all else as ever', () =>
  open(replicated('leading'), {}, async (page) => {
    await settled(page);
    await says(page, '#replica', /^leader b \(epoch 4, lag 0\) · snapshot 12 min ago$/);
    await says(page, '#tile-clients', '45 of 50 here');
    assert.ok(await page.locator('#clients').isVisible());
    assert.ok(await page.locator('#elsewhere').isHidden());
    await pictures(page, 'replica-leads');
  }));

test('who stands by says so, and where the page of the leader is', () =>
  open(replicated('standing by'), {}, async (page) => {
    await settled(page);
    await says(page, '#replica', /^◇ standing by · leader b \(epoch 4, lag 0\)/);
    await says(page, '#sentence', 'This coordinator stands by: b leads');
    assert.equal(await page.locator('#elsewhere a').getAttribute('href'), 'http://127.0.0.1:7782');
    assert.match(await text(page, '#tiles'), /1,200,331 rewards[^]*read from the log[^]*https:\/\/b\.example:7700[^]*all is read[^]*message 81,204 of 81,204[^]*snapshot of message 80,011, 182 kB/);
    await says(page, '#attention', 'Nothing needs you');
    for (const place of ['#clients', '#journal', '#activity-chart', '#traffic']) assert.ok(await page.locator(place).isHidden(), place);
    assert.ok((await worst_contrast(page)).ratio >= 4.5);
    await pictures(page, 'replica-stands-by');
  }));

test('what is no address of a page is not linked to', async () => {
  await open(replicated('standing by', { page: 'javascript:window.broken=1' }), {}, async (page) => {
    await settled(page);
    await says(page, '#elsewhere', 'http in the file of b says where');
    assert.equal(await page.locator('#elsewhere a').count(), 0);
  });
  const hostile = replicated('standing by', { page: null });
  Object.assign(hostile.status.replica, { leader: HOSTILE, leader_address: HOSTILE });
  await open(hostile, {}, async (page) => {
    await settled(page);
    await says(page, '#tile-leader', '<img src=x');
  });
});

test('whoever catches up says how far it is', () =>
  open(replicated('catching up'), PHONE, async (page) => {
    await settled(page);
    await says(page, '#replica', '◇ catching up · leader b (epoch 4, lag 80,000)');
    await says(page, '#tile-log', '80,000 messages behind');
  }));

for (const role of ['leading', 'standing by']) {
  test(`${role}: a log that does not answer is seen at once, with what to do`, () =>
    open(replicated(role, { stalled: true }), {}, async (page) => {
      await settled(page);
      await says(page, '#replica', /✕ log silent for \d+ s/);
      await says(page, '#health', '▲ needs attention');
      await says(page, '#attention', 'look at the NATS servers');
      await pictures(page, `replica-${role.replace(' ', '-')}-stalled`);
    }));
}

test('real coordinators: one leads, the other says where; a log that is frozen is seen, and seen to be back', { skip: !(process.env.CAHOOTS && process.env.NATS_SERVER) && 'no program or no NATS server was named' }, async () => {
  const pair = await new Pair().start();
  try {
    const roles = await until('one leads, one stands by', async () => {
      const all = await pair.roles();
      return all.leading && all['standing by'] && all;
    });
    const [leader, other] = [pair.pages[roles.leading], pair.pages[roles['standing by']]];
    await open_at(other, { silent: true }, async (page) => {
      await settled(page);
      await says(page, '#replica', `◇ standing by · leader ${roles.leading} (epoch 1, lag 0) · no snapshot yet`);
      assert.equal(`${await page.locator('#elsewhere a').getAttribute('href')}/`, leader);
      await open_at(other, { javaScriptEnabled: false }, async (plain) => {
        const of = async (one) => (await text(one, '#tiles')).replace(/\s+/g, ' ');
        await until('the server writes the same tiles', async () => {
          await plain.reload();
          return (await of(plain)) === (await of(page));
        });
      });
      await pair.freeze(true);
      await says(page, '#replica', /log silent for \d+ s/);
      await says(page, '#attention', 'do not answer');
      await pair.freeze(false);
      await says(page, '#attention', 'Nothing needs you');
    });
    // While the log was silent, the other may have thought that nobody leads.
    const now = await until('one leads', async () => (await pair.roles()).leading);
    await open_at(pair.pages[now], {}, async (page) => {
      await settled(page);
      await says(page, '#replica', /^leader [ab] \(epoch \d+, lag \d+\)/);
      await says(page, '#tile-clients', '0 of 0 here');
    });
  } finally {
    await pair.stop();
  }
});
