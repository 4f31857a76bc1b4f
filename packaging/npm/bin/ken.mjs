#!/usr/bin/env node
// Runs the program ken with the same arguments, input, output and exit status.

import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findKen } from "../index.mjs";

let program;
try {
  program = findKen();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// A terminal sends an interrupt to both. Whoever sends a signal to this process means the program.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`ken: ${program} can't be run: ${error.message}`);
  process.exit(1);
});
child.on("exit", (status, signal) => process.exit(signal ? 128 + constants.signals[signal] : status));
