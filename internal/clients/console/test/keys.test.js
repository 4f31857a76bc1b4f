// Who may see and do what, and that a turn is there as soon as it happened.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { axe } from '../lib/axe.js';
import { pages } from '../lib/pages.js';
import { chat, go, page, start } from '../lib/rig.js';
import { layoutShift, noHostile } from '../lib/watch.js';

describe('keys', { concurrency: 2 }, () => {
  test('the provider answers through the gateway, and a reader may not ask it', async () => {
    const { project, url } = await start();
    const turn = await chat(project.keys.operator, 's-rig', 'How often are calls to the bank made?');
    // A receipt is there a moment after its turn.
    const kept = async () => (await fetch(`${url}/api/turns/${turn}`, { headers: { 'x-ken-key': project.keys.operator } })).status;
    for (let n = 0; (await kept()) !== 200; n++) {
      assert.ok(n < 100, 'the turn has no receipt');
      await setTimeout(50);
    }
    await assert.rejects(chat(project.keys.reader, 's-rig', 'And for me?'), /403/);
  });

  test('whoever has no key sees the login page alone', async (t) => {
    const { project, url } = await start();
    const it = await page(t, 'desktop', 'light');
    for (const p of pages) {
      const response = await it.request.get(url + p.path(project));
      assert.match(new URL(response.url()).pathname, /\/login$/, p.name);
      assert.ok(!(await response.text()).includes(project.markers.own), p.name);
    }
  });

  for (const [kind, scheme] of [['desktop', 'light'], ['phone', 'dark']]) {
    test(`the login page, ${kind}, ${scheme}`, async (t) => {
      const { url } = await start();
      const it = await page(t, kind, scheme);
      await it.goto(`${url}/console/login`);
      await noHostile(it);
      await axe(it);
      await layoutShift(it);
    });
  }

  test('a key that nobody has is refused', async (t) => {
    const { url } = await start();
    const it = await page(t, 'desktop', 'light');
    await it.goto(`${url}/console/login`);
    await it.fill('input[name=key]', 'ken_not-one');
    const [response] = await Promise.all([it.waitForNavigation(), it.press('input[name=key]', 'Enter')]);
    assert.equal(response.status(), 401);
    await it.getByRole('alert').waitFor();
    await it.goto(`${url}/console/claims`);
    assert.match(new URL(it.url()).pathname, /\/login$/);
  });

  test('a key leads to where one wanted to go', async (t) => {
    const { project, url } = await start();
    const it = await page(t, 'desktop', 'light');
    await it.goto(`${url}/console/claims?q=bank`);
    await it.fill('input[name=key]', project.keys.reader);
    await it.press('input[name=key]', 'Enter');
    await it.waitForURL(`${url}/console/claims?q=bank`);
  });

  test("another owner's key shows another owner's knowledge", async (t) => {
    const { project } = await start();
    const it = await page(t, 'desktop', 'light', project.keys.other);
    await go(it, '/console/claims');
    assert.ok((await it.content()).includes(project.markers.other));
    assert.ok(!(await it.content()).includes(project.markers.own));
  });

  test('a form of another site changes nothing', async (t) => {
    const { project, url } = await start();
    const it = await page(t, 'desktop', 'light', project.keys.operator);
    const response = await it.context().request.post(`${url}/console/claims/${project.claims.today}/verify`, {
      form: { reason: 'x' },
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      maxRedirects: 0,
    });
    assert.equal(response.status(), 403);
  });

  test('a turn that goes through the gateway shows by itself', async (t) => {
    const { project } = await start();
    const it = await page(t, 'desktop', 'light', project.keys.operator);
    await go(it, '/console/turns');
    const turn = await chat(project.keys.operator, 's-live', 'How often are calls to the bank made?');
    await it.locator(`a[href*="${turn}"]`).first().waitFor();
    await noHostile(it);
  });
});
