// Codex, which speaks OpenAI's Responses: over a WebSocket by its default, or over HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, beforeQuestion, continues, header, keepsBlock, plain, question, session, setup } from './agents.js';

const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
const env = { CODEX_API_KEY: 'sk-test' };

test('Codex over a WebSocket', async (t) => {
  const s = await setup(t, 'codex');
  if (!s) return;
  await s.write('home/.codex/config.toml', `model = "gpt-5-mini"\nopenai_base_url = "${s.v1}"\n`);
  let first;

  await t.test('a turn with a tool', async () => {
    assert.match(await s.run(['exec', ...flags, question], env), new RegExp(afterTool.slice(10, 40)));
    const requests = await s.asked();
    assert.deepEqual(requests.map((r) => r.proto), ['websocket', 'websocket']);
    [first] = requests;
    beforeQuestion(first);
    assert.ok(!requests[1].body.includes('[Pipeline Knowledge]'), 'the block is upstream already');
    assert.equal((await session(s, 'codex')).id, header(first, 'thread-id'));
  });

  await t.test('goes on in another process', async () => {
    await s.up.next({ recording: 'responses_stream' });
    assert.match(await s.run(['exec', 'resume', '--last', ...flags, 'thanks!'], env), new RegExp(plain.slice(0, 30)));
    const [again] = await s.asked();
    keepsBlock(first, again);
    assert.equal((await session(s, 'codex')).id, header(first, 'thread-id'));
  });
});

test('Codex over HTTP', async (t) => {
  const s = await setup(t, 'codex');
  if (!s) return;
  await s.write('home/.codex/config.toml', `model = "gpt-5-mini"\nmodel_provider = "ken"\n[model_providers.ken]\nname = "ken"\nbase_url = "${s.v1}"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n`);
  assert.match(await s.run(['exec', ...flags, question], env), new RegExp(afterTool.slice(10, 40)));
  const requests = await s.asked();
  assert.equal(requests.length, 2);
  assert.equal(requests[0].proto, 'HTTP/1.1');
  beforeQuestion(requests[0]);
  continues(requests[0], requests[1]);
  await s.up.next({ recording: 'responses_stream' });
  assert.match(await s.run(['exec', 'resume', '--last', ...flags, 'thanks!'], env), new RegExp(plain.slice(0, 30)));
  const [again] = await s.asked();
  keepsBlock(requests[0], again);
  assert.equal((await session(s, 'codex')).id, header(again, 'thread-id'));
});
