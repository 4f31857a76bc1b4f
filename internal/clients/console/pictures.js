// Makes the pictures of docs/pictures anew: make pictures. It is no test, and fails like one where
// a page can't be shown.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as browser from './lib/browser.js';
import * as processes from './lib/processes.js';
import { go, page, start } from './lib/rig.js';

const name = encodeURIComponent;
const viewport = { width: 1280, height: 860 };
const to = (picture) => fileURLToPath(new URL(`../../../docs/pictures/console-${picture}.png`, import.meta.url));

const pictures = [
  ['turns', (p) => `/console/turns?agent=${name(p.agents[1])}`],
  ['turn', (p) => `/console/turns/${p.turns['today 2']}`],
  ['session', (p) => `/console/sessions/${name(p.sessions.incident)}`],
  ['review', () => '/console/review'],
  ['entity', (p) => `/console/entities/${name(p.entities[0])}`],
  ['health', () => '/console/health'],
];

test('pictures of a project that is at work', async (t) => {
  const { project } = await start();
  const it = await page(t, 'desktop', 'light', project.keys.operator, { viewport });
  for (const [picture, path] of pictures) {
    await go(it, path(project));
    await it.locator('[data-region=again]:not([data-pending])').waitFor({ state: 'attached' });
    await it.screenshot({ path: to(picture) });
  }
});

test('a picture of a new store', async (t) => {
  const provider = await processes.provider();
  t.after(provider.stop);
  const dir = await mkdtemp(join(tmpdir(), 'ken-new-'));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 3 }));
  const server = await processes.serve(dir, provider.url, '--listen', '127.0.0.1:8484').catch(() => processes.serve(dir, provider.url));
  t.after(server.stop);
  const context = await browser.context('desktop', 'light', undefined, { viewport });
  t.after(() => context.close());
  const it = await context.newPage();
  await it.goto(`${server.url}/console/`);
  await browser.drawn(it);
  await it.screenshot({ path: to('welcome') });
});
