// What is asked again, how, and until when: beside a server that does what a script says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CahootsError, Client } from '../dist/index.js';
import { cut, say, scripted, swallow } from './scripted.mjs';

const decision = { id: '7-1', event: 'e', arm: 1, score: null, interval: null, probability: null, model: 3, decided: 'alone' };
const yes = say(200, decision);
const offer = { arms: [[1, 0], [0, 1]] };

/** The error that a call must end with. */
async function fails(call) {
  try {
    await call;
  } catch (error) {
    return error;
  }
  return assert.fail('it did not fail');
}

test('a decision that got no answer is asked for again under the same event', () =>
  scripted([cut, say(503, { error: 'not now' }), say(502, '<html>'), yes], async (url, asked) => {
    assert.deepEqual(await new Client({ url }).decide(offer), decision);
    assert.equal(asked.length, 4);
    const events = new Set(asked.map(({ body }) => body.event));
    assert.equal(events.size, 1);
    assert.match([...events][0], /^[0-9a-f-]{32,36}$/);
    assert.deepEqual(asked.map(({ body }) => body.arms), Array(4).fill(offer.arms));
  }));

test('every decision has an event of its own, and the caller may name it', () =>
  scripted([yes], async (url, asked) => {
    const client = new Client({ url });
    for (let n = 0; n < 3; n++) await client.decide(offer);
    assert.equal(new Set(asked.map(({ body }) => body.event)).size, 3);
    await client.decide({ ...offer, event: 'visit 12' });
    assert.equal(asked[3].body.event, 'visit 12');
    assert.deepEqual(offer, { arms: [[1, 0], [0, 1]] }, 'what the caller gave is left as it was');
  }));

test('each of several decisions has an event, and all keep it', () =>
  scripted([cut, say(200, { decisions: [decision, decision] })], async (url, asked) => {
    assert.equal((await new Client({ url }).decideAll([offer, { ...offer, event: 'mine' }])).length, 2);
    const events = asked.map(({ body }) => body.decisions.map((one) => one.event));
    assert.deepEqual(events[0], events[1]);
    assert.equal(events[0][1], 'mine');
    assert.notEqual(events[0][0], undefined);
  }));

test('who never asks again needs no event', () =>
  scripted([yes], async (url, asked) => {
    await new Client({ url, retries: 0 }).decide(offer);
    assert.deepEqual(asked[0].body, offer);
  }));

test('rewards are sent again as they were', () =>
  scripted([cut, say(429, { error: 'later' }), say(408, { error: 'late' }), say(500, ''), say(200, { status: 'learned' })], async (url, asked) => {
    assert.deepEqual(await new Client({ url }).reward({ id: '7-1', reward: 0.1 + 0.2 }), { status: 'learned' });
    assert.deepEqual(asked.map(({ body }) => body), Array(5).fill({ id: '7-1', reward: 0.30000000000000004 }));
  }));

for (const status of [400, 401, 403, 404, 405, 409, 413, 415, 422]) {
  test(`${status} is an answer: nothing is asked again`, () =>
    scripted([say(status, { error: 'the words of the server' }), yes], async (url, asked) => {
      const error = await fails(new Client({ url }).decide(offer));
      assert.ok(error instanceof CahootsError && error instanceof Error);
      assert.deepEqual([error.name, error.failure, error.status, error.words, error.attempts], ['CahootsError', 'refused', status, 'the words of the server', 1]);
      assert.equal(error.message, `POST /decide: ${status}: the words of the server`);
      assert.equal(asked.length, 1);
    }));
}

test('the number of attempts has an end, and the last words are told', () =>
  scripted([cut, say(503, { error: 'the disk is full' })], async (url, asked) => {
    const error = await fails(new Client({ url, retries: 3 }).status());
    assert.deepEqual([error.failure, error.status, error.words, error.attempts], ['unavailable', 503, 'the disk is full', 4]);
    assert.match(error.message, /^GET \/status: 503: the disk is full \(asked 4 times\)$/);
    assert.equal(asked.length, 4);
  }));

test('nobody listens', async () => {
  let url;
  await scripted([yes], async (where) => (url = where));
  const error = await fails(new Client({ url, retries: 2 }).decide(offer));
  assert.deepEqual([error.failure, error.status, error.attempts], ['unreachable', 0, 3]);
  assert.match(error.words, /ECONNREFUSED/);
});

test('a reply that never comes ends an attempt, not the call', () =>
  scripted([swallow, yes], async (url, asked) => {
    assert.deepEqual(await new Client({ url, timeout: 100 }).decide(offer), decision);
    assert.equal(asked[0].body.event, asked[1].body.event);
  }));

test('a body that stops in the middle is no answer', () =>
  scripted([(_, response) => response.writeHead(200, { 'content-length': 100 }).write('{"id":') && setTimeout(() => response.destroy(), 20), yes], async (url) => {
    assert.deepEqual(await new Client({ url }).decide(offer), decision);
  }));

test('the deadline is for all attempts together', () =>
  scripted([swallow], async (url, asked) => {
    const error = await fails(new Client({ url, timeout: 40, deadline: 300, retries: 1_000 }).decide(offer));
    assert.deepEqual([error.failure, error.status], ['timeout', 0]);
    assert.ok(error.attempts < 1_001 && asked.length <= error.attempts, `${error.attempts}`);
    // One call may be given less than others; an attempt ends with it.
    const hasty = await fails(new Client({ url, timeout: 60_000 }).decide(offer, { deadline: 50 }));
    assert.deepEqual([hasty.failure, hasty.attempts], ['timeout', 1]);
  }));

