// Changes by other programs appear on the page without a reload, and do not disturb the user.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { axe } from '../lib/axe.js';
import { furnished } from '../lib/rig.js';
import { layoutShift, noHostile } from '../lib/watch.js';
import { api, chat, desk, open, start } from '../lib/workshop.js';

const ask = 'How often are calls to the bank made?';

// learn writes a claim as an agent's program does.
async function learn(text, more) {
  const found = await api('claims', 'POST', { text, evidence: [{ kind: 'file', path: 'docs/api.md' }], ...more });
  assert.ok(found?.id ?? found?.claim?.id, JSON.stringify(found));
  return found.id ?? found.claim.id;
}

// following waits until a page follows changes, and marks it, so that one sees whether it
// was loaded again.
async function following(page) {
  await page.evaluate(() => { window.stays = true; });
  await page.locator(':root[data-live=yes]').waitFor({ state: 'attached' });
}

// undisturbed fails if a page was loaded again, moved, or did anything that it should not.
async function undisturbed(page) {
  assert.ok(await page.evaluate(() => window.stays), 'the page was loaded again');
  await layoutShift(page);
  await noHostile(page);
}

describe('what happens elsewhere', { concurrency: 2 }, () => {
  test('a turn is among the turns, where one reads', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/turns');
    await following(it);
    const reads = it.locator('[data-item]').nth(6);
    const id = await reads.getAttribute('id');
    await reads.locator('a').first().focus();
    await reads.evaluate((e) => scrollTo(0, e.offsetTop - 300));
    const top = () => it.locator(`#${id}`).evaluate((e) => e.getBoundingClientRect().top);
    const before = await top();
    const turn = await chat(project.keys.operator, 's-live-1', ask);
    await it.locator(`#t-${turn}`).waitFor({ state: 'attached' });
    assert.equal(await it.evaluate(() => document.activeElement.closest('[data-item]')?.id), id, 'the focus is lost');
    assert.ok(Math.abs((await top()) - before) < 2, `what one reads moved by ${(await top()) - before} pixels`);
    await undisturbed(it);
  });

  test('a turn comes while one types', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/turns');
    await following(it);
    await it.keyboard.press('/');
    await it.keyboard.type('half a wo');
    const turn = await chat(project.keys.operator, 's-live-2', ask);
    await it.locator(`#t-${turn}`).waitFor({ state: 'attached' });
    await it.keyboard.type('rd');
    assert.equal(await it.locator('#find').inputValue(), 'half a word');
    await undisturbed(it);
  });

  test('a turn is on the overview', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/');
    await following(it);
    const turn = await chat(project.keys.operator, 's-live-3', ask);
    await it.locator(`[data-region=turns] a[href$="${turn}"]`).waitFor();
    await undisturbed(it);
  });

  test('a turn is on the page of the claim that it was given', async (t) => {
    const { project } = await start();
    const it = await desk(t, `/console/claims/${project.claims['retry three']}`);
    await following(it);
    const turn = await chat(project.keys.operator, 's-live-4', ask);
    await it.locator(`[data-region=shown] a[href*="${turn}"]`).waitFor();
    await undisturbed(it);
  });

  test('a form that one fills in stays as it is', async (t) => {
    const { project } = await start();
    const id = project.claims['retry three'];
    const it = await desk(t, `/console/claims/${id}`);
    await following(it);
    await it.keyboard.press('d');
    await it.keyboard.type('The log says');
    await learn('A claim that comes meanwhile.');
    const turn = await chat(project.keys.operator, 's-live-5', ask);
    await it.locator(`[data-region=shown] a[href*="${turn}"]`).waitFor();
    await it.keyboard.type(' twice');
    assert.equal(await it.locator('#dispute-reason').inputValue(), 'The log says twice');
    await undisturbed(it);
  });

  test('a claim is among the claims, and in what one searches', async (t) => {
    const it = await desk(t, '/console/claims');
    await following(it);
    const first = await learn('Zebras cross the street in front of the bank.');
    await it.locator(`#c-${first}`).waitFor();
    await undisturbed(it);
    await it.locator('#search').click();
    await it.keyboard.type('zebras cross');
    await it.waitForURL('**/claims?q=zebras+cross');
    const second = await learn('Zebras cross the bridge in the evening.');
    await it.locator(`#c-${second}`).waitFor();
    await it.keyboard.type(' th');
    assert.equal(await it.locator('#search').inputValue(), 'zebras cross th');
    assert.equal(await it.evaluate(() => document.activeElement.id), 'search');
  });

  test('a candidate is counted and listed', async (t) => {
    const it = await desk(t, '/console/review');
    await following(it);
    const badge = it.locator('nav[aria-label=Sections] .tabs .badge').first();
    const before = parseInt(await badge.textContent(), 10);
    const id = await learn('The bank may like zebras.', { status: 'hypothesis' });
    await it.locator(`#c-${id}`).waitFor();
    await badge.filter({ hasText: new RegExp(`^${before + 1}\\D`) }).waitFor();
    await undisturbed(it);
  });
});

