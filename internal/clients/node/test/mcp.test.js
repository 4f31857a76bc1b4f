// The MCP SDK's client, over standard input and output and over HTTP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { claim, question, setup } from './sides.js';
import { command, ken } from './processes.js';

const core = ['forget_memory', 'knowledge_dispute', 'knowledge_explain', 'knowledge_learn', 'memory_recall'];

const said = (result) => JSON.stringify(result.structuredContent ?? '') + result.content.map((c) => c.text ?? '').join('\n');

test('mcp', async (t) => {
  const s = await setup(t);
  const transports = {
    stdio: () => new StdioClientTransport({ command: ken, args: ['--dir', s.dir, 'mcp'], stderr: 'pipe' }),
    http: () => new StreamableHTTPClientTransport(new URL(`${s.gate.url}/mcp`)),
  };
  for (const [name, transport] of Object.entries(transports)) {
    await t.test(name, async (t) => {
      const client = new Client({ name: 'ken-clients', version: '1.0.0' });
      await client.connect(transport());
      t.after(() => client.close());

      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      assert.deepEqual(names.toSorted(), core);
      for (const tool of tools) {
        assert.ok(tool.description, tool.name);
        assert.equal(tool.inputSchema.type, 'object');
      }

      const recalled = await client.callTool({ name: 'memory_recall', arguments: { query: question } });
      assert.ok(!recalled.isError, said(recalled));
      assert.ok(said(recalled).includes(claim), said(recalled));

      // A tool that is not listed answers by its name. What one client learns, another process knows at once: the command line, and
      // the other transport.
      const text = `The ${name} listener of the ledger uses the codeword quokka-${name}.`;
      const learned = await client.callTool({ name: 'memory_ingest', arguments: { text } });
      assert.ok(!learned.isError, said(learned));
      assert.match(await command(s.dir, 'recall', `codeword of the ${name} listener of the ledger`), new RegExp(`quokka-${name}`));

      const wrong = await client.callTool({ name: 'memory_recall', arguments: { nonsense: true } }).catch((err) => ({ isError: true, content: [{ text: err.message }] }));
      assert.ok(wrong.isError, 'arguments are not validated');
      assert.match(said(wrong), /query/);
    });
  }
});
