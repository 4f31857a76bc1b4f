// The same calls twice: to the provider directly, and through the gateway.

import assert from 'node:assert/strict';
import * as bytes from './bytes.js';
import * as processes from './processes.js';

export const question = 'How often does the payments service retry a failed transfer?';
export const claim = 'The payments service retries a failed transfer three times, ten seconds apart.';
export const plain = 'The payments service retries a failed transfer three times, “ten seconds” apart ✓';
export const afterTool = '`retry.go` says so: three attempts, with ten seconds between them.';

// setup starts a provider and a gateway that knows the claim.
export async function setup(t, claims = [claim]) {
  const up = await processes.upstream(t);
  const dir = await processes.project(t, claims);
  const gate = await processes.gateway(t, dir, up.url);
  return { up, dir, gate };
}

const local = (h) => {
  const out = { ...h };
  for (const name of ['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'server-timing']) delete out[name];
  for (const name of Object.keys(out)) if (name.startsWith('x-ken')) delete out[name];
  return out;
};

// both makes calls on either side and compares: what the client was given, every
// byte and header that came back, and every byte and header that arrived at the
// provider, blocks apart. blocks says how many each request has. calls gets the
// base URL without /v1, a fetch, and the headers for Ken: none for the provider.
export async function both(s, session, blocks, calls, turns = true) {
  await s.up.forget();
  const direct = bytes.wiretap();
  const want = await calls(s.up.url, direct.fetch, {});
  const sent = await s.up.requests();
  await s.up.forget();
  const through = bytes.wiretap();
  const got = await calls(s.gate.url, through.fetch, { 'X-Ken-Session': session });
  const arrived = await s.up.requests();

  assert.deepEqual(got, want);
  assert.equal(through.heard.length, direct.heard.length);
  for (const [i, answer] of through.heard.entries()) {
    assert.equal(answer.status, direct.heard[i].status);
    assert.deepEqual(await answer.body, await direct.heard[i].body);
    assert.deepEqual(local(answer.headers), local(direct.heard[i].headers));
  }
  assert.equal(arrived.length, sent.length);
  for (const [i, request] of arrived.entries()) {
    assert.equal(request.method + ' ' + request.target, sent[i].method + ' ' + sent[i].target);
    assert.deepEqual(bytes.headers(request), bytes.headers(sent[i]));
    const spans = bytes.added(sent[i].body, request.body);
    assert.equal(spans.join('').split(bytes.marker).length - 1, blocks[i], `blocks of request ${i}: ${request.body}`);
    if (blocks[i] === 0) assert.deepEqual(spans, []);
    assert.ok(!request.header.some((f) => f.name.toLowerCase().startsWith('x-ken')), 'Ken\'s headers went on');
  }
  for (const [i, answer] of through.heard.entries()) {
    if (blocks[i] === 0 || !turns) continue;
    assert.ok(answer.headers['x-ken-turn'], 'no X-Ken-Turn');
    // A later turn may ask for nothing, and keep the block of the first.
    assert.match(answer.headers['x-ken-mode'], i === 0 ? /^(hybrid|keyword)$/ : /^(hybrid|keyword|none)$/);
  }
  return { got, arrived, answers: through.heard };
}

// beforeQuestion checks that a request's block stands right before the question.
export function beforeQuestion(request) {
  const at = bytes.blockAt(request.body);
  const next = bytes.conversation(request.body)[at + 1];
  assert.ok(next && next.role === 'user' && bytes.texts(next).includes(question), `behind the block: ${JSON.stringify(next)}`);
}

// continues checks that one request begins with all that another one said.
export function continues(before, now) {
  const said = before.body.subarray(0, before.body.lastIndexOf(question) + question.length);
  assert.ok(now.body.subarray(0, said.length).equals(said), `${now.body}\ndoes not begin with\n${said}`);
}
