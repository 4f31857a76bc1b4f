// LangChain.js.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { afterTool, beforeQuestion, both, continues, plain, question, setup } from './sides.js';

test('langchain', async (t) => {
  const s = await setup(t);
  const model = (url, fetch, defaultHeaders) =>
    new ChatOpenAI({ model: 'gpt-4.1-mini', apiKey: 'sk-test', maxRetries: 0, configuration: { baseURL: `${url}/v1`, fetch, defaultHeaders } });
  const ask = [new SystemMessage('Be brief.'), new HumanMessage(question)];

  await t.test('invoke, and its second turn', async () => {
    const { got, arrived } = await both(s, 'langchain', [1, 1], async (...at) => {
      const first = await model(...at).invoke(ask);
      const second = await model(...at).invoke([...ask, new AIMessage(first.content), new HumanMessage('thanks!')]);
      return [first.content, second.content, first.usage_metadata.total_tokens];
    });
    assert.deepEqual(got, [plain, plain, 78]);
    beforeQuestion(arrived[0]);
    continues(arrived[0], arrived[1]);
  });

  await t.test('stream', async () => {
    const { got, arrived } = await both(s, 'langchain-stream', [1], async (...at) => {
      const chunks = [];
      for await (const chunk of await model(...at).stream(ask)) chunks.push(chunk.content);
      return chunks;
    });
    assert.equal(got.join(''), plain);
    beforeQuestion(arrived[0]);
  });

  await t.test('a tool call and its result', async () => {
    const tools = [{
      type: 'function',
      function: { name: 'read_file', description: 'Read a file', parameters: { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } } } },
    }];
    const { got, arrived } = await both(s, 'langchain-tools', [1, 1], async (...at) => {
      const m = model(...at).bindTools(tools);
      const first = await m.invoke(ask);
      const [call] = first.tool_calls;
      const second = await m.invoke([...ask, first, new ToolMessage({ tool_call_id: call.id, content: 'attempts = 3' })]);
      return [call.args, second.content];
    });
    assert.deepEqual(got, [{ path: 'payments/retry.go', lines: 40 }, afterTool]);
    beforeQuestion(arrived[0]);
    continues(arrived[0], arrived[1]);
  });
});
