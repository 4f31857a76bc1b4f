// The same question with and without the block, asked of the configured model.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { violations } from '../lib/axe.js';
import * as browser from '../lib/browser.js';
import * as processes from '../lib/processes.js';
import { shot } from '../lib/shots.js';

test('a model answers with and without the block', async (t) => {
  const provider = await processes.provider();
  t.after(provider.stop);
  const dir = await mkdtemp(join(tmpdir(), 'ken-playground-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  await mkdir(join(dir, '.ken'));
  await writeFile(join(dir, '.ken/config.yaml'), `upstream:\n  base_url: ${provider.url}/v1\n  model: gpt-4.1-mini\n`);
  const server = await processes.serve(dir, provider.url);
  t.after(server.stop);
  const written = await fetch(`${server.url}/api/claims`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text: 'The payments service retries a failed transfer three times.' }) });
  assert.ok(written.ok, await written.text());
  const context = await browser.context('desktop', 'light');
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(`${server.url}/console/try`);
  await page.getByLabel('What the person says').fill('How often is a failed transfer retried?');
  await page.getByRole('button', { name: 'Try it' }).click();
  const ask = page.getByRole('button', { name: /^Ask gpt-4.1-mini/ });
  await ask.click();
  for (const title of ['With the block', 'Without it']) {
    const answer = page.locator('.one-side', { has: page.getByRole('heading', { name: title, exact: true }) });
    assert.match(await answer.locator('.said').textContent(), /three times/);
    assert.match(await answer.textContent(), /\d+ tokens in, \d+ out/);
  }
  await shot(page, 'playground', 'desktop', 'light');
  assert.deepEqual(await violations(page), []);
  // It was no turn, and it is counted.
  await page.goto(`${server.url}/console/turns`);
  assert.equal(await page.locator('[data-item]').count(), 0);
  const { usage } = await (await fetch(`${server.url}/api/usage`)).json();
  assert.equal(usage.reduce((n, row) => n + row.requests, 0), 2);
});
