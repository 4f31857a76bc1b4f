// Every page, on a phone and on a desk, by day and by night.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { violations } from '../lib/axe.js';
import { hostilePages, pages } from '../lib/pages.js';
import { look, start } from '../lib/rig.js';
import { shot } from '../lib/shots.js';
import { hostile, shifts } from '../lib/watch.js';

// frame lists what is wrong with how a page stands on the screen.
const frame = (page, kind) =>
  page.evaluate((phone) => {
    const out = [];
    const h1 = document.querySelectorAll('h1').length;
    if (h1 !== 1) out.push(`${h1} headings of the first level`);
    if (!document.title.trim()) out.push('no title');
    const wide = document.scrollingElement.scrollWidth;
    if (wide > innerWidth) {
      const over = [...document.querySelectorAll('main *, header *, footer *, nav *')].find((e) => e.getBoundingClientRect().right > innerWidth + 1);
      out.push(`${wide} pixels wide on a screen of ${innerWidth}: ${over?.outerHTML.slice(0, 120)}`);
    }
    if (phone && innerWidth !== screen.width) out.push(`it is made for ${innerWidth} pixels: has it a viewport?`);
    return out;
  }, kind === 'phone');

// check opens a page and lists all that is wrong with it; part is what axe is to look at,
// if anything.
async function check(p, kind, scheme, part) {
  const { project } = await start();
  const it = await look(kind, scheme, project.keys.operator, p.path(project));
  const faults = await frame(it, kind);
  await shot(it, p.name, kind, scheme);
  faults.push(...(await hostile(it)), ...(await shifts(it)));
  if (part) faults.push(...(await violations(it, part)));
  if ((await it.content()).includes(project.markers.other)) faults.push(`it tells what ${project.markers.other} is about`);
  assert.deepEqual(faults, []);
}

// Two at a time, each with a page of its own.
describe('pages', { concurrency: 2 }, () => {
  for (const [kind, scheme, part] of [['desktop', 'light', 'all'], ['desktop', 'dark', 'colours'], ['phone', 'light', 'structure'], ['phone', 'dark']]) {
    describe(`${kind}, ${scheme}`, { concurrency: 1 }, () => {
      for (const p of pages) test(p.name, () => check(p, kind, scheme, part));
    });
  }
});

describe('pages about what is hostile', { concurrency: 2 }, () => {
  for (const [kind, scheme] of [['desktop', 'light'], ['phone', 'dark']]) {
    describe(`${kind}, ${scheme}`, { concurrency: 1 }, () => {
      for (const p of hostilePages) test(p.name, () => check(p, kind, scheme));
    });
  }
});
