// A real federation on this machine: processes of the program that is named, with stores of their own.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const LINEAR = '[setting]\nusers = 10\ndim = 3\narms = 4\nreward_noise = 0.1\n[algorithm]\nkind = "async-linucb"\nratio = 1.5\n';

/** Four plain arms of which two are worse by more than the first phase leaves open. */
export const K_ARMED = `[setting]\nusers = 3\narms = 4\nhorizon = 1000\nreward_noise = 0.1
[algorithm]\nkind = "pf-ucb"\npersonalization = 0.25\nschedule = 8\nreward_noise = 0.1\n`;

/** Clients that find out who is alike. */
export const CLUSTERED = `[setting]\nusers = 6\ndim = 3\narms = 4\nhorizon = 10000\nreward_noise = 0.05
[algorithm]\nkind = "hetofed"\nexploration = 12\nsync_threshold = 1.0\n`;

export const LARGE = '[setting]\nusers = 5000\ndim = 3\narms = 4\nreward_noise = 0.1\n[algorithm]\nkind = "async-linucb"\nratio = 1.5\n';

const free_port = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

/** Starts a node; gives it back once it has said where it listens. */
const node = (command, file) => running(process.env.CAHOOTS, [command, file]);

/** Starts a program; gives it back with what its first line says. */
async function running(program, args) {
  const process_ = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaints = '';
  process_.stderr.on('data', (data) => (complaints += data));
  const ended = new Promise((done) => process_.on('exit', done));
  const line = await new Promise((done, failed) => {
    createInterface({ input: process_.stdout }).once('line', done);
    void ended.then((code) => failed(new Error(`${program} ${args[0]} ended with ${code}: ${complaints}`)));
  });
  return { ...JSON.parse(line), kill: () => (process_.kill('SIGKILL'), ended) };
}

/** A NATS server that NATS_SERVER names, and coordinators a and b whose log it keeps; which of them leads is seen. */
export class Pair {
  async start() {
    this.folder = mkdtempSync(join(tmpdir(), 'cahoots-pair-'));
    const [nats, monitor] = [await free_port(), await free_port()];
    writeFileSync(join(this.folder, 'nats.conf'), `listen: 127.0.0.1:${nats}\nhttp: 127.0.0.1:${monitor}\njetstream { store_dir: "${this.folder}/nats", sync_interval: always }\n`);
    this.server = spawn(process.env.NATS_SERVER, ['-c', join(this.folder, 'nats.conf')], { stdio: 'ignore' });
    writeFileSync(join(this.folder, 'log.key'), 'a5'.repeat(32));
    this.pages = {};
    this.nodes = [];
    for (const name of ['a', 'b']) {
      const [listen, http] = [await free_port(), await free_port()];
      const file = join(this.folder, `${name}.toml`);
      writeFileSync(
        file,
        `federation = "shops"\nlisten = "127.0.0.1:${listen}"\nhttp = "127.0.0.1:${http}"\nstore = "${name}.store"\nlog = "nats://127.0.0.1:${nats}"
[nats]\nkey = "log.key"\nsingle = true\nmonitor = ["http://127.0.0.1:${monitor}"]\n${LINEAR}`,
      );
      this.nodes.push(await node('serve', file));
      this.pages[name] = `http://127.0.0.1:${http}/`;
    }
    return this;
  }

  /** What each says of itself. */
  async roles() {
    const all = await Promise.all(Object.entries(this.pages).map(async ([name, page]) => [(await (await fetch(`${page}status`)).json()).replica.role, name]));
    return Object.fromEntries(all);
  }

  async freeze(frozen) {
    this.server.kill(frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async stop() {
    for (const one of this.nodes) await one.kill();
    this.server.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Federation {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'cahoots-pages-'));
    this.nodes = [];
  }

  /** With further keys of its file, and what is learnt in it. */
  async start(keys = '', terms = LINEAR) {
    this.listen = await free_port();
    this.http = await free_port();
    this.file = join(this.folder, 'coordinator.toml');
    writeFileSync(
      this.file,
      `federation = "shops"\nlisten = "127.0.0.1:${this.listen}"\nhttp = "127.0.0.1:${this.http}"\nstore = "coordinator.store"\n${keys}\n${terms}`,
    );
    this.url = `http://127.0.0.1:${this.http}/`;
    await this.serve();
    return this;
  }

  async serve() {
    this.coordinator = await node('serve', this.file);
    this.nodes.push(this.coordinator);
  }

  /** A client, with further keys of its file; `store` is another one than its own. */
  async join(client, keys = '', store = `client-${client}`) {
    const file = join(this.folder, `${store}.toml`);
    writeFileSync(file, `federation = "shops"\ncoordinator = "http://127.0.0.1:${this.listen}"\nclient = ${client}\nstore = "${store}.store"\nhttp = "127.0.0.1:0"\n${keys}\n`);
    const started = await node('client', file);
    this.nodes.push(started);
    return { ...started, client, url: `http://${started.listening}/` };
  }

  /** Members that are no more than the end of a stream each: so many, of whom the first few stay connected. */
  async crowd(clients, here) {
    assert.ok(process.env.CROWD, 'CROWD names cahoots-node of the testkit');
    const crowd = await running(process.env.CROWD, ['crowd', `http://127.0.0.1:${this.listen}`, 'shops', String(clients), String(here)]);
    this.nodes.push(crowd);
    return crowd;
  }

  async stop() {
    for (const one of this.nodes) await one.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const post = async (url, body) => {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return { ok: answer.ok, body: await answer.json() };
};

async function asked(url, arms, reward) {
  let decided;
  do decided = await post(`${url}decide`, { arms });
  while (!decided.ok);
  await post(`${url}reward`, { id: decided.body.id, reward: reward(decided.body.arm) });
}

/** An app: asks and rewards so many times. One feature is worth something: the first, unless another is named. */
export async function decide({ url, client }, times, worth = 0) {
  for (let n = 0; n < times; n++) {
    const arms = [0, 1, 2, 3].map((arm) => [0, 1, 2].map((f) => Math.sin(1 + 7 * n + 3 * arm + 2 * f + client) / 2));
    await asked(url, arms, (arm) => 0.8 * arms[arm][worth]);
  }
}

/** The same with plain arms, which pay what is listed. */
export async function pull({ url }, times, pays) {
  for (let n = 0; n < times; n++) await asked(url, pays.length, (arm) => pays[arm] + 0.05 * Math.sin(n));
}
