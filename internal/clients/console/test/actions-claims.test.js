// What a person decides about a claim is so afterwards.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noHostile } from '../lib/watch.js';
import { api, desk, did, start, unfold } from '../lib/workshop.js';

const at = async (t, name) => desk(t, `/console/claims/${(await start()).project.claims[name]}`);
const claim = async (name) => api(`claims/${(await start()).project.claims[name]}`);
const idOf = (page) => new URL(page.url()).pathname.split('/').pop();

describe('a claim', { concurrency: 2 }, () => {
  test('is written', async (t) => {
    const it = await desk(t, '/console/claims');
    await it.getByRole('link', { name: 'Write a claim' }).click();
    await it.getByLabel('What is true').fill('The bank sends a letter on the first of May.');
    await it.getByLabel('What it is about').fill('bank, letters');
    await it.getByText('More', { exact: true }).click();
    await it.getByLabel('Rests on the file').fill('docs/api.md');
    await it.getByRole('button', { name: 'Write it' }).click();
    await did(it, 'Written, on your word.');
    const c = await api(`claims/${idOf(it)}`);
    assert.equal(c.text, 'The bank sends a letter on the first of May.');
    assert.deepEqual(c.evidence.map((e) => e.kind).sort(), ['file', 'human_assertion']);
    assert.ok(c.entities.includes('letters'));
    await noHostile(it);
  });

  test('is verified', async (t) => {
    const it = await at(t, 'bank docs');
    await it.getByRole('button', { name: 'Verify' }).click();
    await did(it, 'Verified');
    const c = await claim('bank docs');
    assert.deepEqual([c.status, c.tier], ['verified', 'Verified']);
    assert.equal(await it.locator('.head .tier').textContent(), 'Verified');
  });

  test('is disputed', async (t) => {
    const it = await at(t, 'agent word');
    const form = await unfold(it, 'Dispute');
    await form.getByLabel('What contradicts it?').fill('The log says an hour.');
    await form.getByRole('button', { name: 'Dispute' }).click();
    await did(it, 'Disputed');
    assert.equal((await claim('agent word')).status, 'disputed');
    await it.locator('.timeline', { hasText: 'The log says an hour.' }).waitFor();
  });

  test('is corrected', async (t) => {
    const { project } = await start();
    const it = await at(t, 'bank blog');
    const form = await unfold(it, 'Correct');
    await form.getByLabel('What is true instead').fill('The bank drops TLS 1.2 next autumn.');
    await form.getByLabel('Why').fill('a letter from the bank');
    await form.getByRole('button', { name: 'Replace' }).click();
    await did(it, 'Corrected');
    const now = await api(`claims/${idOf(it)}`);
    assert.deepEqual([now.text, now.supersedes], ['The bank drops TLS 1.2 next autumn.', project.claims['bank blog']]);
    const old = await claim('bank blog');
    assert.deepEqual([old.status, old.superseded_by], ['superseded', now.id]);
    await it.getByRole('heading', { name: 'What replaced what' }).waitFor();
  });

  test('is put away', async (t) => {
    const it = await at(t, 'retry five');
    await it.getByRole('button', { name: 'Put away' }).click();
    await did(it, 'Put away');
    assert.ok((await claim('retry five')).archived_at);
  });

  test('is forgotten, with what is derived from it, after it was shown what', async (t) => {
    const { project, url } = await start();
    const { forgettable, derived } = project.claims;
    const it = await at(t, 'forgettable');
    await it.getByRole('link', { name: 'Forget…' }).click();
    await it.getByRole('link', { name: /Whoever is on call reaches Ana/ }).waitFor();
    await it.getByLabel('Why').fill('she asked for it');
    await it.getByRole('button', { name: 'Forget 2 claims for good' }).click();
    await it.getByText('No path finds any of it.').waitFor();
    const found = await it.locator('tbody td:last-child .status').allTextContents();
    assert.ok(found.length > 3, `${found.length} paths were looked at`);
    assert.deepEqual([...new Set(found)], ['nothing']);
    for (const id of [forgettable, derived]) {
      const gone = await api(`claims/${id}`);
      assert.ok(gone === 404 || gone === 410, `${id} is ${gone}`);
      await it.goto(`${url}/console/claims/${id}`);
      await it.getByRole('heading', { name: 'A forgotten claim' }).waitFor();
    }
    await it.goto(`${url}/console/claims?q=extension+4711`);
    assert.ok(!/extension 4711/.test(await it.locator('[data-region=results]').textContent()));
  });
});
