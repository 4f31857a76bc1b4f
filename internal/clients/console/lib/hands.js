// A user's hands, counted: how much work it is to get something done.

// hands returns what a test uses in place of the page's own click and keyboard. A click
// and a tap are one; so is a key, with its modifiers, and so is each letter that is typed.
export function hands(page) {
  const count = { clicks: 0, keys: 0 };
  const since = performance.now();
  const at = (where) => (typeof where === 'string' ? page.locator(where) : where);
  return {
    async click(where) {
      count.clicks++;
      await at(where).click();
    },
    // Pressing waits for the whole page, because a browser shows a page only then.
    async press(key) {
      count.keys++;
      await page.waitForLoadState();
      await page.keyboard.press(key);
    },
    async type(text) {
      count.keys += [...text].length;
      await page.keyboard.type(text);
    },
    // done returns { clicks, keys, seconds } so far. The seconds are a machine's.
    done: () => ({ ...count, seconds: (performance.now() - since) / 1000 }),
  };
}
