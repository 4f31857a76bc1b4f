// What another owner and a reader see, on every page.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostilePages, pages } from '../lib/pages.js';
import { api, look, start } from '../lib/rig.js';
import { hostile } from '../lib/watch.js';

// Pages for operators only: they show the conversations of all visitors.
const operators = ['sessions', 'jobs'];

// Pages about one item of this owner: no other owner finds them.
const owned = /^(claim|turn|session|hostile (?!turns|search|agent|entit|file|narrowing|problem))(?!s)/;

// other asks for pages with the cookie of another owner, without a look at them.
let asking;
async function other() {
  asking ??= (await look('desktop', 'light', (await start()).project.keys.other, '/console/entities')).request;
  return asking;
}

describe('with a key of another owner', { concurrency: 1 }, () => {
  for (const p of [...pages, ...hostilePages]) {
    test(`${p.name} tells nothing`, async () => {
      const { project, url } = await start();
      const response = await (await other()).get(url + p.path(project));
      if (owned.test(p.name)) assert.equal(response.status(), 404);
      else assert.ok(response.status() < 500, `${response.status()}`);
      const content = await response.text();
      // The message that an item does not exist may contain the name from the address.
      const told = [project.markers.own, 'Ana ', 'agent-build', 'Calls to the bank are made three times'].filter((word) => content.includes(word) && !p.path(project).includes(word));
      assert.deepEqual(told, []);
    });
  }

  test('the search finds nothing of this one, however it is asked', async () => {
    const { project } = await start();
    for (const question of [project.markers.own, project.claims['retry three'], 'Calls to the bank are made three times', 'quill']) {
      const it = await look('desktop', 'light', project.keys.other, `/console/claims?q=${encodeURIComponent(question)}`);
      const found = await it.locator('[data-item]').evaluateAll((list) => list.map((e) => e.id.slice(2)));
      assert.deepEqual((await Promise.all(found.map((id) => api(`claims/${id}`)))).filter((answer) => answer !== 404), [], question);
    }
  });
});

describe('with a key that may read', { concurrency: 1 }, () => {
  for (const p of pages) {
    test(`${p.name} has nothing to press`, async () => {
      const { project } = await start();
      const barred = operators.includes(p.name);
      const it = await look('desktop', 'light', project.keys.reader, p.path(project), barred ? 403 : 200);
      const posts = await it.locator('form[method=post]').evaluateAll((list) => list.map((f) => new URL(f.action).pathname));
      // Every visitor may log out and choose colours.
      assert.deepEqual(posts.filter((path) => !/\/(logout|theme)$/.test(path)), []);
      const buttons = await it.locator('main button:visible').allTextContents();
      assert.deepEqual(buttons.filter((text) => !/^(Search|Find|Explain|Show|Compare|Show side by side|Look)/.test(text.trim())), []);
      assert.equal(await it.locator('main [data-key]').count(), 0, 'a key decides something');
      assert.deepEqual(await hostile(it), []);
    });
  }

  test('no change is made, though one asks for it', async () => {
    const { project, url } = await start();
    const it = await look('desktop', 'light', project.keys.reader, '/console/claims');
    const id = project.claims['refund days'];
    const before = await api(`claims/${id}`);
    for (const path of [`claims/${id}/verify`, `claims/${id}/forget`, 'claims', 'review', 'decisions', 'objectives', 'entities', 'jobs/retry', 'sessions/s-mail/forget', 'owner']) {
      const response = await it.request.post(`${url}/console/${path}`, { form: { text: 'x', reason: 'x', claim: id, decision: 'approve' }, maxRedirects: 0 });
      assert.equal(response.status(), 403, path);
    }
    assert.deepEqual(await api(`claims/${id}`), before);
  });
});
