// The browser: Debian's Chromium, or the one that CHROMIUM names. Nothing is downloaded.

import { after } from 'node:test';
import { chromium } from 'playwright-core';

export const sizes = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
};

let running;

function open() {
  running ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    chromiumSandbox: process.getuid?.() !== 0, // root has none
    // Containers have little shared memory, and machines for tests no graphics card.
    args: ['--disable-dev-shm-usage', '--disable-gpu'],
  });
  return running;
}

after(async () => (await running)?.close());

// context opens a context of a kind of device and a colour scheme, with the cookies of
// storageState, if there are any. more is for Playwright's newContext.
export async function context(kind, scheme, storageState, more) {
  const browser = await open();
  const context = await browser.newContext({ ...sizes[kind], colorScheme: scheme, storageState, locale: 'en-GB', timezoneId: 'UTC', ...more });
  context.setDefaultTimeout(20_000);
  return context;
}

// drawn waits until what a page loaded is on the screen: two frames, as the first one may
// have begun before.
export const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
