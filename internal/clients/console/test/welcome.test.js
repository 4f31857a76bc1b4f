// The first page of a new store: it waits for the first turn, which its own lines make.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { violations } from '../lib/axe.js';
import * as browser from '../lib/browser.js';
import * as processes from '../lib/processes.js';
import { shot } from '../lib/shots.js';

const run = promisify(execFile);

test('a new store waits for its first turn', async (t) => {
  const provider = await processes.provider();
  t.after(provider.stop);
  const dir = await mkdtemp(join(tmpdir(), 'ken-new-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const server = await processes.serve(dir, provider.url);
  t.after(server.stop);
  const context = await browser.context('desktop', 'light', undefined, { permissions: ['clipboard-read', 'clipboard-write'] });
  t.after(() => context.close());
  const page = await context.newPage();
  const said = [];
  page.on('pageerror', (e) => said.push(String(e)));

  await page.goto(`${server.url}/console/`);
  await page.getByRole('heading', { name: 'Waiting for the first turn…' }).waitFor();
  await shot(page, 'welcome', 'desktop', 'light');
  assert.deepEqual(await violations(page), []);
  for (const title of ['Claude Code and other agents', 'Python', 'TypeScript', 'curl', 'MCP']) await page.getByRole('heading', { name: title }).waitFor();

  // What is copied is what is shown, and it works as it is.
  await page.getByRole('button', { name: 'Copy the lines for curl' }).click();
  const lines = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(lines, await page.locator('pre[aria-labelledby=with-curl]').textContent());
  await page.locator(':root[data-live=yes]').waitFor({ state: 'attached' });
  await page.evaluate(() => { window.stays = true; });
  const { stdout } = await run('bash', ['-c', lines], { env: { ...process.env, OPENAI_API_KEY: 'sk-test' } });
  assert.ok(JSON.parse(stdout).choices, stdout);

  const turn = page.locator('[data-region=turns] h3 a');
  await turn.waitFor();
  assert.equal(await turn.textContent(), 'What do you know about this project?');
  assert.equal(await page.getByText('Waiting for the first turn').count(), 0);
  assert.ok(await page.evaluate(() => window.stays), 'the page was loaded again');
  await Promise.all([page.waitForURL('**/turns/*'), turn.click()]);
  await page.getByRole('heading', { name: 'Question' }).waitFor();
  assert.deepEqual(said, []);
});
