// The rig itself: that each of its checks can fail. A small server plays a console that
// does everything wrong, one thing a page.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { violations } from '../lib/axe.js';
import * as browser from '../lib/browser.js';
import { hands } from '../lib/hands.js';
import { hostile, requests, shifts, watch } from '../lib/watch.js';

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types ken";

const shell = (body, head = '') =>
  `<!doctype html><html lang="en"><title>a page</title><meta name="viewport" content="width=device-width">${head}<main><h1>A page</h1>${body}</main></html>`;

const bad = {
  '/good': [shell('<p>Nothing is wrong.</p>'), policy],
  '/inline': [shell('<script>window.pwned=1</script>'), policy],
  '/ran': [shell('<script>window.pwned=1</script>'), ''],
  '/elsewhere': [shell('<img alt="" src="http://evil.example/x.png">'), ''],
  '/throws': [shell('<script>throw new Error("oh")</script>'), ''],
  '/alert': [shell('<script>setTimeout(() => alert("hello"))</script>'), ''],
  '/missing': [shell('<img alt="" src="/none.png">'), policy],
  '/moves': [shell('<p id="p">down</p><script>requestAnimationFrame(() => requestAnimationFrame(() => { const d = document.createElement("div"); d.style.height = "400px"; document.querySelector("h1").before(d); }))</script>'), ''],
  '/pale': [shell('<p style="color:#bbb;background:#fff">pale</p><input>'), ''],
  '/count': [shell('<button id="b" type="button">more</button><input aria-label="x" id="i">'), policy],
};

describe('the rig', () => {
  let server;
  let origin;
  before(async () => {
    server = createServer((request, response) => {
      const found = bad[request.url];
      response.writeHead(found ? 200 : 404, { 'content-type': 'text/html; charset=utf-8', ...(found?.[1] ? { 'content-security-policy': found[1] } : {}) });
      response.end(found?.[0] ?? '');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${server.address().port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
  });

  const open = async (t, path, kind = 'desktop') => {
    const context = await browser.context(kind, 'light');
    t.after(() => context.close());
    const page = await watch(await context.newPage(), origin);
    await page.goto(origin + path);
    await browser.drawn(page);
    await browser.drawn(page);
    return page;
  };

  test('finds nothing where nothing is wrong', async (t) => {
    const page = await open(t, '/good', 'phone');
    assert.deepEqual([await hostile(page), await violations(page), await shifts(page)], [[], [], []]);
    assert.deepEqual(await hostile(page), [], 'axe did something');
    assert.equal(await page.evaluate(() => innerWidth), 390);
    assert.deepEqual(requests(page), [`${origin}/good`]);
  });

  for (const [path, what] of [
    ['/inline', /against its policy: script-src/],
    ['/ran', /a script in what it shows has run/],
    ['/elsewhere', /it asked http:\/\/evil\.example/],
    ['/throws', /a script failed: oh/],
    ['/alert', /it opened a dialog: hello/],
    ['/missing', /none\.png is 404/],
  ]) {
    test(`tells of ${path}`, async (t) => assert.match((await hostile(await open(t, path))).join('\n'), what));
  }

  test('tells of what moves', async (t) => assert.match((await shifts(await open(t, '/moves'))).join(), /it moved by 0\.\d+/));

  test('tells of what some can not read or name', async (t) => {
    const found = (await violations(await open(t, '/pale'))).join('\n');
    assert.match(found, /color-contrast at p/);
    assert.match(found, /label at input/);
  });

  test('counts clicks and keys', async (t) => {
    const h = hands(await open(t, '/count'));
    await h.click('#b');
    await h.click('#i');
    await h.type('ab');
    await h.press('Enter');
    const { clicks, keys, seconds } = h.done();
    assert.deepEqual([clicks, keys, seconds > 0], [2, 3, true]);
  });
});
