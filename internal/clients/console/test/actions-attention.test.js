// What needs attention is settled, each kind of it in its own way.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostile } from '../lib/watch.js';
import { api, desk, start, unfold } from '../lib/workshop.js';

// item is what the queue has of a kind, about a claim, if it is about one.
async function item(event, claim) {
  const { project } = await start();
  const { attention } = await api('attention');
  const found = attention.find((i) => i.event === event && (!claim || i.claims.includes(project.claims[claim])));
  assert.ok(found, `nothing is ${event}`);
  return found.id;
}

const claim = async (name) => api(`claims/${(await start()).project.claims[name]}`);
const button = (within, name) => within.getByRole('button', { name });

// What is done, to which item, how, and how it is seen afterwards.
const actions = [
  ['a claim is verified', 'disputed', 'disputed', (it) => button(it, /It holds: verify/).click(),
    async () => assert.equal((await claim('disputed')).status, 'verified')],
  ['one of two stands, and replaces the other', 'contradicts', 'mail queued', (it) => button(it, /^B stands/).click(),
    async () => {
      const [a, b] = [await claim('mail inline'), await claim('mail queued')];
      assert.deepEqual([a.status, a.superseded_by], ['superseded', b.id]);
    }],
  ['what was replaced is restored', 'superseded', 'timeout sure', async (it) => {
    const form = await unfold(it, 'Restore the old one');
    await form.getByLabel('What you checked').fill('bank.Timeout is five seconds');
    await button(form, 'Restore').click();
  }, async () => {
    const now = await api(`claims/${(await claim('timeout maybe')).superseded_by}`);
    assert.equal(now.text, 'One call to the bank may take five seconds.');
  }],
  ['what nobody is sure of is discarded', 'unsure', 'unsure', (it) => button(it, /Discard/).click(),
    async () => assert.equal((await claim('unsure')).status, 'disputed')],
  ['what was refused is written', 'rejected', undefined, async (it) => {
    const form = await unfold(it, 'Write it as a claim');
    await form.getByLabel('What is true').fill('The bank is right about amounts.');
    await button(form, 'Write it').click();
  }, async () => {
    const { claims } = await api('claims?limit=5');
    assert.ok(claims.some((c) => c.text === 'The bank is right about amounts.'));
  }],
  ['a claim is disputed as an agent asks', 'dispute_requested', 'hot deploys', async (it) => {
    const form = await unfold(it, 'Dispute');
    await button(form, 'Dispute').click();
  }, async () => assert.equal((await claim('hot deploys')).status, 'disputed')],
  ['a request is turned down', 'forget_requested', 'hostile closing', (it) => button(it, /Turn down/).click(),
    async () => assert.equal((await claim('hostile closing')).status, 'observed')],
];

describe('attention', { concurrency: 1 }, () => {
  for (const [what, event, about, act, check] of actions) {
    test(what, async (t) => {
      const id = await item(event, about);
      const it = await desk(t, '/console/attention');
      await act(it.locator(`#i-${id}`));
      await it.locator(`#i-${id}`).waitFor({ state: 'detached' });
      await check();
      assert.ok(!(await api('attention')).attention.some((i) => i.id === id));
      assert.deepEqual(await hostile(it), []);
    });
  }

  test('what was dismissed can be seen', async (t) => {
    const it = await desk(t, '/console/attention');
    await it.getByRole('link', { name: 'Show dismissed items' }).click();
    await it.locator('[data-item]', { hasText: 'dismissed' }).first().waitFor();
  });

  test('what is to be forgotten leads to what would go with it', async (t) => {
    const it = await desk(t, '/console/attention');
    await it.locator(`#i-${await item('forget_requested', 'forgettable')}`).getByRole('link', { name: /See what would be forgotten/ }).click();
    await button(it, 'Forget 2 claims for good').waitFor();
  });

  test('a group is settled at once', async (t) => {
    const it = await desk(t, '/console/attention');
    await it.getByRole('navigation', { name: 'Reason' }).getByRole('link', { name: /^asked to forget/ }).click();
    await button(it, /Dismiss chosen/).waitFor();
    const n = await it.locator('[data-item]').count();
    assert.ok(n > 0);
    await it.getByLabel('choose all on this page').check();
    await it.getByText(`${n} chosen`).waitFor();
    await button(it, /Dismiss chosen/).click();
    await it.locator('.did', { hasText: 'Decided.' }).waitFor();
    assert.ok(!(await api('attention')).attention.some((i) => i.event === 'forget_requested'));
    assert.deepEqual(await hostile(it), []);
  });
});
