// curl -N, which shows a stream as it comes.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { added, marker } from './bytes.js';
import { question, setup } from './sides.js';

const run = promisify(execFile);
const missing = await run('curl', ['--version']).then(() => false, () => 'curl is not installed');

test('curl -N', { skip: missing }, async (t) => {
  const s = await setup(t);
  // Spaces, an unknown field, a number beyond what JavaScript can hold, a key twice:
  // what a client that re-encodes would lose.
  const body = `{ "model":"gpt-4.1-mini",\t"stream":true, "seed":123456789012345678901234567890.10, "x":1,"x":2,\n "messages":[{"role":"user","content":"${question}"}] }`;
  const post = async (url, path, ...more) =>
    (await run('curl', ['-sSN', '--fail-with-body', '-H', 'Content-Type: application/json', '-H', 'Authorization: Bearer sk-test', ...more, '--data-binary', body, url + path])).stdout;

  for (const path of ['/v1/chat/completions', '/v1/chat/completions?api-version=1&x=%2F']) {
    await t.test(path, async () => {
      await s.up.forget();
      const want = await post(s.up.url, path);
      const got = await post(s.gate.url, path, '-H', 'X-Ken-Session: curl');
      assert.equal(got, want);
      assert.ok(got.endsWith('data: [DONE]\n\n'));
      const [sent, arrived] = await s.up.requests();
      assert.equal(sent.body.toString(), body);
      assert.equal(arrived.target, sent.target);
      assert.equal(added(sent.body, arrived.body).join('').split(marker).length - 1, 1);
    });
  }

  await t.test('a stream that breaks off breaks off', async () => {
    await s.up.next({ recording: 'chat_stream', fault: 'cut', n: 700 }, { recording: 'chat_stream', fault: 'cut', n: 700 });
    const broken = async (url) => {
      const err = await post(url, '/v1/chat/completions').then(() => null, (e) => e);
      return [err?.code, err?.stdout];
    };
    const want = await broken(s.up.url);
    assert.equal(want[1].length, 700);
    assert.deepEqual(await broken(s.gate.url), want);
  });

  await t.test('X-Ken: off', async () => {
    await s.up.forget();
    await post(s.gate.url, '/v1/chat/completions', '-H', 'X-Ken: off');
    assert.equal((await s.up.requests())[0].body.toString(), body);
  });
});
