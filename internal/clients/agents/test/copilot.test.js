// GitHub Copilot's CLI with a provider of one's own. It speaks all three dialects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, apart, beforeQuestion, continues, plain, question, setup } from './agents.js';

test('Copilot', async (t) => {
  const s = await setup(t, 'copilot');
  if (!s) return;
  const env = {
    COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-4.1-mini',
    COPILOT_PROVIDER_BASE_URL: s.v1, COPILOT_PROVIDER_API_KEY: 'sk-test',
  };
  const ask = (...args) => s.run(['--allow-all-tools', ...args], env);
  assert.match(await ask('-p', question), new RegExp(afterTool.slice(10, 40)));
  const requests = await s.asked();
  assert.equal(requests.length, 2);
  beforeQuestion(requests[0]);
  continues(requests[0], requests[1]);
  await apart(s, 'chat_stream', async () => {
    assert.match(await ask('-p', question), new RegExp(plain.slice(0, 30)));
  }, async () => {
    assert.match(await ask('--continue', '-p', 'thanks!'), new RegExp(plain.slice(0, 30)));
  });
});
