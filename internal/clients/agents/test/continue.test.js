// Continue's CLI, which speaks chat completions or Messages, by its configuration, and names
// no session.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, apart, beforeQuestion, continues, plain, question, setup } from './agents.js';

test('Continue', async (t) => {
  const s = await setup(t, 'cn');
  if (!s) return;
  await s.write('home/.continue/config.yaml', `name: ken\nversion: 0.0.1\nschema: v1\nmodels:\n  - {name: gpt, provider: openai, model: gpt-4.1-mini, apiBase: "${s.v1}", apiKey: sk-test}\n`);
  const ask = (...args) => s.run(['-p', ...args], { CONTINUE_TELEMETRY_ENABLED: '0' });
  assert.match(await ask(question), new RegExp(afterTool.slice(10, 40)));
  const requests = await s.asked();
  assert.equal(requests.length, 2);
  beforeQuestion(requests[0]);
  continues(requests[0], requests[1]);
  await apart(s, 'chat_stream', async () => {
    assert.match(await ask(question), new RegExp(plain.slice(0, 30)));
  }, async () => {
    assert.match(await ask('--resume', 'thanks!'), new RegExp(plain.slice(0, 30)));
  });
});