test('who is told to wait longer than there is time does not wait', () =>
  scripted([say(503, { error: 'maintenance' }, { 'retry-after': '3600' })], async (url, asked) => {
    const error = await fails(new Client({ url }).decide(offer));
    assert.deepEqual([error.words, error.attempts, asked.length], ['maintenance', 1, 1]);
  }));

test('given up while it waits for an answer, between attempts, and before it began', () =>
  scripted([swallow], async (url, asked) => {
    const reason = new Error('the visitor has left');
    const waiting = new AbortController();
    const call = new Client({ url }).decide(offer, { signal: waiting.signal });
    while (asked.length === 0) await new Promise((done) => setTimeout(done, 5));
    waiting.abort(reason);
    assert.equal(await fails(call), reason);
    assert.equal(asked.length, 1);

    const before = await fails(new Client({ url }).decide(offer, { signal: AbortSignal.abort() }));
    assert.equal(before.name, 'AbortError');
    assert.equal(asked.length, 1, 'nothing was sent');

    await scripted([say(503, { error: 'wait' }, { 'retry-after': '20' })], async (url, asked) => {
      const between = new AbortController();
      const call = new Client({ url }).decide(offer, { signal: between.signal });
      while (asked.length === 0) await new Promise((done) => setTimeout(done, 5));
      setTimeout(() => between.abort(reason), 50);
      assert.equal(await fails(call), reason);
      assert.equal(asked.length, 1);
    });
  }));

test('a fetch of the caller is used, and one that heeds no signal cannot hold the caller up', async () => {
  const seen = [];
  const stubborn = (...request) => (seen.push(request), new Promise(() => {}));
  const error = await fails(new Client({ url: 'http://127.0.0.1:1', fetch: stubborn, timeout: 20, retries: 1 }).health());
  assert.equal(error.failure, 'timeout');
  assert.equal(String(seen[0][0]), 'http://127.0.0.1:1/health');
  assert.equal(seen[0][1].redirect, 'error');
});

test('no listener is left at a signal that outlives many calls', () =>
  scripted([yes], async (url) => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener, signal.removeEventListener];
    signal.addEventListener = function (...rest) { listeners++; return add.apply(this, rest); };
    signal.removeEventListener = function (...rest) { listeners--; return remove.apply(this, rest); };
    const client = new Client({ url });
    for (let n = 0; n < 5; n++) await client.decide(offer, { signal });
    assert.equal(listeners, 0);
  }));

test('health is asked for once, and "not ready" is an answer', () =>
  scripted([say(503, { error: 'the terms are not known yet' }), say(200, { status: 'ok', problems: [] }), cut], async (url, asked) => {
    const client = new Client({ url });
    assert.deepEqual(await client.health(), { status: 'unavailable', error: 'the terms are not known yet' });
    assert.deepEqual(await client.health(), { status: 'ok', problems: [] });
    assert.equal((await fails(client.health())).failure, 'unreachable');
    assert.equal(asked.length, 3);
  }));

test('what is no Cahoots client is said to be none', () =>
  scripted([say(200, '<html>hello</html>')], async (url, asked) => {
    const error = await fails(new Client({ url }).decide(offer));
    assert.deepEqual([error.failure, error.status, asked.length], ['unreadable', 200, 1]);
    assert.match(error.words, /<html>hello/);
  }));

test('a redirect is not followed: the token stays here', () =>
  scripted([yes], async (elsewhere, strangers) =>
    scripted([say(307, '', { location: `${elsewhere}/decide` })], async (url) => {
      await fails(new Client({ url, token: 'secret', retries: 1 }).decide(offer));
      assert.equal(strangers.length, 0);
    })));

test('the token goes with every request, and paths go below the address', () =>
  scripted([yes], async (url, asked) => {
    const client = new Client({ url: `${url}/shop/cahoots?x=1`, token: '0123456789abcdef' });
    await client.decide(offer);
    await client.status();
    assert.deepEqual(asked.map(({ url }) => url), ['/shop/cahoots/decide', '/shop/cahoots/status']);
    assert.deepEqual(asked.map(({ headers }) => headers.authorization), Array(2).fill('Bearer 0123456789abcdef'));
    assert.deepEqual(asked.map(({ headers }) => headers['content-type']), ['application/json', undefined]);
  }));

test('numbers that JSON does not have are refused before anything is sent', () =>
  scripted([yes], async (url, asked) => {
    const client = new Client({ url });
    assert.match(String(await fails(client.reward({ id: '7-1', reward: NaN }))), /TypeError: `reward` is NaN/);
    assert.match(String(await fails(client.decide({ arms: [[0, 1 / 0]] }))), /TypeError: number 1 of a list is Infinity/);
    assert.equal(asked.length, 0);
  }));

test('options that cannot be meant are refused with words', () => {
  for (const [options, words] of [
    [{ url: '127.0.0.1:7801' }, /url: "127\.0\.0\.1:7801"/],
    [{ url: 'unix:/run/client.sock' }, /is not http or https/],
    [{ url: 'http://user:secret@127.0.0.1' }, /token/],
    [{ url: 'http://127.0.0.1', timeout: 0 }, /timeout: 0/],
    [{ url: 'http://127.0.0.1', deadline: Infinity }, /deadline: Infinity/],
    [{ url: 'http://127.0.0.1', retries: -1 }, /retries: -1/],
    [{ url: 'http://127.0.0.1', retries: 1.5 }, /retries: 1\.5/],
  ]) assert.throws(() => new Client(options), words);
});
