// opencode, which speaks all three dialects, by its provider.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterTool, beforeQuestion, continues, header, keepsBlock, plain, question, session, setup } from './agents.js';

test('opencode', async (t) => {
  const s = await setup(t, 'opencode');
  if (!s) return;
  const options = { baseURL: s.v1, apiKey: 'sk-test' };
  await s.write('project/opencode.json', JSON.stringify({
    autoupdate: false, share: 'disabled', small_model: 'chat/gpt-4.1-mini',
    provider: {
      chat: { npm: '@ai-sdk/openai-compatible', options, models: { 'gpt-4.1-mini': {} } },
      openai: { options, models: { 'gpt-5-mini': {} } },
      anthropic: { options, models: { 'claude-sonnet-4-5': {} } },
    },
  }));
  const env = { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' };
  for (const [model, recording] of [['chat/gpt-4.1-mini', 'chat_stream'], ['openai/gpt-5-mini'], ['anthropic/claude-sonnet-4-5']]) {
    await t.test(model, async () => {
      assert.match(await s.run(['run', '--model', model, question], env), new RegExp(afterTool.slice(10, 40)));
      const requests = await s.asked();
      assert.equal(requests.length, 2);
      beforeQuestion(requests[0]);
      keepsBlock(requests[0], requests[1]);
      if (recording !== undefined) {
        continues(requests[0], requests[1]);
        await s.up.next({ recording });
        assert.match(await s.run(['run', '--continue', '--model', model, 'thanks!'], env), new RegExp(plain.slice(0, 30)));
        const [again] = await s.asked();
        continues(requests[0], again);
        assert.equal((await session(s, 'opencode')).id, header(again, 'x-session-id'));
      }
    });
  }
});
