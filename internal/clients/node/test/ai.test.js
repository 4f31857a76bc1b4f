// The Vercel AI SDK, with OpenAI's provider and with the one for whatever is
// compatible.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { afterTool, beforeQuestion, both, continues, plain, question, setup } from './sides.js';

test('ai', async (t) => {
  const s = await setup(t);
  const openai = (url, fetch, headers) => createOpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, fetch, headers });
  const models = {
    chat: (...at) => openai(...at).chat('gpt-4.1-mini'),
    responses: (...at) => openai(...at).responses('gpt-5-mini'),
    compatible: (url, fetch, headers) =>
      createOpenAICompatible({ name: 'upstream', apiKey: 'sk-test', baseURL: `${url}/v1`, fetch, headers }).chatModel('some-model'),
  };
  for (const [name, model] of Object.entries(models)) {
    await t.test(`${name}: generateText, and its second turn`, async () => {
      const { got, arrived } = await both(s, `ai-${name}`, [1, 1], async (...at) => {
        const messages = [{ role: 'user', content: question }];
        const first = await generateText({ model: model(...at), instructions: 'Be brief.', messages, maxRetries: 0 });
        messages.push(...first.response.messages, { role: 'user', content: 'thanks!' });
        return [first.text, (await generateText({ model: model(...at), instructions: 'Be brief.', messages, maxRetries: 0 })).text];
      });
      assert.deepEqual(got, [plain, plain]);
      beforeQuestion(arrived[0]);
      continues(arrived[0], arrived[1]);
    });

    await t.test(`${name}: streamText`, async () => {
      const { got, arrived } = await both(s, `ai-${name}-stream`, [1], async (...at) => {
        const deltas = [];
        for await (const delta of streamText({ model: model(...at), prompt: question, maxRetries: 0 }).textStream) deltas.push(delta);
        return deltas;
      });
      assert.equal(got.join(''), plain);
      assert.ok(got.length > 5, 'it did not stream');
      beforeQuestion(arrived[0]);
    });

    await t.test(`${name}: a tool loop, streamed`, async () => {
      const { got, arrived } = await both(s, `ai-${name}-tools`, [1, 1], async (...at) => {
        const calls = [];
        const readFile = tool({
          description: 'Read a file',
          inputSchema: z.object({ path: z.string(), lines: z.number() }),
          execute: async (args) => (calls.push(args), 'attempts = 3'),
        });
        const result = streamText({ model: model(...at), prompt: question, tools: { read_file: readFile }, stopWhen: stepCountIs(3), maxRetries: 0 });
        return [await result.text, calls];
      });
      assert.deepEqual(got, [afterTool, [{ path: 'payments/retry.go', lines: 40 }]]);
      beforeQuestion(arrived[0]);
      continues(arrived[0], arrived[1]);
    });
  }
});
