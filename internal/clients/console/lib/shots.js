// Pictures for people to look at: KEN_SCREENSHOTS names the folder. With
// KEN_SCREENSHOTS_FULL they show whole pages, else what fits the screen.

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

const folder = process.env.KEN_SCREENSHOTS;
const most = 12_000; // of a picture's height, in pixels

// shot takes a picture of a page as NAME-KIND-SCHEME.png, if anybody wants some.
export async function shot(page, name, kind, scheme) {
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${name.replace(/[^a-z0-9]+/gi, '-')}-${kind}-${scheme}.png`);
  const { width, height } = page.viewportSize();
  if (!process.env.KEN_SCREENSHOTS_FULL) return page.screenshot({ path });
  const whole = await page.evaluate(() => document.scrollingElement.scrollHeight);
  await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(Math.max(whole, height), most) } });
}
