// The ken serve that a client uses: at an address, or started for this process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { KenError } from "./error.mjs";

/** The server at an address, or one that is started when it is needed. */
export class Server {
  #url;
  #dir;
  #program;
  /** @type {Promise<{ url: string, child: import("node:child_process").ChildProcess }> | undefined} */
  #started;

  /**
   * @param {string | undefined} url
   * @param {string} dir
   * @param {() => string} program
   */
  constructor(url, dir, program) {
    this.#url = url?.replace(/\/+$/, "").replace(/\/v1$/, "");
    this.#dir = dir;
    this.#program = program;
  }

  /** The address. */
  async url() {
    if (this.#url) return this.#url;
    this.#started ??= this.#start();
    return (await this.#started).url;
  }

  /** Ends what was started, and waits for that. */
  async close() {
    const started = this.#started;
    this.#started = undefined;
    if (!started) return;
    const { child } = await started;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = once(child, "exit");
    child.stdin?.end();
    await ended;
  }

  /** Starts ken serve, which ends when its standard input does: with this process, however that ends. */
  async #start() {
    try {
      const child = spawn(this.#program(), ["--dir", this.#dir, "--quiet", "serve", "--child"], {
        stdio: ["pipe", "pipe", "inherit"],
        detached: process.platform !== "win32", // an interrupt in the terminal is for this process
        windowsHide: true,
      });
      child.once("exit", () => (this.#started = undefined)); // the next call starts another one
      const url = await address(child);
      // This process does not stay for its sake.
      child.unref();
      for (const stream of [child.stdin, child.stdout]) /** @type {import("node:net").Socket} */ (stream).unref();
      return { url, child };
    } catch (error) {
      this.#started = undefined;
      throw error instanceof KenError ? error : new KenError("ken serve can't be started", { code: "unavailable", hint: error instanceof Error ? error.message : "", cause: error });
    }
  }
}

/**
 * The address that ken serve prints, as JSON.
 * @param {import("node:child_process").ChildProcessWithoutNullStreams | import("node:child_process").ChildProcess} child
 * @returns {Promise<string>}
 */
function address(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      said += text;
      try {
        resolve(JSON.parse(said).url);
      } catch {
        // there is more to come
      }
    });
    child.stdin?.on("error", () => {}); // it has ended by itself
    child.once("error", reject);
    child.once("exit", (status, signal) =>
      reject(new KenError(`ken serve ended at once, with ${signal ?? `status ${status}`}`, { code: "unavailable", hint: "See what it said on standard error, or run ken doctor in the project's folder." })),
    );
  });
}
