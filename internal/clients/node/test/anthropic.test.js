// Anthropic's client for Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { afterTool, beforeQuestion, both, continues, plain, question, setup } from './sides.js';

const tools = [{
  name: 'read_file',
  description: 'Read a file',
  input_schema: { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } }, required: ['path'] },
}];

test('anthropic', async (t) => {
  const s = await setup(t);
  const client = (baseURL, fetch, defaultHeaders) => new Anthropic({ apiKey: 'sk-ant-test', baseURL, fetch, defaultHeaders, maxRetries: 0 });
  const ask = { model: 'a-model', max_tokens: 1024, system: 'Be brief.', messages: [{ role: 'user', content: question }] };

  await t.test('messages, and its second turn', async () => {
    const { got, arrived } = await both(s, 'anthropic', [1, 1], async (...at) => {
      const c = client(...at);
      const first = await c.messages.create(ask);
      const messages = [...ask.messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'thanks!' }];
      return [first, await c.messages.create({ ...ask, messages })];
    });
    assert.equal(got[0].content[0].text, plain);
    beforeQuestion(arrived[0]);
    continues(arrived[0], arrived[1]);
  });

  await t.test('streamed, with thinking', async () => {
    const { got, arrived } = await both(s, 'anthropic-stream', [1], async (...at) => {
      const events = [];
      const stream = client(...at).messages.stream({ ...ask, max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 1024 } });
      for await (const event of stream) events.push(event);
      return [events, await stream.finalMessage()];
    });
    assert.deepEqual(got[1].content.map((b) => b.type), ['thinking', 'text']);
    assert.equal(got[1].content[1].text, plain);
    beforeQuestion(arrived[0]);
  });

  for (const stream of [false, true]) {
    await t.test(`a tool loop${stream ? ', streamed' : ''}`, async () => {
      const { got, arrived } = await both(s, `anthropic-tools-${stream}`, [1, 1], async (...at) => {
        const c = client(...at);
        const say = (messages) => (stream ? c.messages.stream({ ...ask, messages, tools }).finalMessage() : c.messages.create({ ...ask, messages, tools }));
        const first = await say(ask.messages);
        const use = first.content.find((b) => b.type === 'tool_use');
        const second = await say([
          ...ask.messages,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'attempts = 3' }] },
        ]);
        return [use.input, second.content[0].text];
      });
      assert.deepEqual(got, [{ path: 'payments/retry.go', lines: 40 }, afterTool]);
      beforeQuestion(arrived[0]);
      continues(arrived[0], arrived[1]);
    });
  }

  await t.test('counting tokens counts the block', async () => {
    const { got } = await both(s, 'anthropic-count', [1], (...at) => client(...at).messages.countTokens({ model: ask.model, messages: ask.messages }), false); // a count is no turn
    assert.equal(got.input_tokens, 71);
  });

  await t.test('errors are the provider\'s', async () => {
    for (const [recording, type] of [['messages_error_429', 'rate_limit_error'], ['messages_error_529', 'overloaded_error']]) {
      await s.up.next({ recording }, { recording });
      const { got } = await both(s, 'anthropic-errors', [1], async (...at) => {
        const err = await client(...at).messages.create(ask).then(() => null, (e) => e);
        return [err.status, err.error.error.type, err.headers.get('retry-after')];
      });
      assert.equal(got[1], type);
    }
    await s.up.next({ recording: 'messages_error_stream' }, { recording: 'messages_error_stream' });
    const { got } = await both(s, 'anthropic-midway', [1], async (...at) => {
      let text = '';
      const stream = client(...at).messages.stream(ask).on('text', (delta) => (text += delta));
      const err = await stream.finalMessage().then(() => null, (e) => e);
      return [text, err?.message];
    });
    assert.equal(got[0], 'The payments');
    assert.match(got[1], /Overloaded/);
  });
});
