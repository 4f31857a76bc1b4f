// All tests in one process, so that they share one browser and one server: run has it run.

import { readdir } from 'node:fs/promises';

for (const file of (await readdir(new URL('.', import.meta.url))).sort()) {
  if (file.endsWith('.test.js')) await import(`./${file}`);
}