describe('a page that follows', { concurrency: 1 }, () => {
  // A browser without a window hides no page, so the page is told that it is hidden.
  const hide = (page, hidden) => page.evaluate((now) => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: now });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

  test('holds no connection while it is hidden, and catches up', async (t) => {
    const { project } = await start();
    const it = await desk(t, '/console/turns');
    await following(it);
    const streams = [];
    it.on('request', (r) => { if (r.resourceType() === 'eventsource') streams.push(r); });
    const ended = it.waitForEvent('requestfailed', (r) => r.resourceType() === 'eventsource');
    await hide(it, true);
    await ended;
    const turn = await chat(project.keys.operator, 's-live-6', ask);
    assert.deepEqual([await it.locator(`#t-${turn}`).count(), streams.length], [0, 0]);
    await hide(it, false);
    await it.locator(`#t-${turn}`).waitFor();
    assert.equal(streams.length, 1);
  });

  test('follows again when the server has restarted', async (t) => {
    const site = await open.start();
    const it = await open.page(t, 'desktop', 'light');
    await open.go(it, '/console/claims');
    await following(it);
    await site.restart(async () => {
      await it.locator(':root[data-live=no]').waitFor({ state: 'attached' });
      await it.locator('#stale').waitFor(); // it says so
      await axe(it);
    });
    await it.locator(':root[data-live=yes]').waitFor({ state: 'attached', timeout: 20_000 });
    const response = await fetch(`${site.url}/api/claims`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text: 'The server was started again.', evidence: [{ kind: 'file', path: 'docs/api.md' }] }) });
    assert.ok(response.ok, await response.clone().text());
    await it.getByText('The server was started again.').first().waitFor();
    assert.ok(await it.locator('#stale').isHidden());
    assert.ok(await it.evaluate(() => window.stays), 'the page was loaded again');
  });

  // A proxy answers while the server restarts. The browser then gives up the stream for good.
  test('follows again when its stream was refused', async (t) => {
    await open.start();
    const it = await open.page(t, 'desktop', 'light');
    let refused = 0;
    await it.route('**/console/events?*', (route) => (refused++ ? route.continue() : route.fulfill({ status: 503, contentType: 'text/html', body: 'restarting' })));
    await open.go(it, '/console/claims');
    await it.locator(':root[data-live=yes]').waitFor({ state: 'attached' });
    assert.equal(refused, 2);
  });

  test('says that the visit has ended', async (t) => {
    const own = furnished();
    const { project, restart } = await own.start();
    const it = await own.page(t, 'phone', 'dark', project.keys.operator);
    await own.go(it, '/console/turns');
    await following(it);
    await restart();
    await it.locator('#ended').waitFor();
    await axe(it);
    await it.getByRole('link', { name: 'Log in again' }).click();
    await it.waitForURL(/\/console\/login\?.*next=%2Fconsole%2Fturns/);
  });
});
