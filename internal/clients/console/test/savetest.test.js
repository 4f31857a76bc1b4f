// A turn becomes a memory test, and ken eval test runs it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { violations } from '../lib/axe.js';
import { furnished } from '../lib/rig.js';
import { shot } from '../lib/shots.js';
import { hostile } from '../lib/watch.js';

const run = promisify(execFile);
const ken = process.env.KEN_BIN ?? fileURLToPath(new URL('../../../../bin/ken', import.meta.url));

test('a turn is saved as a memory test, which is green', async (t) => {
  const { start, page, go } = furnished();
  const it = await start();
  const { project } = it;
  const p = await page(t, 'desktop', 'light', project.keys.operator);
  await go(p, `/console/turns/${project.turns['today 2']}`);
  await Promise.all([p.waitForURL('**/test'), p.getByRole('link', { name: 'Save as a memory test' }).click()]);
  assert.deepEqual(await violations(p), []);
  await shot(p, 'memory test', 'desktop', 'light');
  await p.getByRole('combobox').first().selectOption('must');
  await p.getByRole('button', { name: 'Show the case' }).click();
  await p.locator('pre', { hasText: 'must_inject:' }).waitFor();
  assert.deepEqual(await violations(p), []);
  await p.getByRole('button', { name: /^Save into/ }).click();
  await p.locator('.did', { hasText: 'Saved as a memory test.' }).waitFor();
  assert.deepEqual(await hostile(p), []);
  const file = join(project.dir, '.ken/memory-tests.yaml');
  assert.match(await readFile(file, 'utf8'), /ask: "For how long are refunds possible\?"/);
  await it.stop(); // the store is open while it runs
  const { stdout } = await run(ken, ['--dir', project.dir, 'eval', 'test', file]);
  assert.match(stdout, /^ok .*refunds possible/m, stdout);
});
