// A developer with a key for chat and read, but not operate, sees their own turns.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violations } from '../lib/axe.js';
import { hostile } from '../lib/watch.js';
import { chat, go, page, start } from '../lib/workshop.js';

test('a developer sees the turns of their own key, and no others', async (t) => {
  const { project } = await start();
  const { developer, operator } = project.keys;
  const it = await page(t, 'desktop', 'light', developer);
  await go(it, '/console/');
  for (const name of ['What needs you', 'Your turns']) await it.getByRole('heading', { name, exact: true }).waitFor();
  assert.deepEqual(await violations(it), []);
  await it.getByText('How to connect a client').click();
  await it.getByRole('heading', { name: 'Waiting for the first turn…' }).waitFor();
  assert.equal(await it.locator('[data-region=turns]').count(), 0);
  await it.locator(':root[data-live=yes]').waitFor({ state: 'attached' });

  const others = await chat(operator, 's-secret', 'How often are calls to the bank made by the operator?');
  const own = await chat(developer, 's-own', 'For how long are refunds possible?', 'agent-dev');
  await it.locator('[data-region=turns] h3 a', { hasText: 'For how long are refunds possible?' }).waitFor();

  await go(it, '/console/turns');
  assert.deepEqual(await it.locator('[data-item]').evaluateAll((list) => list.map((e) => e.id)), [`t-${own}`]);
  assert.deepEqual(await violations(it), []);
  await Promise.all([it.waitForURL(`**/${own}`), it.getByRole('link', { name: 'For how long are refunds possible?' }).click()]);
  for (const name of ['Question', 'The block as the model saw it', 'Answer']) await it.getByRole('heading', { name, exact: true }).waitFor();
  assert.deepEqual(await violations(it), []);

  await go(it, '/console/sessions');
  assert.deepEqual(await it.locator('[data-item] h3').allTextContents(), ['s-own']);
  await go(it, '/console/sessions/s-own');
  await it.locator('.talk', { hasText: 'For how long are refunds possible?' }).waitFor();
  for (const path of ['/console/sessions/s-secret', '/console/sessions/s-today', `/console/turns/${others}`, '/console/turns?session=s-secret&q=operator']) {
    await go(it, path);
    assert.equal(await it.locator('.talk, #question, #answer, #block').count(), 0, path);
    assert.ok(!(await it.content()).includes('How often are calls to the bank made by the operator?'), path);
  }
  assert.equal(await it.locator('main form[method=post]').count(), 0);
  assert.deepEqual(await hostile(it), []);
});
