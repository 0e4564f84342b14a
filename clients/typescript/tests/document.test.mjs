// The types are those of the server: its own document says so.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { typescript } from './document.mjs';
import { federated } from './federation.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = (folder) => spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' }).stdout;

/** What the compiler says to the types of each document. */
function compared(documents) {
  const folder = join(root, 'build');
  rmSync(folder, { recursive: true, force: true });
  const same = readFileSync(join(root, 'tests/same.ts'), 'utf8').replace('../src/', '../../src/');
  documents.forEach((document, n) => {
    mkdirSync(join(folder, `document-${n}`), { recursive: true });
    writeFileSync(join(folder, `document-${n}/theirs.ts`), typescript(document));
    writeFileSync(join(folder, `document-${n}/same.ts`), same);
  });
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', compilerOptions: { noEmit: true, rootDir: '..' }, include: ['.'] }));
  const said = tsc(folder).split('\n');
  rmSync(folder, { recursive: true });
  // The statement that does not compile names both types.
  const named = (line) => same.split('\n')[Number(/same\.ts\((\d+)/.exec(line)?.[1]) - 1] ?? line;
  return documents.map((_, n) => said.filter((line) => line.includes(`document-${n}/`)).map(named));
}

test('calls are typed: what must be refused is', () => assert.equal(tsc(join(root, 'tests')), ''));

/** Documents that say something else. */
const others = [
  ({ Decision }) => (Decision.properties.colour = { type: 'string' }),
  ({ Decision }) => delete Decision.properties.model,
  ({ Decision }) => Decision.required.pop(),
  ({ Taken }) => Taken.properties.status.enum.push('forgotten'),
  ({ Ranked }) => (Ranked.properties.score.type = 'number'),
  ({ Status }) => (Status.properties.trouble.type = 'integer'),
  ({ Offer }) => (Offer.properties.colour = { type: 'string' }),
  ({ Offer }) => delete Offer.properties.deferred,
  ({ Reward }) => (Reward.properties.reward.type = 'string'),
  ({ ArmsChange }) => delete ArmsChange.properties.retire,
];

test('the types say what the document says, no more and no less', () =>
  federated(async (federation) => {
    const { url } = await federation.join(0);
    const document = await (await fetch(`${url}/openapi.json`)).json();
    const changed = others.map((change) => {
      const other = structuredClone(document);
      change(other.components.schemas);
      return other;
    });
    const [agreed, ...disagreed] = compared([document, ...changed]);
    assert.deepEqual(agreed, [], 'types in src/ that are not what crates/node/api/client.json says');
    disagreed.forEach((said, n) => assert.notDeepEqual(said, [], String(others[n])));
    for (const path of ['decide', 'reward', 'activate', 'abandon', 'arms', 'status', 'gain', 'health']) assert.ok(document.paths[`/${path}`], path);
  }));
