// Accessibility, as far as a program can tell.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const source = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const colour = 'color-contrast'; // the rule that takes the longest by far

// what axe is to look at: everything, or what differs where all else was looked at before.
const parts = {
  all: { runOnly: { type: 'tag', values: tags } },
  colours: { runOnly: { type: 'rule', values: [colour] } },
  structure: { runOnly: { type: 'tag', values: tags }, rules: { [colour]: { enabled: false } } },
};

// violations lists what of a page breaks WCAG 2.0, 2.1 or 2.2 at level A or AA: the rule,
// where, and what axe says about it. part is all, colours, for another scheme of a page
// that was looked at, or structure, for another size.
export async function violations(page, part = 'all') {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(await source);
  const { violations } = await page.evaluate((options) => axe.run({ ...options, resultTypes: ['violations'] }), parts[part]);
  return violations.flatMap((v) => v.nodes.slice(0, 5).map((n) => `${v.id} at ${n.target.join(' ').slice(0, 120)}: ${n.failureSummary.split('\n').slice(1).join('; ').trim()}`));
}

// axe fails if there is one.
export async function axe(page) {
  assert.deepEqual(await violations(page), []);
}
