// Everything works without the script.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, did, page, start, unfold } from '../lib/workshop.js';

// plain opens a path in a browser that runs no script.
async function plain(t, path) {
  const { project, url } = await start();
  const it = await page(t, 'phone', 'light', project.keys.operator, { javaScriptEnabled: false });
  await it.goto(url + path);
  return it;
}

describe('without a script', { concurrency: 2 }, () => {
  test('one searches and narrows down', async (t) => {
    const it = await plain(t, '/console/claims');
    await it.locator('#search').fill('the ledger');
    await it.getByRole('button', { name: 'Search' }).click();
    await it.waitForURL('**/claims?q=the+ledger');
    const found = await it.locator('[data-region=results] [data-item]').count();
    assert.ok(found > 2, `${found} claims`);
    const facet = it.locator('#narrow a:not([aria-current])', { hasText: 'Verified' }).first();
    const folded = it.locator('#narrow details', { has: it.locator('a', { hasText: 'Verified' }) }).first();
    if (!(await facet.isVisible())) await folded.locator('summary').click();
    await facet.click();
    await it.locator('.list-head a.tag').first().waitFor();
    const tiers = await it.locator('[data-region=results] [data-item] .tier').allTextContents();
    assert.ok(tiers.length > 0 && tiers.length < found, `${tiers.length} of ${found} claims`);
    assert.ok(new URL(it.url()).searchParams.get('q') === 'the ledger', 'the question stays');
  });

  test('one approves a candidate, and many', async (t) => {
    const { project } = await start();
    const { hypothesis: one, demoted: two } = project.claims;
    const it = await plain(t, '/console/review');
    await it.locator(`#c-${one}`).getByRole('button', { name: 'Approve' }).click();
    await did(it, 'Approved');
    assert.equal((await api(`claims/${one}`)).status, 'observed');
    await it.locator(`#c-${two}`).getByRole('checkbox').check();
    await it.getByRole('button', { name: 'Reject chosen' }).click();
    await it.locator('.did').waitFor();
    assert.equal((await api(`claims/${two}`)).status, 'disputed');
  });

  test('one disputes a claim', async (t) => {
    const { project } = await start();
    const it = await plain(t, `/console/claims/${project.claims.finding}`);
    const form = await unfold(it, 'Dispute');
    await form.getByLabel('What contradicts it?').fill('It took a minute.');
    await form.getByRole('button', { name: 'Dispute' }).click();
    await did(it, 'Disputed');
    assert.equal((await api(`claims/${project.claims.finding}`)).status, 'disputed');
  });

  test('one forgets a claim', async (t) => {
    const { project } = await start();
    const id = project.claims['expires soon'];
    const it = await plain(t, `/console/claims/${id}`);
    await it.getByRole('link', { name: 'Forget…' }).click();
    await it.getByRole('button', { name: /^Forget .* for good$/ }).click();
    await it.locator('main .note').first().waitFor();
    assert.match(await it.locator('main').innerText(), /No path finds any of it/);
    assert.ok([404, 410].includes(await api(`claims/${id}`)));
  });

  test('the whole of a page can be reached: nothing is hidden that only a script shows', async (t) => {
    const { project } = await start();
    for (const path of ['/console/', '/console/review', '/console/attention', `/console/turns/${project.turns['today 2']}`]) {
      const it = await plain(t, path);
      const dead = await it.locator('main button:visible:not([type=submit]):not(form button):not([form])').allTextContents();
      assert.deepEqual(dead, [], path);
    }
  });
});
