// Texts that do something when a page believes them, where a furnished project has none:
// in files, on the labels of graphs, in what is typed, in what comes by itself.

import assert from 'node:assert/strict';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { noHostile } from '../lib/watch.js';
import { api, chat, desk, glance, go, start, unfold } from '../lib/workshop.js';

const bad = `<img src=x onerror=window.pwned=1>"'><script>window.pwned=1</script>{{.}}\${window.pwned=1}`;
const label = '<svg onload=window.pwned=1>'; // what an entity's name may be
const yaml = (text) => `'${text.replaceAll("'", "''")}'`;

// shown fails if a page does not say what it should, or does what it should not.
async function shown(page, text = 'window.pwned=1') {
  const says = await page.locator('main').evaluate((e) => e.innerText);
  assert.ok(says.includes(text), `one can not read ${text}`);
  await noHostile(page);
}

describe('hostile texts', { concurrency: 1 }, () => {
  before(async () => {
    const { project } = await start();
    const decisions = join(project.dir, 'docs/decisions');
    await writeFile(join(decisions, '0666-bad.md'), `---\nstatus: accepted\ndate: 2026-01-01\ndeciders: [${yaml(bad)}]\ntags: [${yaml(bad)}]\ngoverns: [${yaml(bad)}]\nnote: ${yaml(bad)}\n---\n# ${bad}\n\n## Context\n\n${bad}\n\n[x](javascript:window.pwned=1)\n\n## Decision\n\n${bad}\n\n## ${bad}\n\n${bad}\n`);
    const objectives = join(project.dir, '.ken/knowledge/objectives');
    await writeFile(join(objectives, 'OBJ-0666.yaml'), `id: OBJ-0666\ntitle: ${yaml(bad)}\nstatus: active\nowner: ${yaml(bad)}\ndescription: ${yaml(bad)}\ntags: [${yaml(bad)}]\ntasks:\n  - text: ${yaml(bad)}\n`);
    const sweeps = join(project.dir, '.ken/state/sweeps');
    await copyFile(join(sweeps, 'keyword.json'), join(sweeps, '<img src=x onerror=window.pwned=1>.json'));
    for (const [source, target] of [['payments', label], [label, project.hostile.entity]]) {
      const added = await api('dependencies', 'POST', { source, target, type: 'requires', strength: 0.9 });
      assert.equal(typeof added, 'object', `the dependency was not added: ${added}`);
    }
  });

  test('in a decision', async () => {
    const it = await glance('/console/decisions/ADR-0666');
    await shown(it, '<img src=x onerror=window.pwned=1>');
    assert.equal(await it.locator('main a[href^="javascript:" i]').count(), 0);
  });

  test('in the list of decisions', async () => shown(await glance('/console/decisions?q=pwned')));

  test('in an objective', async (t) => {
    const files = await readdir(join((await start()).project.dir, '.ken/knowledge/objectives'));
    const it = await desk(t, '/console/objectives');
    await shown(it);
    await it.getByRole('link', { name: /onerror/ }).first().click();
    await it.locator('.tasks').waitFor();
    await shown(it);
    assert.ok(files.length > 3);
  });

  test('in the name of a report', async (t) => {
    const it = await desk(t, '/console/sweeps');
    await shown(it);
    await it.getByRole('checkbox', { name: /onerror/ }).check();
    await it.getByRole('button', { name: 'Show side by side' }).click();
    await it.waitForURL(/[?&]r=/);
    await shown(it);
  });

  test('on the labels of a graph', async () => {
    const { project } = await start();
    for (const entity of ['payments', label, project.hostile.entity]) {
      const it = await glance(`/console/entities/${encodeURIComponent(entity)}`);
      const labels = await it.locator('#around .drawn-graph').evaluate((e) => e.textContent);
      assert.match(labels, /svg onload|img src/i, entity);
      await shown(it);
    }
  });

  test('in what one types, and in what is found', async (t) => {
    const it = await desk(t, '/console/claims');
    for (const [path, expect] of [['claims', true], ['entities', true], ['files', true], ['decisions', true]]) {
      await go(it, `/console/${path}`);
      await it.locator('#search').click();
      await it.keyboard.type('pwned');
      await it.waitForURL(/q=pwned$/);
      if (expect) await it.locator('[data-item]').first().waitFor();
      await noHostile(it);
      await it.locator('#search').fill(bad);
      await it.waitForURL(/onerror/);
      await noHostile(it);
      assert.equal(await it.locator('#search').inputValue(), bad);
    }
  });

  test('in what comes by itself', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/');
    await it.locator(':root[data-live=yes]').waitFor({ state: 'attached' });
    const text = `${bad} is the answer`;
    await api('claims', 'POST', { text, heading: bad, evidence: [{ kind: 'file', path: 'docs/api.md' }], tags: ['<b>x</b>'] });
    await it.locator('[data-region=learned]', { hasText: 'onerror' }).waitFor();
    const turn = await chat(project.keys.operator, `s-${label}`, `What is ${bad}?`, label);
    await it.locator(`[data-region=turns] a[href$="${turn}"]`).waitFor();
    await shown(it);
    await go(it, `/console/turns/${turn}`);
    await shown(it, label);
  });

  test('in a candidate that is edited, and in a reason', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/review');
    const item = it.locator(`#c-${project.claims['hostile pattern']}`);
    await shown(it);
    const form = await unfold(item, 'Edit');
    await form.getByLabel('What it should say').fill(`${bad} works`);
    await form.getByRole('button', { name: 'Save and approve' }).click();
    await item.waitFor({ state: 'detached' });
    await noHostile(it);
    await go(it, `/console/claims/${project.claims['hostile script']}`);
    await (await unfold(it, 'Dispute')).getByLabel('What contradicts it?').fill(bad);
    await it.getByRole('button', { name: 'Dispute', exact: true }).last().click();
    await it.locator('.did').waitFor();
    await it.locator('.timeline', { hasText: 'onerror' }).waitFor();
    await noHostile(it);
  });

  for (const path of ['review', 'attention?all=1', 'turns', 'sessions', 'agents', 'changes', 'files', 'tasks', 'drift', 'jobs?state=dead', 'health', 'claims?q=pwned', 'try']) {
    test(`on ${path}`, async () => noHostile(await glance(`/console/${path}`)));
  }
});
