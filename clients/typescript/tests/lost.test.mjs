// Replies that are lost on their way, and a client that is killed: every decision is taken once, every reward counted once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CahootsError, Client } from '../dist/index.js';
import { federated } from './federation.mjs';
import { every_other, through } from './proxy.mjs';

const rows = (n) => [0, 1, 2].map((arm) => [((n + arm) % 8) / 8, 0.5]);
/** Sums of eighths are exact in any order. */
const reward_of = (arms, arm) => arms[arm][0];
/** Patient, and quick to suspect that a reply will not come. */
const dogged = (url) => new Client({ url, timeout: 300, retries: 1_000, deadline: 60_000 });

test('every other reply is lost: each decision and each reward counts once', () =>
  federated(async (federation) => {
    const { url } = await federation.join(0);
    await through(url, async (lossy, line) => {
      line.swallows = every_other();
      const client = dogged(lossy);
      let sum = 0;
      for (let n = 0; n < 16; n++) {
        const arms = rows(n);
        const { id, arm } = await client.decide({ arms });
        sum += reward_of(arms, arm);
        const { status } = await client.reward({ id, reward: reward_of(arms, arm) });
        assert.ok(['learned', 'repeated'].includes(status), status);
      }
      const { decisions, rewards, reward_sum, open_decisions } = await new Client({ url }).status();
      assert.deepEqual([decisions, rewards, reward_sum, open_decisions], [16, 16, sum, 0]);
      assert.ok(line.swallowed.some(({ path }) => path === '/decide') && line.swallowed.some(({ path }) => path === '/reward'));
      // What was swallowed and what was then passed on are the same decision.
      const ids = (said) => said.filter(({ path, status }) => path === '/decide' && status === 200).map(({ body }) => body.id);
      for (const id of ids(line.swallowed)) assert.ok(ids(line.passed).includes(id), id);
    });
  }));

test('given up, and asked for later under the same event: the same answer', () =>
  federated(async (federation) => {
    const { url } = await federation.join(0);
    await through(url, async (lossy, line) => {
      line.swallows = () => 'hang';
      const client = new Client({ url: lossy, timeout: 200 });
      const offer = { arms: rows(3), event: 'visit 12' };
      const late = await client.decide(offer, { deadline: 1_000 }).catch((error) => error);
      assert.ok(late instanceof CahootsError && late.failure === 'timeout', String(late));
      const left = new AbortController();
      const call = client.decide(offer, { signal: left.signal }).catch((error) => error);
      left.abort();
      assert.equal((await call).name, 'AbortError');
      line.swallows = () => undefined;
      const decided = await client.decide(offer);
      assert.equal(decided.id, (await client.decide(offer)).id);
      for (const { path, status, body } of line.swallowed) assert.deepEqual([path, status, body.id], ['/decide', 200, decided.id]);
      assert.ok(line.swallowed.length > 0);
      assert.deepEqual(await client.reward({ event: 'visit 12', reward: 0.5 }), { status: 'learned' });
      assert.equal((await client.status()).decisions, 1);
    });
  }));

test('several at once, every other reply lost: all of them, once', () =>
  federated(async (federation) => {
    const { url } = await federation.join(0);
    await through(url, async (lossy, line) => {
      line.swallows = every_other();
      const client = dogged(lossy);
      const offers = [0, 1, 2, 3].map((n) => ({ arms: rows(n) }));
      const decisions = await client.decideAll(offers);
      assert.equal(new Set(decisions.map(({ id }) => id)).size, 4);
      const rewards = decisions.map(({ id, arm }, n) => ({ id, reward: reward_of(offers[n].arms, arm) }));
      const taken = await client.rewardAll([...rewards, { id: '1-1', reward: 1 }]);
      assert.ok(taken.slice(0, 4).every(({ status }) => status === 'learned' || status === 'repeated'), JSON.stringify(taken));
      assert.equal(taken[4].code, 404);
      assert.match(taken[4].error, /\w/);
      const status = await new Client({ url }).status();
      assert.deepEqual([status.decisions, status.rewards], [4, 4]);
      assert.equal(status.reward_sum, rewards.reduce((sum, { reward }) => sum + reward, 0));
    });
  }));

test('killed and started again in the middle: what was acknowledged is merged, exactly once', () =>
  federated(async (federation) => {
    const shop = await federation.join(0);
    const client = dogged(shop.url);
    let [acknowledged, died, stop] = [0, 0, false];
    const visits = async () => {
      for (let n = 0; !stop; n++) {
        const arms = rows(n);
        const { id, arm } = await client.decide({ arms });
        try {
          await client.reward({ id, reward: reward_of(arms, arm) });
          acknowledged++;
        } catch (error) {
          // A decision that was not on disk died with the process; nobody learned from it.
          if (error.status !== 404) throw error;
          died++;
        }
      }
    };
    const apps = Promise.all([visits(), visits(), visits()]);
    const more = async (many) => {
      const before = acknowledged;
      while (acknowledged < before + many) await Promise.race([apps, new Promise((done) => setTimeout(done, 5))]);
    };
    for (let kills = 0; kills < 3; kills++) {
      await more(10);
      await shop.kill();
      await shop.back();
    }
    await more(10);
    stop = true;
    await apps;
    assert.ok(died <= 9, `${died} of at most three decisions at a time`);
    await federation.asks('drain', 'client-0');
    assert.equal((await federation.asks('status', 'coordinator')).observations, acknowledged);
  }));
