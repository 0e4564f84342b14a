// A real federation on this machine: processes of the program that `CAHOOTS` names, with stores of their own.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

assert.ok(process.env.CAHOOTS, 'name the program to test against: CAHOOTS=path/to/cahoots npm test');
const program = resolve(process.env.CAHOOTS);
const run = promisify(execFile);

/** A port that is free now. Who is killed comes back to it, so it is none of those that the system gives to outgoing
 * connections (32768 and above on Linux). */
let next = 10_240 + ((process.pid * 31) % 20_000);
const free_port = () =>
  new Promise((done, failed) => {
    const attempt = () => {
      const port = next++;
      const server = createServer();
      server.once('error', (error) => (error.code === 'EADDRINUSE' ? attempt() : failed(error)));
      server.listen(port, '127.0.0.1', () => server.close(() => done(port)));
    };
    attempt();
  });

/** Starts a node; gives it back once it has said where it listens. It ends with this process, however that ends. */
async function node(command, file) {
  const child = spawn(program, [command, '--while-stdin', file], { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (data) => (complaints += data));
  const ended = new Promise((done) => child.on('exit', done));
  await new Promise((done, failed) => {
    createInterface({ input: child.stdout }).once('line', done);
    void ended.then((code) => failed(new Error(`cahoots ${command} ended with ${code}: ${complaints}`)));
  });
  return { kill: () => (child.kill('SIGKILL'), ended) };
}

const LINEAR = 'dim = 2\narms = 3\nreward_range = [0.0, 1.0]\n[algorithm]\nkind = "async-linucb"\nratio = 1.5\n';

export class Federation {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'cahoots-typescript-'));
    this.nodes = new Map();
  }

  /** Starts a coordinator; `terms` is what follows `[setting]`. */
  static async start(terms = LINEAR) {
    const federation = new Federation();
    federation.listen = `127.0.0.1:${await free_port()}`;
    federation.#write('coordinator', `listen = "${federation.listen}"\n[setting]\nusers = 4\n${terms}`);
    await federation.launch('coordinator', 'serve');
    return federation;
  }

  #write(name, text) {
    const file = join(this.folder, `${name}.toml`);
    writeFileSync(file, `federation = "shops"\nstore = "${name}.store"\nsync = "memory"\ntick = 0.05\n${text}`);
  }

  async launch(name, command) {
    this.nodes.set(name, await node(command, join(this.folder, `${name}.toml`)));
  }

  /** Starts a client, which has joined then; `keys` are added to its file. Its address stays its own when it is killed. */
  async join(number, keys = '') {
    const address = `127.0.0.1:${await free_port()}`;
    const name = `client-${number}`;
    this.#write(name, `coordinator = "http://${this.listen}"\nclient = ${number}\nhttp = "${address}"\nlongest_pause = 0.2\n${keys}`);
    await this.launch(name, 'client');
    const authorization = `Bearer ${/token = "(.*)"/.exec(keys)?.[1]}`;
    await until('it has joined', async () => {
      const answer = await fetch(`http://${address}/status`, { headers: { authorization } });
      return answer.ok && (await answer.json()).joined;
    });
    return {
      url: `http://${address}`,
      kill: () => this.nodes.get(name).kill(),
      back: () => this.launch(name, 'client'),
    };
  }

  /** What a command says about a node, in JSON. */
  async asks(command, name) {
    const { stdout } = await run(program, [command, join(this.folder, `${name}.toml`)]);
    return JSON.parse(stdout);
  }

  async stop() {
    for (const one of this.nodes.values()) await one.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs `look` beside a federation, which ends with it. */
export async function federated(look, terms) {
  const federation = await Federation.start(terms);
  try {
    await look(federation);
  } finally {
    await federation.stop();
  }
}

/** Waits until something holds, however long that takes within reason. */
export async function until(what, holds, patience = 30_000) {
  const end = Date.now() + patience;
  do {
    const found = await holds();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 20));
  } while (Date.now() < end);
  return assert.fail(`never: ${what}`);
}
