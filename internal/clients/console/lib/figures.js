// Tables of figures that are no test, printed when all tests are over.

import { after } from 'node:test';

// figures returns a function that adds a row to a table.
export function figures(title, ...columns) {
  const rows = [];
  after(() => {
    if (!rows.length) return;
    const all = [columns, ...rows].map((r) => r.map((c) => (typeof c === 'number' ? c.toFixed(Number.isInteger(c) ? 0 : 1) : c)));
    const widths = columns.map((_, i) => Math.max(...all.map((r) => r[i].length)));
    console.log(`\n${title}\n${all.map((r) => `  ${r.map((c, i) => (i ? c.padStart(widths[i]) : c.padEnd(widths[i]))).join('  ')}`).join('\n')}\n`);
  });
  return (...row) => rows.push(row);
}
