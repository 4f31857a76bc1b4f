// How long pages take in the browser. It is printed and asserted nowhere: a machine may be
// busy with something else.

import { describe, test } from 'node:test';
import { figures } from '../lib/figures.js';
import { pages } from '../lib/pages.js';
import { look, start } from '../lib/rig.js';

const row = figures('Milliseconds of a page that was asked for before', 'page', 'server', 'ready', 'KiB');

describe('speed', { concurrency: 1 }, () => {
  for (const p of pages) {
    test(p.name, async () => {
      const { project } = await start();
      const it = await look('desktop', 'light', project.keys.operator, p.path(project));
      const t = await it.evaluate(() => performance.getEntriesByType('navigation')[0].toJSON());
      row(p.name, t.responseStart - t.requestStart, t.domContentLoadedEventEnd - t.startTime, t.encodedBodySize / 1024);
    });
  }
});
