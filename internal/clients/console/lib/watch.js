// Unwanted actions of a page. Everything is recorded from the first request on, and
// checked when a test asks.

import assert from 'node:assert/strict';

const watched = new WeakMap();

// recorder runs in the page, before the page's own scripts. A shift right after an input
// is allowed.
function recorder() {
  const seen = { policy: [], shifts: [] };
  Object.defineProperty(window, 'kenSeen', { value: seen });
  document.addEventListener('securitypolicyviolation', (e) => seen.policy.push(`${e.effectiveDirective} ${e.blockedURI} ${e.sample}`));
  const take = (list) => {
    for (const e of list) if (!e.hadRecentInput) seen.shifts.push({ value: e.value, what: e.sources.map((s) => s.node?.outerHTML?.slice(0, 80) ?? String(s.node?.nodeName)) });
  };
  const observer = new PerformanceObserver((list) => take(list.getEntries()));
  observer.observe({ type: 'layout-shift', buffered: true });
  seen.take = () => take(observer.takeRecords());
}

// watch records what a page does. origin is the only one that it may ask.
export async function watch(page, origin) {
  const faults = [];
  const requests = [];
  watched.set(page, { faults, requests });
  await page.addInitScript(recorder);
  page.on('request', (r) => {
    requests.push(r.url());
    if (!r.url().startsWith(`${origin}/`)) faults.push(`it asked ${r.url().slice(0, 200)}`);
  });
  page.on('dialog', (d) => {
    faults.push(`it opened a dialog: ${d.message()}`);
    d.dismiss().catch(() => {});
  });
  page.on('popup', (p) => faults.push(`it opened ${p.url()}`));
  page.on('pageerror', (e) => faults.push(`a script failed: ${e.message}`));
  page.on('console', (m) => {
    // The caller that opened the page checks its status.
    if ((m.type() === 'error' || m.type() === 'warning') && !m.text().startsWith('Failed to load resource')) faults.push(`the console says: ${m.text().slice(0, 400)}`);
  });
  page.on('response', (r) => {
    if (r.status() >= 400 && !r.request().isNavigationRequest()) faults.push(`${r.url()} is ${r.status()}`);
  });
  page.on('requestfailed', (r) => {
    // A stream of events ends with its page.
    if (r.resourceType() !== 'eventsource' && r.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(`${r.url()} failed: ${r.failure()?.errorText}`);
  });
  return page;
}

// forget begins anew, for a page that is about to show something else.
export function forget(page) {
  const { faults, requests } = watched.get(page);
  faults.length = requests.length = 0;
}

// requests are the addresses that a page has asked for, in order.
export const requests = (page) => watched.get(page).requests;

// hostile lists forbidden actions of a page: a script that ran, a request to another
// server, a violation of its policy, an error.
export async function hostile(page) {
  const { faults } = watched.get(page);
  const { pwned, policy } = await page.evaluate(() => ({ pwned: window.pwned, policy: window.kenSeen.policy }));
  const out = [...faults, ...policy.map((p) => `against its policy: ${p}`)];
  if (pwned !== undefined) out.push('a script in what it shows has run');
  return out;
}

// noHostile fails if hostile lists anything.
export async function noHostile(page) {
  assert.deepEqual(await hostile(page), []);
}

// A smaller Cumulative Layout Shift than this does not count.
const still = 0.02;

// shifts lists what moved on a page since it was opened; [] if nothing did.
export async function shifts(page) {
  const list = await page.evaluate(() => {
    window.kenSeen.take();
    return window.kenSeen.shifts;
  });
  const sum = list.reduce((n, s) => n + s.value, 0);
  return sum < still ? [] : [`it moved by ${sum.toFixed(3)}: ${list.map((s) => s.what.join(', ')).join('; ')}`];
}

// layoutShift fails if anything moved.
export async function layoutShift(page) {
  assert.deepEqual(await shifts(page), []);
}
