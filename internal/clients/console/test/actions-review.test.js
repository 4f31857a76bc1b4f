// Candidates are approved, rejected and edited, one by one and many at once.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostile } from '../lib/watch.js';
import { api, desk, start } from '../lib/workshop.js';

const row = (page, id) => page.locator(`#c-${id}`);
const status = async (id) => (await api(`claims/${id}`)).status;

describe('candidates', { concurrency: 1 }, () => {
  const decisions = [
    ['are approved', 2, (item) => item.getByRole('button', { name: 'Approve' }).click(), 'observed'],
    ['are rejected', 3, (item) => item.getByRole('button', { name: 'Reject' }).click(), 'disputed'],
    ['are edited', 4, async (item) => {
      await item.locator('summary', { hasText: 'Edit' }).click();
      await item.getByLabel('What it should say').fill('PostgreSQL comes up with docker compose.');
      await item.getByRole('button', { name: 'Save and approve' }).click();
    }, 'superseded'],
  ];
  for (const [what, n, decide, becomes] of decisions) {
    test(what, async (t) => {
      const { project } = await start();
      const id = project.patterns[n];
      const it = await desk(t, '/console/review');
      const before = it.url();
      await decide(row(it, id));
      await row(it, id).waitFor({ state: 'detached' });
      assert.equal(new URL(it.url()).pathname, new URL(before).pathname);
      const now = await api(`claims/${id}`);
      assert.ok(now.status === becomes || now.text.startsWith('PostgreSQL comes up'), `${id} is ${now.status}`);
      const focus = await it.evaluate(() => document.activeElement.closest('[data-item]')?.id);
      assert.equal(focus, `c-${project.patterns[n + 1]}`, 'the next candidate has the focus');
      assert.deepEqual(await hostile(it), []);
    });
  }

  test('the focus goes to the next one, also when another one above has been decided', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/review');
    await it.route('**/console/events*', (route) => route.abort());
    await it.reload();
    const ids = await it.locator('[data-item]').evaluateAll((items) => items.map((i) => i.id));
    const [above, decided, next] = ids;
    await api(`claims/${above.slice(2)}/reject`, 'POST', {});
    await row(it, decided.slice(2)).getByRole('button', { name: 'Approve' }).click();
    await row(it, decided.slice(2)).waitFor({ state: 'detached' });
    assert.equal(await row(it, above.slice(2)).count(), 0);
    assert.equal(await it.evaluate(() => document.activeElement.closest('[data-item]')?.id), next);
    assert.ok(project.patterns.includes(next.slice(2)));
  });

  test('are approved many at once', async (t) => {
    const { project } = await start();
    const chosen = project.patterns.slice(6, 10);
    const it = await desk(t, '/console/review');
    for (const id of chosen) await row(it, id).getByRole('checkbox').check();
    await it.getByText('4 chosen').waitFor();
    await it.getByRole('button', { name: 'Approve chosen' }).click();
    for (const id of chosen) await row(it, id).waitFor({ state: 'detached' });
    assert.deepEqual(await Promise.all(chosen.map(status)), chosen.map(() => 'observed'));
    assert.equal(await row(it, project.patterns[10]).count(), 1, 'one that was not chosen is still there');
  });

  test('nothing chosen changes nothing', async (t) => {
    const it = await desk(t, '/console/review');
    const n = await it.locator('[data-item]').count();
    await it.getByRole('button', { name: 'Reject chosen' }).click();
    await it.getByText('Nothing was chosen').first().waitFor();
    assert.equal(await it.locator('[data-item]').count(), n);
  });
});
