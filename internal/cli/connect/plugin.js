// Written by ken connect opencode; ken disconnect opencode removes it.
import { spawn } from "node:child_process";

const ken = "KEN";

export const Ken = async ({ client, directory }) => {
  const hook = (hook_event_name, session_id, event) =>
    new Promise((resolve) => {
      const child = spawn(ken, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] });
      let out = "";
      child.stdout.on("data", (bytes) => (out += bytes));
      child.on("error", () => resolve(""));
      child.on("close", () => resolve(out));
      child.stdin.on("error", () => {});
      child.stdin.end(JSON.stringify({ hook_event_name, session_id, cwd: directory, ...event }));
    });
  const textIn = (out) => {
    try {
      return JSON.parse(out).hookSpecificOutput.additionalContext;
    } catch {
      return undefined; // nothing, or what another version of ken prints
    }
  };
  // A session that another one started is a sub-agent's; its result is that of a tool.
  const children = new Map();
  const child = async (id) => {
    if (!children.has(id)) {
      const found = await client.session.get({ path: { id } }).catch(() => undefined);
      children.set(id, Boolean(found?.data?.parentID));
    }
    return children.get(id);
  };
  const answers = new Map();
  const assistant = new Set();
  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (await child(sessionID)) return;
      const said = parts.filter((p) => p.type === "text" && !p.synthetic).map((p) => p.text).join("\n");
      const prompt = said.trim().replace(/^"([^"]*)"$/, "$1"); // opencode run puts its argument into quotes
      const out = await hook("UserPromptSubmit", sessionID, { prompt, model: message.model?.modelID });
      const text = textIn(out);
      if (!text) return;
      const id = "prt_" + Date.now().toString(16) + "0000" + Math.random().toString(36).slice(2, 14).padEnd(12, "0");
      parts.unshift({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, { output }) => {
      if (await child(sessionID)) return;
      await hook("PostToolUse", sessionID, { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response: output });
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await hook("PreCompact", sessionID, {});
    },
    event: async ({ event: { type, properties } }) => {
      if (type === "message.updated" && properties.info.role === "assistant") assistant.add(properties.info.id);
      const part = properties.part;
      if (type === "message.part.updated" && part.type === "text" && assistant.has(part.messageID)) answers.set(part.sessionID, part.text);
      if (type !== "session.idle" || !answers.has(properties.sessionID)) return;
      const last_assistant_message = answers.get(properties.sessionID);
      answers.delete(properties.sessionID);
      if (!(await child(properties.sessionID))) await hook("Stop", properties.sessionID, { last_assistant_message });
    },
  };
};
