// Against real processes: `cahoots serve` and `cahoots client` on this machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CahootsError, Client } from '../dist/index.js';
import { federated } from './federation.mjs';

/** The error that a call is refused with. */
const refused = async (call) => {
  const error = await call.then(() => assert.fail('it was not refused'), (error) => error);
  assert.ok(error instanceof CahootsError, String(error));
  assert.deepEqual([error.failure, error.attempts], ['refused', 1]);
  return error;
};

/** Three arms of two features. */
const rows = (n) => [0, 1, 2].map((arm) => [((n + arm) % 8) / 8, 0.5]);

test('decides by position and learns', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    assert.deepEqual(await client.health(), { status: 'ok', problems: [] });
    for (let n = 0; n < 30; n++) {
      const arms = rows(n);
      const { id, arm } = await client.decide({ arms });
      assert.ok(arm === 0 || arm === 1 || arm === 2, String(arm));
      assert.deepEqual(await client.reward({ id, reward: arms[arm][0] }), { status: 'learned' });
    }
    const status = await client.status();
    assert.deepEqual([status.decisions, status.rewards, status.open_decisions], [30, 30, 0]);
    assert.match((await client.gain()).words, /\w/);
  }));

test('what the server refuses is said in its words, once', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    const wide = await refused(client.decide({ arms: [[1, 2, 3]] }));
    assert.deepEqual([wide.status, wide.call], [400, 'POST /decide']);
    assert.match(wide.words, /2 are expected/);
    const { id } = await client.decide({ arms: rows(1) });
    await client.reward({ id, reward: 0.5 });
    assert.deepEqual(await client.reward({ id, reward: 0.5 }), { status: 'repeated' });
    assert.equal((await refused(client.reward({ id, reward: 0.25 }))).status, 409);
    assert.equal((await refused(client.reward({ id: '1-1', reward: 1 }))).status, 404);
    assert.match((await refused(client.reward({ id, reward: 7 }))).message, /^POST \/reward: 4\d\d: \w/);
    const open = await client.decide({ arms: rows(2) });
    assert.deepEqual(await client.abandon({ id: open.id }), { status: 'abandoned' });
    assert.deepEqual(await client.abandon({ id: open.id }), { status: 'repeated' });
    const { rewards } = await client.status();
    assert.equal(rewards, 1);
  }));

test('with a token', () =>
  federated(async (federation) => {
    const token = '0123456789abcdef-of-the-shop';
    const { url } = await federation.join(0, `token = "${token}"`);
    assert.equal((await refused(new Client({ url }).decide({ arms: rows(1) }))).status, 401);
    const wrong = await refused(new Client({ url, token: 'another' }).status());
    assert.match(wrong.words, /token/);
    const { id } = await new Client({ url, token }).decide({ arms: rows(1) });
    assert.match(id, /^\d+-\d+$/);
  }));
