// The official OpenAI client for Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { afterTool, beforeQuestion, both, continues, plain, question, setup } from './sides.js';

const readFile = {
  name: 'read_file',
  description: 'Read a file',
  parameters: { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } }, required: ['path'] },
};

test('openai', async (t) => {
  const s = await setup(t);
  const client = (url, fetch, defaultHeaders) => new OpenAI({ apiKey: 'sk-test', baseURL: `${url}/v1`, fetch, defaultHeaders, maxRetries: 0 });
  const ask = { model: 'gpt-4.1-mini', messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: question }] };

  await t.test('chat, and its second turn', async () => {
    const { got, arrived } = await both(s, 'openai-chat', [1, 1], async (...at) => {
      const c = client(...at);
      const first = await c.chat.completions.create(ask);
      const messages = [...ask.messages, first.choices[0].message, { role: 'user', content: 'thanks!' }];
      return [first, await c.chat.completions.create({ ...ask, messages })];
    });
    assert.equal(got[0].choices[0].message.content, plain);
    beforeQuestion(arrived[0]);
    continues(arrived[0], arrived[1]);
  });

  await t.test('chat, streamed', async () => {
    const { got, arrived } = await both(s, 'openai-stream', [1], async (...at) => {
      const chunks = [];
      const stream = await client(...at).chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } });
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    });
    assert.equal(got.map((c) => c.choices[0]?.delta.content ?? '').join(''), plain);
    assert.equal(got.at(-1).usage.total_tokens, 78);
    beforeQuestion(arrived[0]);
  });

  for (const stream of [false, true]) {
    await t.test(`a tool loop${stream ? ', streamed' : ''}`, async () => {
      const { got, arrived } = await both(s, `openai-tools-${stream}`, [1, 1], async (...at) => {
        const calls = [];
        const runner = client(...at).chat.completions.runTools({
          ...ask,
          stream,
          tools: [{ type: 'function', function: { ...readFile, parse: JSON.parse, function: (args) => (calls.push(args), 'attempts = 3') } }],
        });
        return [await runner.finalContent(), calls];
      });
      assert.deepEqual(got, [afterTool, [{ path: 'payments/retry.go', lines: 40 }]]);
      beforeQuestion(arrived[0]);
      continues(arrived[0], arrived[1]);
    });
  }

  for (const [form, input] of Object.entries({ text: question, items: [{ role: 'user', content: question }] })) {
    await t.test(`responses with ${form}, and its second turn`, async () => {
      const { got, arrived } = await both(s, `openai-responses-${form}`, [1, 1], async (...at) => {
        const c = client(...at);
        const first = await c.responses.create({ model: 'gpt-5-mini', instructions: 'Be brief.', input });
        const said = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
        const second = await c.responses.create({ model: 'gpt-5-mini', instructions: 'Be brief.', input: [...said, ...first.output, { role: 'user', content: 'thanks!' }] });
        return [first, second];
      });
      assert.equal(got[0].output_text, plain);
      beforeQuestion(arrived[0]);
      if (form === 'items') continues(arrived[0], arrived[1]);
    });
  }

  await t.test('responses, streamed', async () => {
    const { got, arrived } = await both(s, 'openai-responses-stream', [1], async (...at) => {
      const events = [];
      const stream = await client(...at).responses.create({ model: 'gpt-5-mini', input: [{ role: 'user', content: question }], stream: true });
      for await (const event of stream) events.push(event);
      return events;
    });
    assert.equal(got.at(-1).type, 'response.completed');
    assert.equal(got.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join(''), plain);
    beforeQuestion(arrived[0]);
  });

  await t.test('responses with a tool, streamed', async () => {
    const tools = [{ type: 'function', ...readFile, strict: false }];
    const { got, arrived } = await both(s, 'openai-responses-tools', [1, 1], async (...at) => {
      const c = client(...at);
      const input = [{ role: 'user', content: question }];
      const first = await c.responses.stream({ model: 'gpt-5-mini', input, tools }).finalResponse();
      const call = first.output.find((item) => item.type === 'function_call');
      const { parsed_arguments: _, ...plainCall } = call;
      input.push(plainCall, { type: 'function_call_output', call_id: call.call_id, output: 'attempts = 3' });
      return [call.arguments, (await c.responses.stream({ model: 'gpt-5-mini', input, tools }).finalResponse()).output_text];
    });
    assert.deepEqual(got, ['{"path":"payments/retry.go","lines":40}', afterTool]);
    beforeQuestion(arrived[0]);
    continues(arrived[0], arrived[1]);
  });

  await t.test('embeddings and models pass through', async () => {
    const { got } = await both(s, 'openai-rest', [0, 0, 0, 0], async (...at) => {
      const c = client(...at);
      return [
        await c.embeddings.create({ model: 'text-embedding-3-small', input: question }),
        await c.embeddings.create({ model: 'text-embedding-3-small', input: question, encoding_format: 'float' }),
        (await c.models.list()).data,
        await c.models.retrieve('gpt-4.1-mini'),
      ];
    });
    assert.ok(Math.abs(got[0].data[0].embedding[4] - 0.5) < 1e-6);
    assert.deepEqual(got[2].map((m) => m.id), ['gpt-4.1-mini', 'gpt-5-mini', 'text-embedding-3-small']);
  });

  await t.test('errors are the provider\'s', async () => {
    for (const [recording, name] of [['error_429', 'RateLimitError'], ['error_401', 'AuthenticationError'], ['error_500_html', 'InternalServerError']]) {
      await s.up.next({ recording }, { recording });
      const { got } = await both(s, 'openai-errors', [1], async (...at) => {
        const err = await client(...at).chat.completions.create(ask).then(() => null, (e) => e);
        return [err.constructor.name, err.status, err.message, err.headers.get('retry-after')];
      });
      assert.equal(got[0], name);
      if (recording === 'error_429') assert.equal(got[3], '20');
    }
  });

  await t.test('an error in the middle of a stream', async () => {
    await s.up.next({ recording: 'chat_error_stream' }, { recording: 'chat_error_stream' });
    const { got } = await both(s, 'openai-midway', [1], async (...at) => {
      let text = '';
      try {
        for await (const chunk of await client(...at).chat.completions.create({ ...ask, stream: true })) text += chunk.choices[0].delta.content;
      } catch (err) {
        return [text, err.message];
      }
      return [text, 'no error'];
    });
    assert.equal(got[0], 'The payments');
    assert.match(got[1], /server had an error/);
  });
});
