// What a page can't do by itself: search as one types, follow changes, single keys.
// Every page works without this file. It makes no markup: what it puts into the page
// is what the server sent for this origin's own addresses.
'use strict';
(() => {
  const policy = window.trustedTypes
    ? trustedTypes.createPolicy('ken', { createHTML: (s) => s })
    : { createHTML: (s) => s };
  const root = document.documentElement;
  root.classList.add('scripted');
  const $ = (css, of = document) => of.querySelector(css);
  const all = (css, of = document) => [...of.querySelectorAll(css)];
  const typing = (el) => !!el && el.matches('input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]');

  // ---- Pages of ours, fetched and put in place.

  async function fetched(request, options = {}) {
    const answer = await fetch(request, { credentials: 'same-origin', headers: { Accept: 'text/html' }, ...options });
    const kind = answer.headers.get('Content-Type') || '';
    if (!kind.startsWith('text/html') || new URL(answer.url).origin !== location.origin) throw new Error('no page');
    const doc = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html');
    return { doc, url: answer.url, status: answer.status };
  }

  // held remembers what has the focus, so that it can be found again among new elements:
  // by its id, else the same thing in the same item of a list, else in the item that has
  // taken its place.
  function held() {
    const el = document.activeElement;
    if (!el || el === document.body) return () => {};
    const item = el.closest('[data-item]');
    const at = item ? all('[data-item]').indexOf(item) : -1;
    const within = item ? all('a, button, input', item).indexOf(el) : -1;
    const { id } = el;
    const { key } = el.dataset;
    return () => {
      if (document.contains(el) && document.activeElement === el) return;
      let to = id && document.getElementById(id);
      if (!to && at >= 0) {
        const items = all('[data-item]');
        const same = item.id && document.getElementById(item.id);
        const now = same || items[Math.min(at, items.length - 1)];
        // What was done to an item that stays can be done to the next one that it is open for.
        const from = same ? items.slice(items.indexOf(same)) : [now];
        const open = now && key && from.map((i) => $(`[data-key="${CSS.escape(key)}"]`, i)).find(Boolean);
        to = now && (open || (same && all('a, button, input', now)[within])
          || $('button[data-key], summary[data-key]', now) || $('a', now));
        if (to && !same) now.scrollIntoView({ block: 'nearest' });
        if (!now) to = $('main'); // the list is empty
      }
      if (to) to.focus({ preventScroll: true });
    };
  }

  // read remembers the first item of a list in view, unless the page is at its top, so that
  // what comes in above it does not shift what is being read.
  function read() {
    const item = scrollY > 0 && all('[data-item][id]').find((el) => el.getBoundingClientRect().bottom > 0);
    if (!item) return () => {};
    const { id } = item;
    const { top } = item.getBoundingClientRect();
    return () => {
      const now = document.getElementById(id);
      if (now) scrollBy(0, now.getBoundingClientRect().top - top);
    };
  }

  // replace puts the regions of a fetched page in the place of this page's. One in which
  // somebody is typing stays as it is.
  function replace(doc, only) {
    const back = held();
    const stay = read();
    for (const old of all('[data-region]')) {
      const now = $(`[data-region="${CSS.escape(old.dataset.region)}"]`, doc);
      if (!now || (only && !only(old)) || old.isEqualNode(now)) continue;
      if (old.contains(document.activeElement) && typing(document.activeElement)) continue;
      if ($('details[open] form', old) || $('input:checked[data-choose]', old)) continue;
      if (now.dataset.say && now.dataset.say !== old.dataset.say) say(now.dataset.say);
      old.replaceWith(document.adoptNode(now));
    }
    here();
    back();
    stay();
  }

  // here has the section that one is in in view, where there is no room for all of them.
  function here() {
    const section = $('[data-region=nav] .here');
    if (section) section.closest('nav').scrollLeft = section.offsetLeft - 24;
  }
  here();

  let shows = 0; // whole pages that were shown: what was asked for before is out of date

  // show puts a whole fetched page in the place of this one's content.
  function show({ doc, url }, how) {
    const main = $('main', doc);
    if (!main) { location.assign(url); return; }
    shows += 1;
    const back = held();
    document.title = doc.title;
    $('main').replaceWith(document.adoptNode(main));
    const nav = $('[data-region=nav]', doc);
    if (nav) $('[data-region=nav]').replaceWith(document.adoptNode(nav));
    here();
    if (how) history[how](null, '', url);
    back();
    const did = $('.did');
    if (did) say(did.textContent);
  }

  function say(text) {
    const status = $('#status');
    if (status) status.textContent = text;
  }

  // ---- Search as one types: forms with data-search.

  let asking = null;
  let wait = 0;
  document.addEventListener('input', (e) => {
    const form = e.target.closest('form[data-search]');
    if (!form || e.isComposing) return;
    clearTimeout(wait);
    wait = setTimeout(() => search(form), 110);
  });
  document.addEventListener('change', (e) => {
    if (e.target.matches('[data-submit]')) e.target.form.requestSubmit();
  });

  async function search(form) {
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value) url.searchParams.append(name, value);
    if (asking) asking.abort();
    asking = new AbortController();
    try {
      const { doc } = await fetched(url, { signal: asking.signal });
      replace(doc, (region) => region.dataset.region !== 'nav');
      history.replaceState(null, '', url);
      document.title = doc.title;
    } catch (err) {
      if (err.name !== 'AbortError') form.submit();
    }
  }

  // ---- Forms with data-swap: sent without leaving the page, one at a time. Keys that are
  // pressed meanwhile are meant for the page that comes, and wait for it.

  let sending = false;
  let pressed = [];
  document.addEventListener('submit', async (e) => {
    const form = e.target;
    if (!form.matches('form[data-swap]') || form.method !== 'post') return;
    e.preventDefault();
    if (sending) return;
    sending = true;
    // The decision is about an item: the one after it is where to go on.
    const item = form.closest('[data-item]');
    if (item && !item.contains(document.activeElement)) (e.submitter || $('a, button', item)).focus({ preventScroll: true });
    const body = new URLSearchParams(new FormData(form, e.submitter));
    try {
      const answer = await fetched(form.action, { method: 'POST', body });
      if (answer.status >= 400) pressed = [];
      show(answer, answer.status < 400 && 'replaceState');
      sending = false;
    } catch {
      pressed = [];
      sending = false;
      for (const [name, value] of e.submitter && e.submitter.name ? [[e.submitter.name, e.submitter.value]] : []) {
        const field = document.createElement('input');
        Object.assign(field, { type: 'hidden', name, value });
        form.append(field);
      }
      form.submit();
    }
    while (pressed.length && !sending) press(pressed.shift(), document.activeElement || document.body);
  });

  // ---- Live: a stream says which topics changed, and the page asks for itself.

  let source = null;
  let due = 0;
  let last = 0;
  function refresh() {
    if (due) return;
    due = setTimeout(async () => {
      due = 0;
      last = Date.now();
      const asked = shows;
      try {
        const { doc, status } = await fetched(location.href);
        if (asked !== shows || sending) refresh();
        else if (status === 200) {
          // A page that waits for the first turn becomes another one with it.
          const first = (of) => ($('[data-first]', of) || { dataset: {} }).dataset.first;
          if (first(document) !== first(doc)) show({ doc, url: location.href });
          else replace(doc);
          pending();
        }
      } catch { /* the next change asks again */ }
    }, Math.max(60, 700 - (Date.now() - last)));
  }
  // What is still being found out, behind the page, is asked for again, less and less
  // often.
  let tries = 0;
  function pending() {
    if ($('[data-pending]')) setTimeout(refresh, Math.min(100 * 2 ** tries++, 10000));
    else tries = 0;
  }
  pending();
  function follow() {
    const { topics, at } = document.body.dataset;
    if (!topics || source || document.hidden) return;
    let first = true;
    source = new EventSource(`/console/events?topics=${encodeURIComponent(topics)}&at=${encodeURIComponent(at)}`);
    source.addEventListener('change', (e) => {
      root.dataset.live = 'yes';
      if (e.data === 'ready' && first) { first = false; return; }
      refresh();
    });
    source.onerror = () => { root.dataset.live = 'no'; };
  }
  // A hidden page holds no connection: a browser has six of them for all its pages.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) { if (source) source.close(); source = null; } else if (document.body.dataset.topics) { follow(); refresh(); }
  });
  addEventListener('pagehide', () => { if (source) source.close(); source = null; });
  addEventListener('pageshow', follow);
  follow();

  // ---- Keys. They can be switched off, and do nothing while somebody types.

  const on = { get: () => localStorage.getItem('ken.keys') !== 'off', set: (v) => localStorage.setItem('ken.keys', v ? 'on' : 'off') };
  const dialog = $('#keys');
  const toggle = $('#keys-on');
  if (dialog) {
    for (const b of all('[data-help]')) { b.hidden = false; b.addEventListener('click', () => dialog.showModal()); }
    toggle.checked = on.get();
    toggle.addEventListener('change', () => on.set(toggle.checked));
  }

  let went = 0;
  document.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    // What is written in a field with data-send is sent by Enter, and Shift+Enter is a new
    // line; in any other of several lines Ctrl+Enter sends.
    if (e.key === 'Enter' && e.target.matches('textarea') && e.target.form && !e.shiftKey && !e.altKey
      && (e.ctrlKey || e.metaKey || e.target.matches('[data-send]'))) {
      e.preventDefault();
      e.target.form.requestSubmit();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || !on.get()) return;
    if (typing(e.target)) {
      if (e.key === 'Escape') leave(e.target);
      return;
    }
    if (dialog && dialog.open) return;
    if (sending && e.key.length === 1) {
      if (!e.repeat) pressed.push(e.key);
      e.preventDefault();
      return;
    }
    if (press(e.key, e.target)) e.preventDefault();
  });

  // leave goes from a field back to what unfolded it.
  function leave(field) {
    const folded = field.closest('details');
    const summary = folded && $('summary', folded);
    if (!summary) { field.blur(); return; }
    folded.open = false;
    summary.focus();
  }

  function press(key, target) {
    if (went && Date.now() - went < 1500) {
      went = 0;
      const link = $(`[data-go="${CSS.escape(key)}"]`);
      if (link) { location.assign(link.href); return true; }
    }
    switch (key) {
      case 'g': went = Date.now(); return true;
      case '/': $('#search, #find').focus(); $('#search, #find').select(); return true;
      case '?': if (dialog) dialog.showModal(); return true;
      case 'j': case 'k': return move(key === 'j' ? 1 : -1, target);
      default:
    }
    const item = target.closest ? target.closest('[data-item]') : null;
    const css = `[data-key="${CSS.escape(key)}"]`;
    const button = (item && $(css, item)) || $(`${css}:not([data-item] *)`) || (!item && $(`[data-item] ${css}`));
    if (!button) return key === 's' && !!item && move(1, target); // skips it
    if (button.disabled) return false;
    if (button.closest('[data-item]')) button.focus();
    button.click();
    const field = button.matches('summary') && $('textarea, input:not([type=hidden])', button.parentElement);
    if (field && button.parentElement.open) {
      field.focus();
      if (field.matches('textarea, [type=text], :not([type])')) field.setSelectionRange(field.value.length, field.value.length);
    }
    return true;
  }

  function move(by, target) {
    const items = all('[data-item]');
    if (!items.length) return false;
    const at = items.indexOf(target.closest ? target.closest('[data-item]') : null);
    const to = items[Math.max(0, Math.min(items.length - 1, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))];
    const el = $('button[data-key], summary[data-key]', to) || $('a, button, input', to);
    if (el) { el.focus(); to.scrollIntoView({ block: 'nearest' }); }
    return true;
  }

  // ---- What is copied, and lists in which several are chosen.

  document.addEventListener('click', async (e) => {
    const copy = e.target.closest('[data-copy]');
    if (copy) { await navigator.clipboard.writeText(copy.dataset.copy); say('Copied.'); }
    const every = e.target.closest('[data-choose-all]');
    if (every) for (const box of all('input[data-choose]')) box.checked = every.checked;
    if (every || e.target.closest('[data-choose]')) {
      const n = all('input[data-choose]:checked').length;
      for (const where of all('[data-chosen]')) where.textContent = n ? `${n} chosen` : '';
    }
  });
})();
