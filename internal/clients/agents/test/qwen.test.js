// Qwen Code, which speaks chat completions and names no session.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, beforeQuestion, continues, keepsBlock, plain, question, session, setup } from './agents.js';

test('Qwen Code', async (t) => {
  const s = await setup(t, 'qwen');
  if (!s) return;
  const env = { OPENAI_BASE_URL: s.v1, OPENAI_API_KEY: 'sk-test', OPENAI_MODEL: 'gpt-4.1-mini', QWEN_TELEMETRY_ENABLED: '0' };
  assert.match(await s.run(['--auth-type', 'openai', '-p', question], env), new RegExp(afterTool.slice(10, 40)));
  const requests = await s.asked();
  assert.equal(requests.length, 2);
  beforeQuestion(requests[0]);
  continues(requests[0], requests[1]);
  const before = await session(s, 'qwen-code');
  await s.up.next({ recording: 'chat_stream' });
  assert.match(await s.run(['--auth-type', 'openai', '--continue', '-p', 'thanks!'], env), new RegExp(plain.slice(0, 30)));
  const [again] = await s.asked(); // behind it, it asks by itself what is to be remembered
  keepsBlock(requests[0], again);
  const after = (await s.sessions()).find((i) => i.id === before.id);
  assert.ok(after.messages > before.messages, JSON.stringify(await s.sessions()));
});
