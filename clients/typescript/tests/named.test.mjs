// Arms by the app's own names, rankings, parts and deferral, against real processes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CahootsError, Client } from '../dist/index.js';
import { federated } from './federation.mjs';

const headlines = [
  { id: 'fresh', features: [1, 0] },
  { id: 'cheap', features: [0, 1] },
  { id: 'homemade', features: [0.6, 0.8] },
];
const status_of = (call) => call.then(() => assert.fail('it was not refused'), (error) => (assert.ok(error instanceof CahootsError, String(error)), error.status));

test('arms by id: offered with features, registered, masked, retired', () =>
  federated(async (federation) => {
    const shop = await federation.join(0);
    const client = new Client(shop);
    const first = await client.decide({ arms: headlines });
    assert.ok(headlines.some(({ id }) => id === first.arm), first.arm);
    assert.equal(await status_of(client.decide({ arms: ['fresh', 'cheap'] })), 400, 'features of one decision are not remembered');

    assert.deepEqual(await client.arms.register(headlines), { arms: 3 });
    assert.deepEqual(await client.arms.list(), [...headlines].sort((a, b) => (a.id < b.id ? -1 : 1)));
    const masked = await client.decide({ arms: ['fresh', 'cheap', { id: 'new', features: [0.5, 0.5] }], masked: ['fresh', 'new'] });
    assert.equal(masked.arm, 'cheap');

    await shop.kill();
    await shop.back();
    const after = await client.decide({ masked: ['fresh', 'homemade'] });
    assert.equal(after.arm, 'cheap', 'registered arms survive');
    assert.deepEqual(await client.arms.retire(['cheap']), { arms: 2 });
    assert.equal(await status_of(client.decide({ arms: ['cheap'] })), 400);
  }));

test('a ranking: the chosen arm first, every arm once', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    const { arm, ranking, model, decided, score } = await client.decide({ arms: headlines, top: 3 });
    assert.equal(ranking[0].arm, arm);
    assert.equal(ranking[0].score, score);
    assert.deepEqual(ranking.map(({ arm }) => arm).sort(), ['cheap', 'fresh', 'homemade']);
    assert.ok(Number.isInteger(model) && ['alone', 'federated'].includes(decided), `${model} ${decided}`);
    assert.equal((await client.decide({ arms: headlines })).ranking, undefined);
  }));

test('several decisions at once: all of them or none', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    const [one, other] = await client.decideAll([{ arms: headlines, masked: ['fresh', 'cheap'] }, { arms: [[1, 0], [0, 1]], masked: [1] }]);
    assert.deepEqual([one.arm, other.arm], ['homemade', 0]);
    assert.equal(await status_of(client.decideAll([{ arms: headlines }, { arms: [[1]] }])), 400);
    assert.equal((await client.status()).decisions, 2);
    assert.deepEqual([await client.decideAll([]), await client.rewardAll([])], [[], []]);
  }));

test('credit in parts, and decisions that count once they are activated', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    await client.decide({ arms: headlines, event: 'visit 1' });
    assert.deepEqual(await client.reward({ event: 'visit 1', reward: 0.25, part: 'looked' }), { status: 'kept' });
    assert.deepEqual(await client.reward({ event: 'visit 1', reward: 0.25, part: 'looked' }), { status: 'repeated' });
    assert.deepEqual(await client.reward({ event: 'visit 1', reward: 0.5 }), { status: 'learned' });
    assert.equal((await client.status()).reward_sum, 0.75);

    const { id } = await client.decide({ arms: headlines, deferred: true });
    assert.deepEqual(await client.reward({ id, reward: 1 }), { status: 'kept' });
    assert.equal((await client.status()).rewards, 1);
    assert.deepEqual(await client.activate({ id }), { status: 'activated' });
    assert.deepEqual(await client.activate({ id }), { status: 'repeated' });
    const { rewards, reward_sum } = await client.status();
    assert.deepEqual([rewards, reward_sum], [2, 1.75]);
    assert.equal(await status_of(client.activate({ event: 'never' })), 404);
  }));

test("an apprentice is told the app's own choice, and says who decided", () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0, '[apprentice]\nexplore = 0.5'));
    assert.equal(await status_of(client.decide({ arms: headlines })), 400, 'it needs to be told');
    const decided = new Set();
    for (let n = 0; n < 40; n++) {
      const decision = await client.decide({ arms: headlines, baseline: 'cheap', context: { hour: n % 24 } });
      if (decision.decided === 'baseline') assert.equal(decision.arm, 'cheap');
      decided.add(decision.decided);
      await client.reward({ id: decision.id, reward: 0 });
    }
    assert.ok(decided.has('baseline') && decided.size > 1, [...decided].join());
    assert.deepEqual([(await client.status()).apprentice.mode, (await client.status()).apprentice.decisions], ['apprentice', 40]);
    const other = new Client(await federation.join(1));
    assert.equal(await status_of(other.decide({ arms: headlines, baseline: 'cheap' })), 400, 'it is no apprentice');
    assert.equal((await other.status()).apprentice, null);
  }));

test('arms without features have ids, too', () =>
  federated(async (federation) => {
    const client = new Client(await federation.join(0));
    await client.arms.register([{ id: 'red', index: 0 }, { id: 'green', index: 1 }, { id: 'blue', index: 2 }]);
    const { id, arm } = await client.decide({});
    assert.ok(['red', 'green', 'blue'].includes(arm), arm);
    assert.deepEqual(await client.reward({ id, reward: 1 }), { status: 'learned' });
  }, 'arms = 3\nreward_range = [0.0, 1.0]\n[algorithm]\nkind = "ucb-alone"\n'));
