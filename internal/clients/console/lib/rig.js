// A furnished project with a ken serve. Tests that only read share one; each file of tests
// that change something has another one. All use one provider and one browser. They start
// with the first test that needs them, and end after the last one.

import assert from 'node:assert/strict';
import { after } from 'node:test';
import * as browser from './browser.js';
import * as processes from './processes.js';
import { forget, watch } from './watch.js';

// parts are the programs to end, the last one first. A hook that is set within a test ends
// with that test, so this one is set here.
const parts = [];
after(async () => {
  for (const end of parts.reverse()) await end();
});

let upstream;
function provider() {
  upstream ??= processes.provider().then((p) => {
    parts.push(p.stop);
    return p;
  });
  return upstream;
}

// furnished returns a project with a server, which starts at the first use. Without
// keys, every visitor may do everything.
export function furnished({ keys = true } = {}) {
  let started;

  // start returns { url, project, said }: the server's address, what furnish says of the
  // project, and a function that returns the server's log so far.
  function start() {
    started ??= begin();
    return started;
  }

  async function begin() {
    const project = await processes.project(...(process.env.KEN_CLAIMS ? ['--claims', process.env.KEN_CLAIMS] : []));
    parts.push(project.remove);
    if (!keys) await processes.unlock(project.dir);
    const { url: provides } = await provider();
    const it = { project };
    const run = async (...args) => {
      const server = await processes.serve(project.dir, provides, ...args);
      Object.assign(it, { url: server.url, said: server.said, stop: server.stop });
    };
    await run();
    parts.push(() => it.stop());
    // restart ends the server and starts it again at the same address.
    it.restart = async (meanwhile = () => {}) => {
      await it.stop();
      await meanwhile();
      await run('--listen', new URL(it.url).host);
    };
    return it;
  }

  // visits are the cookies of each key that has logged in.
  const visits = new Map();

  // login logs a page in as a person does: it opens the login page, types the key, and
  // presses Enter.
  async function login(page, key) {
    const { url } = await start();
    await page.goto(`${url}/console/login`);
    await page.fill('input[name=key]', key);
    await Promise.all([page.waitForURL((to) => !to.pathname.endsWith('/login')), page.press('input[name=key]', 'Enter')]);
  }

  // visit returns the cookies of a visitor who has logged in with a key.
  function visit(key) {
    if (!visits.has(key)) {
      visits.set(key, (async () => {
        const context = await browser.context('desktop', 'light');
        try {
          await login(await context.newPage(), key);
          return await context.storageState();
        } finally {
          await context.close();
        }
      })());
    }
    return visits.get(key);
  }

  // page opens an empty page in a new context, which ends with the test. kind is desktop
  // or phone, scheme is light or dark, and key is the key of the visitor; without it, the
  // visitor has not logged in. more is for Playwright's newContext. The page is watched
  // from its first request on: see watch.js.
  async function page(t, kind, scheme, key, more) {
    const { url } = await start();
    const context = await browser.context(kind, scheme, key === undefined ? undefined : await visit(key), more);
    t.after(() => context.close());
    return watch(await context.newPage(), url);
  }

  // desks are pages that stay open for the next test of the same kind, scheme and key.
  const desks = new Map();

  // look opens a path for a test that only reads, for a logged-in visitor, in a page that
  // was used before, because that is much faster than a new one. Only one test at a time
  // may use it for a kind, scheme and key.
  async function look(kind, scheme, key, path, status = 200) {
    const { url } = await start();
    const which = `${kind} ${scheme} ${key}`;
    if (!desks.has(which)) {
      const context = await browser.context(kind, scheme, await visit(key));
      desks.set(which, await watch(await context.newPage(), url));
    }
    const it = desks.get(which);
    forget(it);
    await go(it, path, status);
    return it;
  }

  // go opens a path of the console and waits until it is drawn. The status must be as
  // wanted; 0 is any but an error of the server.
  async function go(page, path, status = 200) {
    const { url } = await start();
    const response = await page.goto(url + path, { waitUntil: 'load' });
    if (status) assert.equal(response.status(), status, path);
    else assert.ok(response.status() < 500, `${path} is ${response.status()}`);
    await browser.drawn(page);
    return response;
  }

  // chat sends one turn through the gateway to the recorded provider, as an agent's client
  // does, and returns the turn's id. The recorded answer does not fit the question.
  async function chat(key, session, text, agent = 'agent-build') {
    const { url } = await start();
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-test', 'x-ken-key': key, 'x-ken-session': session, 'x-ken-agent': agent },
      body: JSON.stringify({ model: 'gpt-4.1-mini', messages: [{ role: 'user', content: text }] }),
    });
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    return response.headers.get('x-ken-turn');
  }

  // api calls the REST API with the operator's key and returns the answer, or the status
  // of a refusal. Tests use it to check the effect of a page.
  async function api(path, method = 'GET', body) {
    const { url, project } = await start();
    const response = await fetch(`${url}/api/${path}`, {
      method,
      headers: { 'x-ken-key': project.keys.operator, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
    return response.ok ? response.json() : response.status;
  }

  return { start, login, page, look, go, chat, api };
}

// The one for tests that leave it as it is.
export const { start, login, page, look, go, chat, api } = furnished();
