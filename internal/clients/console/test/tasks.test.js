// The usual tasks of people who read the pages and know no address: the number of clicks
// and keys.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { figures } from '../lib/figures.js';
import { hands } from '../lib/hands.js';
import { furnished } from '../lib/rig.js';
import { noHostile } from '../lib/watch.js';

const { start, page, go, chat, api } = furnished();
const row = figures('Five tasks, from the overview on', 'task', 'clicks', 'keys', 'seconds');

// begin opens the overview and counts the user's actions; done records their number,
// and fails above the limit most.
async function begin(t) {
  const { project } = await start();
  const it = await page(t, 'desktop', 'light', project.keys.operator);
  await go(it, '/console/');
  const h = hands(it);
  const done = async (task, most) => {
    const { clicks, keys, seconds } = h.done();
    row(task, clicks, keys, seconds);
    await noHostile(it);
    assert.ok(clicks <= most.clicks && keys <= most.keys, `${clicks} clicks and ${keys} keys`);
  };
  return { it, h, project, done };
}

describe('tasks', { concurrency: 1 }, () => {
  test('find why a wrong fact was injected, and stop it', async (t) => {
    const { it, h, project, done } = await begin(t);
    const wrong = project.claims['wrong fact'];
    await h.click(it.locator(`[data-region=turns] a[href$="${project.turns['today 2']}"]`));
    const item = it.locator(`li#c-${wrong}`);
    await item.getByText('90 days').first().waitFor();
    const why = await item.locator('.meta').allTextContents();
    assert.match(why.join(' '), /keyword|constraint|vector|entity/, 'it says by which leg it was found');
    await h.click(item.getByText('Wrong?'));
    await h.click(item.getByLabel('What contradicts it?'));
    await h.type('The code says 30.');
    await h.press('Enter');
    await it.getByText('Disputed.').first().waitFor();
    await done('why was this wrong fact injected, and stop it', { clicks: 3, keys: 18 });
    const turn = await chat(project.keys.operator, 's-after', 'For how long are refunds possible?');
    let receipt;
    for (let n = 0; n < 200 && !receipt?.items; n++) receipt = await api(`turns/${turn}`);
    assert.ok(!receipt.items.some((i) => i.id === wrong), 'a turn is still given it');
  });

  test('approve ten patterns', async (t) => {
    const { it, h, project, done } = await begin(t);
    await h.click(it.getByRole('link', { name: 'Waiting for you' }));
    await it.getByRole('heading', { name: 'Candidates', level: 1 }).waitFor();
    for (let n = 0; n < 10; n++) await h.press('a');
    await it.locator(`#c-${project.patterns[9]}`).waitFor({ state: 'detached' });
    await done('approve ten patterns', { clicks: 1, keys: 10 });
    for (const id of project.patterns.slice(0, 10)) assert.equal((await api(`claims/${id}`)).status, 'observed');
    assert.equal((await api(`claims/${project.patterns[10]}`)).status, 'hypothesis');
  });

  test('see which session taught something', async (t) => {
    const { it, h, project, done } = await begin(t);
    const [id] = project.learned.incident;
    await h.press('/');
    await h.type('client new reference');
    await h.press('Enter');
    await h.click(it.locator(`#c-${id} h3 a`));
    await h.click(it.locator('.facts').getByRole('link', { name: 's-incident' }));
    await it.getByRole('heading', { level: 1, name: /s-incident/ }).waitFor();
    await it.locator(`#c-${id}`).waitFor();
    await done('which session taught this', { clicks: 2, keys: 22 });
  });

  test("find what a file's claims say", async (t) => {
    const { it, h, project, done } = await begin(t);
    await h.click(it.getByRole('link', { name: 'Store' }));
    await h.click(it.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Files' }));
    await h.click(it.getByRole('link', { name: project.files[0] }));
    await it.locator(`#c-${project.claims['retry three']}`).getByText('the file has changed').waitFor();
    await done("what do this file's claims say", { clicks: 3, keys: 0 });
  });

  test('check that hybrid pays', async (t) => {
    const { it, h, done } = await begin(t);
    await h.click(it.getByRole('link', { name: 'Health' }));
    await h.click(it.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Recall sweeps' }));
    await it.locator('.note h2', { hasText: /hybrid/i }).first().waitFor();
    await done('does hybrid pay', { clicks: 2, keys: 0 });
  });
});
