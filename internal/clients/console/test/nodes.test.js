// The page of nodes, in front of a real server of NATS. Without one (make engines) it is skipped.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { violations } from '../lib/axe.js';
import * as browser from '../lib/browser.js';
import * as processes from '../lib/processes.js';
import { shot } from '../lib/shots.js';

const nats = process.env.KEN_NATS_SERVER ?? fileURLToPath(new URL('../../../../bin/nats-server', import.meta.url));

test('the nodes and whom they serve', { skip: existsSync(nats) ? false : 'there is no bin/nats-server' }, async (t) => {
  const above = await mkdtemp(join(tmpdir(), 'ken-nodes-'));
  t.after(() => rm(above, { recursive: true, force: true, maxRetries: 3 }));
  const engine = spawn(nats, ['-js', '-sd', join(above, 'js'), '-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', above], { stdio: 'ignore' });
  const ended = once(engine, 'close');
  t.after(async () => { engine.kill(); await ended; });
  const ports = join(above, `nats-server_${engine.pid}.ports`);
  let url;
  for (let i = 0; i < 100 && !url; i++) {
    url = await readFile(ports, 'utf8').then((s) => JSON.parse(s).nats[0], () => new Promise((r) => { setTimeout(r, 100); }));
  }
  const dir = join(above, 'project');
  await mkdir(join(dir, '.ken'), { recursive: true });
  await writeFile(join(dir, '.ken/config.yaml'), `store:\n  url: ${url}\n  replicas: 1\n`);
  const provider = await processes.provider();
  t.after(provider.stop);
  const server = await processes.serve(dir, provider.url);
  t.after(server.stop);
  const context = await browser.context('desktop', 'light');
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(`${server.url}/console/health`);
  await Promise.all([page.waitForURL('**/nodes'), page.getByRole('link', { name: 'Nodes' }).first().click()]);
  const owners = page.getByRole('region', { name: 'Owners' });
  await owners.getByRole('rowheader', { name: 'default' }).waitFor();
  assert.equal(await page.getByRole('region', { name: 'Nodes' }).locator('tbody tr').count(), 1);
  await shot(page, 'nodes', 'desktop', 'light');
  assert.deepEqual(await violations(page), []);
});
