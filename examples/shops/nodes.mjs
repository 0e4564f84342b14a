// The processes of a federation on this machine, as anyone would start them. They end with this one.
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { DIM, HEADLINES, SHOPS } from './world.mjs';

const run = promisify(execFile);

/** Runs `work` beside a coordinator. `open` opens a shop, and says where its client is; `merged` has all shops send what they
 * have not sent yet, and says how many rewards there are in what is merged. */
export async function federation(program, algorithm, work) {
  const folder = await mkdtemp(join(tmpdir(), 'cahoots-shops-'));
  const running = [];

  async function start(command, name, text) {
    const file = join(folder, `${name}.toml`);
    await writeFile(file, `federation = "shops"\nstore = "${name}.store"\nsync = "memory"\ntick = 0.05\n${text}`);
    const child = spawn(program, [command, '--while-stdin', file], { stdio: ['pipe', 'pipe', 'pipe'] });
    let complaints = '';
    child.stderr.on('data', (data) => (complaints += data));
    const ended = new Promise((done) => child.on('close', done));
    running.push(() => (child.kill('SIGKILL'), ended));
    // The first line says where it listens.
    return new Promise((done, failed) => {
      createInterface({ input: child.stdout }).once('line', (line) => done(JSON.parse(line)));
      child.on('error', failed);
      void ended.then((code) => failed(new Error(`cahoots ${command} ended with ${code}: ${complaints}`)));
    });
  }

  try {
    const terms = `[setting]\nusers = ${SHOPS.length}\ndim = ${DIM}\narms = ${Object.keys(HEADLINES).length}\nreward_range = [0.0, 1.0]\n`;
    const coordinator = await start('serve', 'coordinator', `listen = "127.0.0.1:0"\n${terms}[algorithm]\n${algorithm}\n`);
    const asked = async (command, name) => JSON.parse((await run(program, [command, join(folder, `${name}.toml`)])).stdout);
    const open = async (shop) => {
      const { listening } = await start('client', `shop-${shop}`, `coordinator = "http://${coordinator.listening}"\nclient = ${shop}\n`);
      return `http://${listening}`;
    };
    const merged = async () => {
      await Promise.all(SHOPS.map((_, shop) => asked('drain', `shop-${shop}`)));
      return (await asked('status', 'coordinator')).observations;
    };
    return await work({ open, merged });
  } finally {
    for (const stop of running.reverse()) await stop();
    await rm(folder, { recursive: true, force: true });
  }
}
