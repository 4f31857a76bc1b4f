// The adapters of @kenlayer/ken: each in front of the provider itself, so that whatever arrives
// there was put there by the adapter.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Ken } from '@kenlayer/ken';
import { kenMiddleware as aiMiddleware } from '@kenlayer/ken/ai';
import { KenRetriever, kenMiddleware } from '@kenlayer/ken/langchain';
import { kenProcessor } from '@kenlayer/ken/mastra';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import { createTool } from '@mastra/core/tools';
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai';
import { createAgent, tool as langchainTool } from 'langchain';
import { z } from 'zod';
import { conversation, marker, texts } from './bytes.js';
import * as processes from './processes.js';
import { afterTool, claim, plain, question } from './sides.js';
import { started } from './started.js';

// said is what the journal of a session has, once it has the last of these.
async function said(ken, session, ...want) {
  await ken.session(session).end();
  const { messages } = await ken.request('GET', `/api/sessions/${encodeURIComponent(session)}/messages`);
  const got = messages.map((m) => `${m.role}: ${m.text || m.tool_calls.map((c) => `${c.name} ${c.arguments}`)}`);
  assert.deepEqual(got.map((line) => line.replaceAll(' ', '')), want.map((line) => line.replaceAll(' ', '')));
}

// blocks says of each message that arrived whether it is a block.
const blocks = (request) => conversation(request.body).map((m) => texts(m).some((text) => text.startsWith(marker)));

const args = { path: 'payments/retry.go', lines: 40 };
const called = `assistant: read_file {"path":"payments/retry.go","lines":40}`;

test('an adapter that is made for something else', () => {
  for (const make of [aiMiddleware, kenMiddleware, kenProcessor]) {
    for (const wrong of [undefined, {}, { ken: new Ken({ url: 'http://127.0.0.1:1' }) }]) {
      assert.throws(() => make(wrong), { name: 'KenError', field: 'ken' });
    }
  }
});

test('a model does not wait for a Ken that hangs', async (t) => {
  const up = await processes.upstream(t);
  const { url, asked } = await processes.silent(t);
  const openai = createOpenAI({ apiKey: 'sk-test', baseURL: `${up.url}/v1` });
  const model = wrapLanguageModel({ model: openai.chat('gpt-4.1-mini'), middleware: aiMiddleware(new Ken({ url })) });
  assert.equal((await generateText({ model, prompt: question, abortSignal: new AbortController().signal })).text, plain);
  assert.ok(asked.includes(5_000), `${asked}`);
});

