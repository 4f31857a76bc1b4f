// The whole console without a mouse.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { api, chat, desk, glance, page, start } from '../lib/workshop.js';
import { pages } from '../lib/pages.js';

const focused = (page) => page.evaluate(() => {
  const el = document.activeElement;
  return { id: el.id, key: el.dataset?.key, item: el.closest('[data-item]')?.id, tag: el.tagName.toLowerCase(), text: el.textContent?.trim().slice(0, 40) };
});

// settle waits until a form that was sent in place has been answered.
const gone = (page, item) => page.locator(`#${item}`).waitFor({ state: 'detached' });

describe('keys', { concurrency: 2 }, () => {
  test('g and a letter go to each section', async (t) => {
    const it = await desk(t, '/console/');
    for (const [key, heading] of [['s', 'Claims'], ['t', 'Turns'], ['r', 'Candidates'], ['e', 'Entities'], ['h', /.+/], ['o', 'Overview']]) {
      await it.keyboard.press('g');
      await Promise.all([it.waitForNavigation(), it.keyboard.press(key)]);
      await it.getByRole('heading', { level: 1, name: heading }).waitFor();
      assert.equal(await it.locator('nav[aria-label=Sections] a[aria-current=true]').getAttribute('data-go'), key);
    }
  });

  test('/ searches, j and k move, Enter opens', async (t) => {
    const it = await desk(t, '/console/claims');
    await it.keyboard.press('/');
    assert.equal((await focused(it)).id, 'find');
    await it.keyboard.type('jkg?/ bank');
    assert.equal(await it.locator('#find').inputValue(), 'jkg?/ bank', 'keys do nothing while one types');
    assert.equal(await it.locator('dialog[open]').count(), 0);
    await it.keyboard.press('Escape');
    assert.notEqual((await focused(it)).id, 'find');
    const items = await it.locator('[data-item]').evaluateAll((l) => l.map((e) => e.id));
    for (const [key, at] of [['j', 0], ['j', 1], ['j', 2], ['k', 1]]) {
      await it.keyboard.press(key);
      assert.equal((await focused(it)).item, items[at], key);
    }
    await Promise.all([it.waitForNavigation(), it.keyboard.press('Enter')]);
    assert.equal(`c-${new URL(it.url()).pathname.split('/').pop()}`, items[1]);
  });

  test('? lists the keys, holds the focus and gives it back', async (t) => {
    const it = await desk(t, '/console/review');
    await it.keyboard.press('j');
    const before = await focused(it);
    await it.keyboard.press('?');
    await it.getByRole('dialog', { name: 'Keys' }).waitFor();
    for (let n = 0; n < 6; n++) {
      await it.keyboard.press('Tab');
      assert.ok(await it.evaluate(() => document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)), 'the focus left the dialog');
    }
    await it.keyboard.press('a');
    assert.equal(await it.locator('[data-item]').first().count(), 1, 'a key of the page behind it did something');
    await it.keyboard.press('Escape');
    await it.locator('dialog[open]').waitFor({ state: 'detached' });
    assert.deepEqual(await focused(it), before);
  });

  test('that are switched off do nothing', async (t) => {
    const it = await desk(t, '/console/attention');
    await it.keyboard.press('?');
    await it.getByLabel('single keys do this').uncheck();
    await it.keyboard.press('Escape');
    await it.reload();
    const n = await it.locator('[data-item]').count();
    for (const key of ['j', 'v', 'h', 'd', 'g', 's', '?', '/']) await it.keyboard.press(key);
    assert.equal(await it.locator('dialog[open]').count(), 0);
    assert.equal((await focused(it)).tag, 'body');
    assert.equal(new URL(it.url()).pathname, '/console/attention');
    await it.reload();
    assert.equal(await it.locator('[data-item]').count(), n);
    await it.getByRole('button', { name: 'Keys' }).click();
    await it.getByLabel('single keys do this').check();
    await it.keyboard.press('Escape');
    await it.locator('main').focus();
    await it.keyboard.press('j');
    assert.ok((await focused(it)).item);
  });

  test('a, r, e and x decide about candidates, one after the other', async (t) => {
    const it = await desk(t, '/console/review');
    const items = await it.locator('[data-item]').evaluateAll((l) => l.map((e) => e.id));
    const [first, second, third, fourth, fifth, sixth] = items;
    const status = async (item) => (await api(`claims/${item.slice(2)}`)).status;
    await it.keyboard.press('j');
    await it.keyboard.press('a');
    await gone(it, first);
    assert.equal(await status(first), 'observed');
    assert.equal((await focused(it)).item, second);
    await it.keyboard.press('r');
    await gone(it, second);
    assert.equal(await status(second), 'disputed');
    assert.equal((await focused(it)).item, third);
    await it.keyboard.press('e');
    assert.equal((await focused(it)).tag, 'textarea');
    await it.keyboard.press('Escape');
    assert.equal((await focused(it)).item, third, 'Escape leaves the field');
    await it.keyboard.press('e');
    await it.keyboard.press('ControlOrMeta+a');
    await it.keyboard.type('All tests pass, all of the time.');
    await it.keyboard.press('Enter');
    await gone(it, third);
    assert.equal((await focused(it)).item, fourth);
    for (const item of [fourth, fifth]) {
      await it.keyboard.press('x');
      assert.ok(await it.locator(`#${item} input[data-choose]`).isChecked());
      await it.keyboard.press('j');
    }
    await it.keyboard.press('Shift+A');
    await gone(it, fourth);
    await gone(it, fifth);
    assert.deepEqual([await status(fourth), await status(fifth)], ['observed', 'observed']);
    assert.equal((await it.locator('[data-item]').first().getAttribute('id')), sixth);
  });

  test('find a wrong fact in a turn, and dispute it, from the login on', async (t) => {
    const { project, url } = await start();
    const wrong = project.claims['refund days'];
    await chat(project.keys.operator, 's-keys', 'Can only transfers be refunded that were booked, and only in full?');
    const it = await page(t, 'desktop', 'light');
    await it.goto(`${url}/console/`);
    await it.keyboard.type(project.keys.operator); // the field has the focus
    await Promise.all([it.waitForURL(`${url}/console/`), it.keyboard.press('Enter')]);
    await it.keyboard.press('g');
    await Promise.all([it.waitForURL('**/turns'), it.keyboard.press('t')]);
    await it.keyboard.press('j');
    await Promise.all([it.waitForURL('**/turns/*'), it.keyboard.press('Enter')]);
    for (let n = 0; (await focused(it)).item !== `c-${wrong}`; n++) {
      assert.ok(n < 30, 'the turn was not given it');
      await it.keyboard.press('j');
    }
    await it.keyboard.press('Tab');
    for (let n = 0; (await focused(it)).text !== 'Wrong?'; n++) {
      assert.ok(n < 10, 'it can not be disputed from here');
      await it.keyboard.press('Tab');
    }
    await it.keyboard.press('Enter');
    await it.keyboard.press('Tab');
    await it.keyboard.type('handler.Refund takes parts, too.');
    await it.keyboard.press('Enter');
    await it.locator('.did').waitFor();
    assert.equal((await api(`claims/${wrong}`)).status, 'disputed');
  });
});

