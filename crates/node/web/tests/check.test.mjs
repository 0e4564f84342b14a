// What the check does where something is missing: it fails with words, or says that it did not run, aloud and once more at the end.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const SYSTEM = ['bash', 'env', 'id', 'mktemp', 'rm', 'tail', 'cat', 'dirname', 'realpath', 'cp', 'diff', 'mkdir', 'tr'];

/** Runs a script where only these programs are, and those that are written down here as scripts. */
function with_only(programs, scripts, script, args, look) {
  const bin = mkdtempSync(join(tmpdir(), 'cahoots-check-'));
  try {
    for (const [name, text] of Object.entries(scripts)) {
      // `wx`: a file that is new. What is there may be a link, and writing to it would write to the system's own program.
      writeFileSync(join(bin, name), `#!/usr/bin/env bash\n${text}\n`, { flag: 'wx', mode: 0o755 });
    }
    for (const name of [...SYSTEM, ...programs].filter((name) => !(name in scripts))) {
      symlinkSync(spawnSync('bash', ['-c', `command -v ${name}`]).stdout.toString().trim(), join(bin, name));
    }
    const ran = spawnSync(script, args, { env: { PATH: bin, HOME: process.env.HOME, CHECK_NOT_RUN: join(bin, 'not-run') } });
    look({ code: ran.status, said: `${ran.stdout}${ran.stderr}`, bin });
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
}

const nothing = process.execPath;

test('without node or npm it fails, and says what to install', () => {
  for (const [there, missing] of [[[], 'node'], [['node'], 'npm']]) {
    with_only(there, {}, './check', [nothing, nothing], ({ code, said }) => {
      assert.equal(code, 1, said);
      assert.match(said, new RegExp(`^${missing} is missing[^]*install Node.js with npm`));
    });
  }
});

test('a browser that is there is found; one that is not is installed by root, or it is said why not', () => {
  with_only([], { chromium: '' }, './chromium', [], ({ code, said, bin }) => assert.deepEqual([code, said.trim()], [0, join(bin, 'chromium')]));
  const installs = 'if [ "$1" = install ] || [ "$2" = install ]; then printf "#!/usr/bin/env bash\\n" > "${0%/*}/chromium"; chmod +x "${0%/*}/chromium"; fi';
  const root = { id: 'echo 0' };
  with_only(['chmod'], { ...root, 'apt-get': installs }, './chromium', [], ({ code, said, bin }) => assert.deepEqual([code, said.trim()], [0, join(bin, 'chromium')]));
  with_only([], { ...root, 'apt-get': 'echo "E: no network" >&2; exit 100' }, './chromium', [], ({ code, said }) => {
    assert.equal(code, 1);
    assert.match(said, /apt-get could not install it: E: no network/);
  });
  with_only([], { id: 'echo 1000', 'apt-get': installs }, './chromium', [], ({ code, said }) => {
    assert.equal(code, 1);
    assert.match(said, /this user cannot install it/);
  });
});

test('where there can be no browser, the check says that it did not run, to whoever says it again at the end', () => {
  // What is built is taken for granted: this is about what comes after it.
  const tools = { npm: 'mkdir -p node_modules/.bin node_modules/uplot; echo > node_modules/uplot/LICENSE; for tool in tsc esbuild; do printf "#!/usr/bin/env bash\\n" > node_modules/.bin/$tool; chmod +x node_modules/.bin/$tool; done', diff: '', id: 'echo 1000' };
  with_only(['node', 'chmod'], tools, './check', [nothing, nothing], ({ code, said, bin }) => {
    assert.equal(code, 0, said);
    assert.match(said, /NOT RUN: the coordinator's and the client's pages were not opened in a browser: there is no chromium/);
    assert.match(readFileSync(join(bin, 'not-run')).toString(), /^the coordinator's and the client's pages were not opened/);
  });
});
