// The project that tests change, one thing each, so that they don't meet.

import { furnished } from './rig.js';

export const { start, page, look, go, chat, api } = furnished();

// open is one without keys: whoever reaches it may do everything.
export const open = furnished({ keys: false });

// desk opens a path with the operator logged in.
export async function desk(t, path, more) {
  const { project } = await start();
  const it = await page(t, 'desktop', 'light', project.keys.operator, more);
  await go(it, path);
  return it;
}

// did waits until a page says that something was done.
export const did = (page, says) => page.locator('.did', { hasText: says }).waitFor();

// unfold opens a form that is folded behind a name, and returns what holds it.
export async function unfold(within, name) {
  const summary = within.locator('summary', { hasText: name }).first();
  await summary.click();
  return summary.locator('..');
}

// glance opens a path for a test that only looks and has the operator's page to itself.
export async function glance(path) {
  const { project } = await start();
  return look('desktop', 'light', project.keys.operator, path);
}