// The order in which Tab goes through a page, and whether one sees where it is.
describe('Tab', { concurrency: 1 }, () => {
  for (const name of ['home', 'claims found', 'claim', 'turn', 'review', 'attention', 'session', 'entity', 'decision', 'health', 'sweeps']) {
    test(`goes through ${name} in order, and is seen`, async () => {
      const { project } = await start();
      const it = await glance(pages.find((p) => p.name === name).path(project));
      const seen = [];
      for (let n = 0; n < 25; n++) {
        await it.keyboard.press('Tab');
        const now = await it.evaluate(() => {
          const el = document.activeElement;
          const style = getComputedStyle(el);
          const all = [...document.querySelectorAll('*')];
          const box = el.getBoundingClientRect();
          return { at: all.indexOf(el), what: el.outerHTML.slice(0, 80), outline: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, on: box.bottom > 0 && box.top < innerHeight && box.width > 0, body: el === document.body };
        });
        if (now.body) break;
        assert.ok(now.outline, `one does not see that ${now.what} has the focus`);
        assert.ok(now.on, `${now.what} has the focus and is not on the screen`);
        assert.ok(seen.length === 0 || now.at > seen.at(-1), `the focus goes back to ${now.what}`);
        seen.push(now.at);
      }
      assert.ok(seen.length > 10, `${seen.length} places`);
    });
  }
});
