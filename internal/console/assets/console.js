// Adds to the pages what HTML alone can't do: search while typing, live updates and keyboard
// shortcuts. Every page works without this file. It creates no markup: it only inserts pages
// that the server sent for paths of this origin.
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

  // ---- Fetching a page of the console and inserting it.

  async function fetchPage(request, options = {}) {
    const answer = await fetch(request, { credentials: 'same-origin', headers: { Accept: 'text/html' }, ...options });
    const kind = answer.headers.get('Content-Type') || '';
    if (!kind.startsWith('text/html') || new URL(answer.url).origin !== location.origin) throw new Error('no page');
    const doc = new DOMParser().parseFromString(policy.createHTML(await answer.text()), 'text/html');
    return { doc, url: answer.url, status: answer.status };
  }

  // rememberFocus remembers the focused element, and returns a function that focuses it again
  // after elements were replaced: the element with the same id, else the same element of the
  // same list item, else an element of the item that followed it.
  function rememberFocus() {
    const el = document.activeElement;
    if (!el || el === document.body) return () => {};
    const item = el.closest('[data-item]');
    const itemsBefore = all('[data-item]');
    const at = item ? itemsBefore.indexOf(item) : -1;
    const following = itemsBefore.slice(at + 1).map((i) => i.id).filter(Boolean);
    const within = item ? all('a, button, input', item).indexOf(el) : -1;
    const { id } = el;
    const { key } = el.dataset;
    return () => {
      if (document.contains(el) && document.activeElement === el) return;
      let to = id && document.getElementById(id);
      if (!to && at >= 0) {
        const items = all('[data-item]');
        const same = item.id && document.getElementById(item.id);
        const now = same || following.map((i) => document.getElementById(i)).find(Boolean)
          || items[Math.min(at, items.length - 1)];
        // If the item is still there, go on to the next item with the same action.
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

  // rememberScroll remembers the first list item in view, and returns a function that scrolls it
  // back to its position, so that new items above it don't move the text. It does nothing at the
  // top of the page.
  function rememberScroll() {
    const item = scrollY > 0 && all('[data-item][id]').find((el) => el.getBoundingClientRect().bottom > 0);
    if (!item) return () => {};
    const { id } = item;
    const { top } = item.getBoundingClientRect();
    return () => {
      const now = document.getElementById(id);
      if (now) scrollBy(0, now.getBoundingClientRect().top - top);
    };
  }

  // replaceRegions replaces the regions of this page with those of a fetched page, except a
  // region in which the visitor is typing or choosing.
  function replaceRegions(doc, only) {
    const restoreFocus = rememberFocus();
    const restoreScroll = rememberScroll();
    for (const old of all('[data-region]')) {
      const now = $(`[data-region="${CSS.escape(old.dataset.region)}"]`, doc);
      if (!now || (only && !only(old)) || old.isEqualNode(now)) continue;
      if (old.contains(document.activeElement) && typing(document.activeElement)) continue;
      if ($('details[open] form', old) || $('input:checked[data-choose]', old)) continue;
      if (now.dataset.say && now.dataset.say !== old.dataset.say) announce(now.dataset.say);
      old.replaceWith(document.adoptNode(now));
    }
    scrollToSection();
    restoreFocus();
    restoreScroll();
  }

  // scrollToSection scrolls the navigation to the current section, on narrow screens.
  function scrollToSection() {
    const section = $('[data-region=nav] .here');
    if (section) section.closest('nav').scrollLeft = section.offsetLeft - 24;
  }
  scrollToSection();

  let pagesShown = 0; // number of whole pages shown; a response to an earlier request is out of date

  // showPage replaces the content with that of a fetched page. how is a method of history, or false.
  function showPage({ doc, url }, how) {
    const main = $('main', doc);
    if (!main) { location.assign(url); return; }
    pagesShown += 1;
    const restoreFocus = rememberFocus();
    document.title = doc.title;
    $('main').replaceWith(document.adoptNode(main));
    const nav = $('[data-region=nav]', doc);
    if (nav) $('[data-region=nav]').replaceWith(document.adoptNode(nav));
    scrollToSection();
    if (how) history[how](null, '', url);
    restoreFocus();
    const did = $('.did');
    if (did) announce(did.textContent);
  }

  function announce(text) {
    const status = $('#status');
    if (status) status.textContent = text;
  }

  // ---- Search while typing: forms with data-search.

  let searchRequest = null;
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
    if (searchRequest) searchRequest.abort();
    searchRequest = new AbortController();
    try {
      const { doc } = await fetchPage(url, { signal: searchRequest.signal });
      replaceRegions(doc, (region) => region.dataset.region !== 'nav');
      history.replaceState(null, '', url);
      document.title = doc.title;
    } catch (err) {
      if (err.name !== 'AbortError') form.submit();
    }
  }

  // ---- Other forms: a double click sends them once. What is sent first would make the answer to
  // the second a refusal, such as that there is no such session.

  const sentAgain = 10_000; // milliseconds after which a form may be sent again
  const sentAt = new WeakMap();
  document.addEventListener('submit', (e) => {
    const form = e.target;
    if (form.matches('form[data-swap]') || form.method !== 'post' || e.defaultPrevented) return;
    if (e.timeStamp - (sentAt.get(form) ?? -sentAgain) < sentAgain) e.preventDefault();
    else sentAt.set(form, e.timeStamp);
  });
  addEventListener('pageshow', (e) => {
    if (e.persisted) for (const form of document.forms) sentAt.delete(form);
  });

  // ---- Forms with data-swap: sent without leaving the page, one at a time. Keys pressed
  // meanwhile are handled when the new page is there.

  let sending = false;
  let keysWaiting = [];
  document.addEventListener('submit', async (e) => {
    const form = e.target;
    if (!form.matches('form[data-swap]') || form.method !== 'post') return;
    e.preventDefault();
    if (sending) return;
    sending = true;
    // Focus the item of the form, so that the focus moves on to the next item.
    const item = form.closest('[data-item]');
    if (item && !item.contains(document.activeElement)) (e.submitter || $('a, button', item)).focus({ preventScroll: true });
    const body = new URLSearchParams(new FormData(form, e.submitter));
    try {
      const answer = await fetchPage(form.action, { method: 'POST', body });
      if (answer.status >= 400) keysWaiting = [];
      showPage(answer, answer.status < 400 && 'replaceState');
      sending = false;
    } catch {
      keysWaiting = [];
      sending = false;
      for (const [name, value] of e.submitter && e.submitter.name ? [[e.submitter.name, e.submitter.value]] : []) {
        const field = document.createElement('input');
        Object.assign(field, { type: 'hidden', name, value });
        form.append(field);
      }
      form.submit();
    }
    while (keysWaiting.length && !sending) pressKey(keysWaiting.shift(), document.activeElement || document.body);
  });

  // ---- Live updates: a stream sends the topics that changed, and the page fetches itself again.

  let source = null;
  let refreshTimer = 0;
  let lastRefresh = 0;
  function scheduleRefresh() {
    if (refreshTimer) return;
    refreshTimer = setTimeout(async () => {
      refreshTimer = 0;
      lastRefresh = Date.now();
      const shownBefore = pagesShown;
      try {
        const { doc, status } = await fetchPage(location.href);
        if (shownBefore !== pagesShown || sending) scheduleRefresh();
        else if (status === 401) showStale('ended');
        else if (status === 200) {
          // The page that waits for the first turn is replaced as a whole when it arrives.
          const first = (of) => ($('[data-first]', of) || { dataset: {} }).dataset.first;
          if (first(document) !== first(doc)) showPage({ doc, url: location.href });
          else replaceRegions(doc);
          pollPending();
        }
      } catch { /* the next change fetches it again */ }
    }, Math.max(60, 700 - (Date.now() - lastRefresh)));
  }
  // pollPending refreshes a page of which a part is still being computed, less and less often.
  let polls = 0;
  function pollPending() {
    if ($('[data-pending]')) setTimeout(scheduleRefresh, Math.min(100 * 2 ** polls++, 10000));
    else polls = 0;
  }
  pollPending();
  // showStale shows why the page is not updated: stale, ended, or no reason.
  function showStale(why) {
    for (const note of all('.stale')) {
      if (note.id === why && note.hidden) announce(note.textContent);
      note.hidden = note.id !== why;
      for (const link of all('a', note)) link.href = location.href;
    }
  }
  let staleTimer = 0;
  const patience = 5000; // milliseconds without a stream after which the page says so, and between attempts
  function openStream() {
    const { topics, at } = document.body.dataset;
    if (!topics || source || document.hidden) return;
    let first = true;
    source = new EventSource(`/console/events?topics=${encodeURIComponent(topics)}&at=${encodeURIComponent(at)}`);
    source.addEventListener('change', (e) => {
      root.dataset.live = 'yes';
      clearTimeout(staleTimer);
      staleTimer = 0;
      showStale('');
      if (e.data === 'ready' && first) { first = false; return; }
      scheduleRefresh();
    });
    source.onerror = () => {
      root.dataset.live = 'no';
      staleTimer ||= setTimeout(() => { if (!document.hidden && root.dataset.live === 'no') showStale('stale'); }, patience);
      // A stream that was refused stays closed, as when the visit has ended or a proxy answered.
      if (!source || source.readyState !== EventSource.CLOSED) return;
      source = null;
      askAgain();
    };
  }
  async function askAgain() {
    try {
      const { status } = await fetchPage(location.href);
      if (status === 401) { clearTimeout(staleTimer); showStale('ended'); return; }
    } catch { /* it is asked again */ }
    setTimeout(openStream, patience);
  }
  // A hidden page closes its stream: a browser has only six connections for all pages of a server.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) { if (source) source.close(); source = null; } else if (document.body.dataset.topics) { openStream(); scheduleRefresh(); }
  });
  addEventListener('pagehide', () => { if (source) source.close(); source = null; });
  addEventListener('pageshow', openStream);
  openStream();

  // ---- Keyboard shortcuts. They can be turned off, and do nothing while the visitor types.

  const on = { get: () => localStorage.getItem('ken.keys') !== 'off', set: (v) => localStorage.setItem('ken.keys', v ? 'on' : 'off') };
  const dialog = $('#keys');
  const toggle = $('#keys-on');
  if (dialog) {
    for (const b of all('[data-help]')) { b.hidden = false; b.addEventListener('click', () => dialog.showModal()); }
    toggle.checked = on.get();
    toggle.addEventListener('change', () => on.set(toggle.checked));
  }

  let goPressedAt = 0;
  document.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    // In a text area with data-send, Enter sends the form and Shift+Enter starts a new line. In
    // other text areas, Ctrl+Enter sends the form.
    if (e.key === 'Enter' && e.target.matches('textarea') && e.target.form && !e.shiftKey && !e.altKey
      && (e.ctrlKey || e.metaKey || e.target.matches('[data-send]'))) {
      e.preventDefault();
      e.target.form.requestSubmit();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || !on.get()) return;
    if (typing(e.target)) {
      if (e.key === 'Escape') leaveField(e.target);
      return;
    }
    if (dialog && dialog.open) return;
    if (sending && e.key.length === 1) {
      if (!e.repeat) keysWaiting.push(e.key);
      e.preventDefault();
      return;
    }
    if (pressKey(e.key, e.target)) e.preventDefault();
  });

  // leaveField closes the <details> of a field and focuses its summary.
  function leaveField(field) {
    const folded = field.closest('details');
    const summary = folded && $('summary', folded);
    if (!summary) { field.blur(); return; }
    folded.open = false;
    summary.focus();
  }

  function pressKey(key, target) {
    if (goPressedAt && Date.now() - goPressedAt < 1500) {
      goPressedAt = 0;
      const link = $(`[data-go="${CSS.escape(key)}"]`);
      if (link) { location.assign(link.href); return true; }
    }
    switch (key) {
      case 'g': goPressedAt = Date.now(); return true;
      case '/': $('#search, #find').focus(); $('#search, #find').select(); return true;
      case '?': if (dialog) dialog.showModal(); return true;
      case 'j': case 'k': return moveFocus(key === 'j' ? 1 : -1, target);
      default:
    }
    const item = target.closest ? target.closest('[data-item]') : null;
    const css = `[data-key="${CSS.escape(key)}"]`;
    const button = (item && $(css, item)) || $(`${css}:not([data-item] *)`) || (!item && $(`[data-item] ${css}`));
    if (!button) return key === 's' && !!item && moveFocus(1, target); // skips it
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

  function moveFocus(by, target) {
    const items = all('[data-item]');
    if (!items.length) return false;
    const at = items.indexOf(target.closest ? target.closest('[data-item]') : null);
    const to = items[Math.max(0, Math.min(items.length - 1, at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by))];
    const el = $('button[data-key], summary[data-key]', to) || $('a, button, input', to);
    if (el) { el.focus(); to.scrollIntoView({ block: 'nearest' }); }
    return true;
  }

  // ---- Copy buttons, and lists with check boxes.

  document.addEventListener('click', async (e) => {
    const copy = e.target.closest('[data-copy]');
    if (copy) { await navigator.clipboard.writeText(copy.dataset.copy); announce('Copied.'); }
    const every = e.target.closest('[data-choose-all]');
    if (every) for (const box of all('input[data-choose]')) box.checked = every.checked;
    if (every || e.target.closest('[data-choose]')) {
      const n = all('input[data-choose]:checked').length;
      for (const where of all('[data-chosen]')) where.textContent = n ? `${n} chosen` : '';
    }
  });
})();