test('pictures stay here', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const model = new ChatOpenAI({ model: 'gpt-4.1-mini', apiKey: 'sk-test', configuration: { baseURL: `${up.url}/v1` } });
  const agent = createAgent({ model, tools: [], middleware: [kenMiddleware(ken.session('seen'))] });
  const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(5 << 20)}` } };
  await agent.invoke({ messages: [new HumanMessage({ content: [{ type: 'text', text: question }, picture] })] });
  const [request] = await up.requests();
  assert.deepEqual(blocks(request), [true, false]);
  assert.ok(request.body.includes(picture.image_url.url));
});

test('the AI SDK', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const openai = createOpenAI({ apiKey: 'sk-test', baseURL: `${up.url}/v1` });
  const readFile = tool({ description: 'Read a file', inputSchema: z.object({ path: z.string(), lines: z.number() }), execute: async () => 'attempts = 3' });

  for (const [name, inner] of [['chat', openai.chat('gpt-4.1-mini')], ['responses', openai('gpt-5-mini')]]) {
    await t.test(`${name}: generateText, and its second turn`, async () => {
      await up.forget();
      const session = `ai-${name}`;
      const model = wrapLanguageModel({ model: inner, middleware: aiMiddleware(ken.session(session)) });
      const messages = [{ role: 'user', content: question }];
      const first = await generateText({ model, instructions: 'Be brief.', messages });
      assert.equal(first.text, plain);
      messages.push(...first.response.messages, { role: 'user', content: 'thanks!' });
      await generateText({ model, instructions: 'Be brief.', messages });
      const [one, two] = await up.requests();
      assert.deepEqual(blocks(one), [false, true, false]);
      assert.equal(blocks(two).lastIndexOf(true), 1);
      assert.deepEqual(conversation(two.body)[1], conversation(one.body)[1]);
      await said(ken, session, `user: ${question}`, `assistant: ${plain}`, 'user: thanks!'); // the same answer again is a repetition
    });

    await t.test(`${name}: a tool loop, streamed, in the session that the call names`, async () => {
      await up.forget();
      const session = `ai-${name}-stream`;
      const model = wrapLanguageModel({ model: inner, middleware: aiMiddleware(ken) });
      const result = streamText({ model, prompt: question, tools: { read_file: readFile }, stopWhen: stepCountIs(3), providerOptions: { ken: { session } } });
      const deltas = [];
      for await (const delta of result.textStream) deltas.push(delta);
      assert.equal(deltas.join(''), afterTool);
      assert.ok(deltas.length > 3, 'it did not stream');
      const requests = await up.requests();
      assert.deepEqual(requests.map((r) => blocks(r).indexOf(true)), [0, 0]);
      await said(ken, session, `user: ${question}`, called, 'tool: attempts = 3', `assistant: ${afterTool}`);
    });
  }

  await t.test('without Ken a model answers all the same', async () => {
    const model = wrapLanguageModel({ model: openai.chat('gpt-4.1-mini'), middleware: aiMiddleware(new Ken({ url: 'http://127.0.0.1:1' })) });
    assert.equal((await generateText({ model, prompt: question })).text, plain);
  });
});

test('LangChain: a retriever', async (t) => {
  const ken = await started(t, [claim]);
  const [document] = await new KenRetriever(ken, { limit: 1 }).invoke(question);
  assert.equal(document.pageContent, claim);
  assert.ok(document.id && document.metadata.score > 0 && document.metadata.kind === 'fact');
});

test('LangChain: an agent', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const model = new ChatOpenAI({ model: 'gpt-4.1-mini', apiKey: 'sk-test', maxRetries: 0, configuration: { baseURL: `${up.url}/v1` } });
  const readFile = langchainTool(async () => 'attempts = 3', { name: 'read_file', description: 'Read a file', schema: z.object({ path: z.string(), lines: z.number() }) });

  await t.test('a tool loop, in the session of its thread', async () => {
    const agent = createAgent({ model, tools: [readFile], systemPrompt: 'Be brief.', middleware: [kenMiddleware(ken)] });
    const { messages } = await agent.invoke({ messages: [new HumanMessage(question)] }, { configurable: { thread_id: 'thread-1' } });
    assert.equal(messages.at(-1).text, afterTool);
    assert.ok(!messages.some((m) => m.text.includes(marker)), 'the block is in the agent\'s state');
    const requests = await up.requests();
    assert.deepEqual(requests.map(blocks), [[false, true, false], [false, true, false, false, false]]);
    await said(ken, 'thread-1', `user: ${question}`, called, 'tool: attempts = 3', `assistant: ${afterTool}`);
  });

  await t.test('streamed, in a session', async () => {
    await up.forget();
    const agent = createAgent({ model, tools: [], middleware: [kenMiddleware(ken.session('langchain'))] });
    let text = '';
    for await (const [chunk] of await agent.stream({ messages: [new HumanMessage(question)] }, { streamMode: 'messages' })) text += chunk.text;
    assert.equal(text, plain);
    assert.deepEqual((await up.requests()).map(blocks), [[true, false]]);
    await said(ken, 'langchain', `user: ${question}`, `assistant: ${plain}`);
  });
});

test('Mastra', async (t) => {
  const up = await processes.upstream(t);
  const ken = await started(t, [claim]);
  const model = createOpenAI({ apiKey: 'sk-test', baseURL: `${up.url}/v1` }).chat('gpt-4.1-mini');
  const readFile = createTool({ id: 'read_file', description: 'Read a file', inputSchema: z.object({ path: z.string(), lines: z.number() }), execute: async () => 'attempts = 3' });
  const agent = (processor, tools = {}) => new Agent({ id: 'a', name: 'A', instructions: 'Be brief.', model, tools, inputProcessors: [processor], memory: new MockMemory() });

  await t.test('generate', async () => {
    const result = await agent(kenProcessor(ken.session('mastra'))).generate(question);
    assert.equal(result.text, plain);
    assert.deepEqual((await up.requests()).map(blocks), [[false, true, false]]);
    await said(ken, 'mastra', `user: ${question}`, `assistant: ${plain}`);
  });

  await t.test('a tool loop, streamed, in the session of its thread', async () => {
    await up.forget();
    const result = await agent(kenProcessor(ken), { read_file: readFile }).stream(question, { memory: { thread: 'thread-2', resource: 'ana' } });
    let text = '';
    for await (const delta of result.textStream) text += delta;
    assert.equal(text, afterTool);
    assert.deepEqual((await up.requests()).map((r) => blocks(r).indexOf(true)), [1, 1]);
    await said(ken, 'thread-2', `user: ${question}`, called, 'tool: attempts = 3', `assistant: ${afterTool}`);
  });
});
