// Who looks, at whose knowledge, in which colours.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, desk, open, page, start } from '../lib/workshop.js';

describe('a visit', { concurrency: 1 }, () => {
  test('ends with logging out', async (t) => {
    const { project, url } = await start();
    const it = await page(t, 'desktop', 'light');
    await it.goto(`${url}/console/`);
    await it.getByLabel('Key of the gateway').fill(project.keys.operator);
    await it.getByRole('button', { name: 'Log in' }).click();
    await it.getByRole('heading', { name: 'Overview' }).waitFor();
    await it.getByRole('button', { name: 'Log out' }).click();
    await it.getByLabel('Key of the gateway').waitFor();
    await it.goto(`${url}/console/claims`);
    assert.match(new URL(it.url()).pathname, /\/login$/);
  });

  test('has the colours that were chosen, on every page', async (t) => {
    const it = await desk(t, '/console/claims');
    const paper = () => it.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await paper();
    await it.getByRole('button', { name: 'Dark' }).click();
    await it.locator(':root[data-theme=dark]').waitFor({ state: 'attached' });
    assert.notEqual(await paper(), light);
    assert.equal(new URL(it.url()).pathname, '/console/claims');
    await it.getByRole('link', { name: 'Health' }).click();
    await it.getByRole('heading', { level: 1, name: /.+/ }).waitFor();
    assert.equal(await it.locator(':root').getAttribute('data-theme'), 'dark');
    await it.getByRole('button', { name: 'Auto' }).click();
    await it.locator(':root:not([data-theme])').waitFor({ state: 'attached' });
    assert.equal(await paper(), light);
  });

  test('without keys chooses whose knowledge it is about', async (t) => {
    const { project } = await open.start();
    const it = await open.page(t, 'desktop', 'light');
    await open.go(it, '/console/claims');
    assert.equal(await it.getByRole('button', { name: 'Log out' }).count(), 0);
    assert.ok(!(await it.content()).includes(project.markers.other));
    const menu = it.getByLabel('Knowledge of');
    const owners = await menu.locator('option').allTextContents();
    assert.equal(owners.length, 2);
    await menu.selectOption(owners.find((o) => o !== 'default'));
    await it.getByText(project.markers.other).first().waitFor();
    assert.ok(!(await it.content()).includes(project.markers.own));
    await it.getByLabel('Knowledge of').selectOption('default');
    await it.waitForFunction((word) => !document.body.textContent.includes(word), project.markers.other);
  });

  test('with a key of another owner changes nothing of this one', async (t) => {
    const { project, url } = await start();
    const it = await page(t, 'desktop', 'light', project.keys.other);
    await it.goto(`${url}/console/claims/new`);
    const token = await it.locator('input[name=token]').first().inputValue();
    for (const what of ['verify', 'dispute', 'forget', 'archive']) {
      const response = await it.request.post(`${url}/console/claims/${project.claims['refund days']}/${what}`, { form: { token, reason: 'x' }, maxRedirects: 0 });
      assert.equal(response.status(), 404, what);
    }
    assert.equal((await api(`claims/${project.claims['refund days']}`)).status, 'observed');
  });
});
