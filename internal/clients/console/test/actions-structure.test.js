// Entities are described, ruled, linked, renamed and merged.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, desk, did, unfold } from '../lib/workshop.js';

const actions = [
  ['is described', 'on call', 'Say what it is', async (form) => {
    await form.getByLabel('Type').selectOption('concept');
    await form.getByLabel('What it is').fill('On call: whoever has the phone this week');
  }, 'Describe', 'Described', async () => assert.equal((await api('entities/on%20call')).about, 'whoever has the phone this week')],
  ['has a rule', 'retry', 'Add a rule', (form) => form.getByLabel('Rule').fill('Never retry a refund.'), 'Add', 'Added as a rule',
    async () => assert.ok((await api('entities/retry')).constraints.some((c) => c.text === 'Never retry a refund.'))],
  ['depends on another', 'exporter', 'Add a dependency', async (form) => {
    await form.getByLabel('The other', { exact: true }).fill('postgres');
    await form.getByLabel('Strength').fill('0.7');
  }, 'Add', 'The dependency was added', async () => assert.ok((await api('entities/exporter')).dependencies.some((d) => d.name === 'postgres' && d.strength === 0.7))],
  ['has another name', 'handler', 'Another name', (form) => form.getByLabel('It is also called').fill('front door'), 'Add', 'The name was added',
    async () => assert.equal((await api('entities/front%20door')).name, 'handler')],
  ['is renamed', 'auditors', 'Rename', (form) => form.getByLabel('New name').fill('examiners'), 'Rename', 'Renamed',
    async () => {
      assert.equal((await api('entities/examiners')).name, 'examiners');
      assert.equal((await api('entities/auditors')).name, 'examiners', 'the old name keeps working');
    }],
  ['is merged into another', 'tom', 'Merge into another', (form) => form.getByLabel('The other').fill('notify'), 'Merge', 'Merged',
    async () => assert.equal((await api('entities/tom')).name, (await api('entities/notify')).name)],
];

describe('an entity', { concurrency: 2 }, () => {
  for (const [what, entity, folded, fill, press, says, check] of actions) {
    test(what, async (t) => {
      const it = await desk(t, `/console/entities/${encodeURIComponent(entity)}`);
      const form = await unfold(it.locator('[aria-labelledby=change]'), folded);
      await fill(form);
      await form.getByRole('button', { name: press, exact: true }).click();
      await did(it, says);
      await check();
    });
  }

  test('depends on another no more', async (t) => {
    const it = await desk(t, '/console/entities/settlement');
    const { dependencies } = await api('entities/settlement');
    assert.ok(dependencies.length > 0);
    const { name } = dependencies[0];
    const folded = it.getByRole('row', { name: new RegExp(name, 'i') }).first();
    const form = await unfold(folded, 'Take out');
    await form.getByRole('button', { name: 'Take out' }).click();
    await did(it, 'The dependency was removed');
    const now = await api('entities/settlement');
    assert.ok(!(now.dependencies ?? []).some((d) => d.name === name && d.type === dependencies[0].type));
  });
});
