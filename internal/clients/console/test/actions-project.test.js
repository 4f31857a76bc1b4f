// Decisions and objectives are changed in the files of the project.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { desk, did, start, unfold } from '../lib/workshop.js';

// decisionFile is the text of a decision's file.
async function decisionFile(number) {
  const folder = join((await start()).project.dir, 'docs/decisions');
  const name = (await readdir(folder)).find((f) => f.startsWith(number));
  return readFile(join(folder, name), 'utf8');
}

describe('a decision', { concurrency: 1 }, () => {
  test('is deprecated', async (t) => {
    const it = await desk(t, '/console/decisions/ADR-0003');
    await it.getByRole('button', { name: 'Deprecate' }).click();
    await did(it, 'The status was changed');
    assert.match(await decisionFile('0003'), /^status: deprecated$/m);
    assert.equal(await it.locator('.head .status').textContent(), 'deprecated');
  });

  test('is written, and accepted', async (t) => {
    const it = await desk(t, '/console/decisions');
    await it.getByRole('link', { name: 'Write a decision' }).click();
    await it.getByLabel('Title', { exact: true }).fill('Keep <b>letters</b> for a year');
    await it.getByLabel('Context').fill('People ask for them.');
    await it.getByLabel('Decision', { exact: true }).fill('Letters are kept for a year.');
    await it.getByRole('button', { name: 'Write it' }).click();
    await did(it, 'Written into the project');
    assert.match(await decisionFile('0007'), /Keep .*letters.* for a year/);
    await it.getByRole('button', { name: 'Accept' }).click();
    await did(it, 'The status was changed');
    assert.match(await decisionFile('0007'), /^status: accepted$/m);
  });

  test('is superseded by another', async (t) => {
    const it = await desk(t, '/console/decisions/ADR-0006');
    const form = await unfold(it, 'Supersede');
    await form.getByLabel('by the decision').fill('ADR-0007');
    await form.getByRole('button', { name: 'Supersede' }).click();
    await did(it, 'Superseded');
    assert.match(await decisionFile('0006'), /^status: superseded by .*ADR-0007/m);
    assert.equal(await it.locator('.head .status').textContent(), 'superseded');
  });
});

describe('an objective', { concurrency: 1 }, () => {
  test('is set, its tasks are done, and it is reached', async (t) => {
    const it = await desk(t, '/console/objectives');
    await it.getByRole('link', { name: 'Set an objective' }).click();
    await it.getByLabel('The goal').fill('Letters in plain text');
    await it.getByLabel('Tasks, one per line').fill('Ask Tom\nChange the template');
    await it.getByRole('button', { name: 'Set it' }).click();
    await did(it, 'Written into the project');
    const path = it.url();
    await it.getByLabel('Another task').fill('Tell everybody');
    await it.getByRole('button', { name: 'Add', exact: true }).click();
    await did(it, 'Added');
    await it.getByRole('button', { name: 'Done' }).first().click();
    await did(it, 'Done');
    await it.locator('progress[value="1"][max="3"]').waitFor();
    assert.ok(await it.evaluate(() => document.activeElement.closest('[data-item]')?.id === 'task-2'), 'the next task has the focus');
    await it.getByRole('button', { name: 'Reached' }).click();
    await did(it, 'The status was changed');
    await it.goto(path);
    assert.equal(await it.locator('.head .status').textContent(), 'done');
    await it.locator('progress[value="1"][max="3"]').waitFor();
  });
});
