// Sessions end, are harvested and forgotten; jobs that were given up on run again.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, chat, desk, did, start, unfold } from '../lib/workshop.js';

describe('a session', { concurrency: 2 }, () => {
  test('ends, and is harvested', async (t) => {
    const { project } = await start();
    await chat(project.keys.operator, 's-ends', 'Remember that the bank closes its books on 30 June.');
    const it = await desk(t, '/console/sessions/s-ends');
    await it.getByRole('button', { name: 'End and harvest' }).click();
    await did(it, 'Ended');
    const s = await api('sessions/s-ends');
    assert.notEqual(s.state, 'open');
    // What a harvest does in the background shows by itself.
    await it.locator('.head .status', { hasText: 'harvested' }).waitFor();
  });

  test('is harvested again', async (t) => {
    const before = await api('sessions/s-mail');
    const it = await desk(t, '/console/sessions/s-mail');
    await it.getByRole('button', { name: 'Harvest again' }).click();
    await did(it, 'Harvested again');
    const after = await api('sessions/s-mail');
    assert.equal(after.state, 'harvested');
    assert.notEqual(after.harvested, before.harvested);
  });

  test('is forgotten once by a double click', async (t) => {
    const it = await desk(t, '/console/sessions/s-settlement');
    const form = await unfold(it, 'Forget…');
    await it.evaluate(() => {
      window.sent = 0;
      window.addEventListener('submit', (e) => {
        if (!e.defaultPrevented) window.sent++;
        e.preventDefault(); // the page stays, as while the server works
      });
    });
    await form.getByRole('button', { name: 'Forget the session for good' }).dblclick();
    assert.equal(await it.evaluate(() => window.sent), 1);
  });

  test('is forgotten', async (t) => {
    const it = await desk(t, '/console/sessions/s-latency');
    const form = await unfold(it, 'Forget…');
    await form.getByRole('button', { name: 'Forget the session for good' }).click();
    await did(it, 'Forgotten');
    assert.equal(await api('sessions/s-latency/messages'), 404);
    assert.ok(!(await api('turns?session=s-latency')).turns?.length, 'its receipts are gone');
  });

  test('of which the harvest was given up on is tried again', async (t) => {
    const it = await desk(t, '/console/jobs');
    const row = it.locator('[data-item]', { hasText: 's-lost' });
    const id = (await row.getAttribute('id')).slice(2);
    const before = await api(`jobs/${id}`);
    assert.equal(before.state, 'dead');
    await row.getByRole('button', { name: 'Run again' }).click();
    await it.getByText('It runs again.').first().waitFor();
    const after = await api(`jobs/${id}`);
    assert.ok(after.state !== 'dead' || after.attempts > before.attempts || after.finished !== before.finished, `${after.state}, ${after.attempts} attempts`);
  });
});
