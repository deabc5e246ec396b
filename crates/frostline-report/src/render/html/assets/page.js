// Switches policies, highlights them, shows values and sorts tables. All of it is in the page without this script.
// Nothing here parses a text as HTML: what comes from files can only be read.

const all = (query, root = document) => [...root.querySelectorAll(query)];

/** An element with attributes and children; a child that is a string becomes a text node. */
function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

function button(label, act, attributes) {
  const node = el('button', { type: 'button', class: 'quiet', ...attributes }, label);
  node.addEventListener('click', act);
  return node;
}

const WORDS = new Intl.Collator('en', { numeric: true });

/** The switches of policies: one for all figures and tables. */
function policySwitches() {
  const bar = document.getElementById('policies');
  if (!bar) return;
  const switches = all('.policy', bar);
  const off = new Set();
  const hidden = el('span', { class: 'hidden-count', role: 'status' });
  const apply = () => {
    all('[data-policy]').forEach((node) => node.classList.toggle('off', off.has(node.dataset.policy)));
    switches.forEach((node) => node.setAttribute('aria-pressed', String(!off.has(node.dataset.name))));
    hidden.textContent = off.size ? `${off.size} of ${switches.length} hidden` : '';
  };
  const only = (shown) => {
    switches.forEach(({ dataset: { name } }) => (shown(name) ? off.delete(name) : off.add(name)));
    apply();
  };
  for (const node of switches) {
    const name = node.dataset.name;
    node.addEventListener('click', () => {
      if (!off.delete(name)) off.add(name);
      apply();
    });
    node.addEventListener('dblclick', () => only((other) => other === name));
  }
  bar.firstElementChild.append(el('span', { class: 'ends' }, hidden, button('Show all', () => only(() => true)), button('Hide all', () => only(() => false))));
  bar.hidden = false;
}

/** Values of a figure under the pointer, and one by one with the arrow keys. */
function showValues(chart) {
  const told = new Map();
  for (const part of all('[data-value]', chart)) {
    const title = part.querySelector(':scope > title');
    if (!title) continue;
    told.set(part, title.textContent);
    title.remove();
  }
  const tip = el('div', { class: 'tip', hidden: true });
  const spoken = el('p', { class: 'unseen', role: 'status' });
  let lit = null;
  const show = (part, speak) => {
    lit?.classList.remove('lit');
    lit = part;
    tip.hidden = !part;
    const policy = part?.closest('[data-policy]')?.dataset.policy;
    all('[data-policy]', chart).forEach((node) => node.classList.toggle('dim', Boolean(policy) && node.dataset.policy !== policy));
    if (!part) return;
    part.classList.add('lit');
    tip.textContent = told.get(part);
    if (speak) spoken.textContent = told.get(part);
    const [box, edge] = [part.getBoundingClientRect(), chart.getBoundingClientRect()];
    const isLeft = box.left - edge.left < edge.right - box.right;
    tip.style.left = isLeft ? `${box.right - edge.left + chart.scrollLeft + 8}px` : '';
    tip.style.right = isLeft ? '' : `${edge.right - box.left - chart.scrollLeft + 8}px`;
    tip.style.top = `${Math.max(box.top - edge.top - 12, 0)}px`;
  };
  const under = (event) => {
    const part = event.target.closest('[data-value]');
    const found = part && told.has(part) ? part : null;
    if (found !== lit) show(found, false);
  };
  chart.addEventListener('pointermove', under);
  chart.addEventListener('pointerdown', under);
  chart.addEventListener('pointerleave', () => show(null));
  chart.addEventListener('blur', () => show(null));
  chart.addEventListener('keydown', (event) => {
    const { key } = event;
    const parts = [...told.keys()].filter((part) => !part.closest('.off'));
    const at = parts.indexOf(lit);
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at < 0 ? parts.length - 1 : at - 1, ArrowUp: at - 1, Home: 0, End: parts.length - 1 }[key];
    if (key === 'Escape') show(null);
    if (next === undefined || !parts.length) return;
    event.preventDefault();
    show(parts[(next + parts.length) % parts.length], true);
  });
  Object.entries({ tabindex: 0, role: 'application', 'aria-roledescription': 'figure' }).forEach(([key, value]) => chart.setAttribute(key, value));
  chart.append(tip);
  chart.after(spoken);
}

/** What a cell is sorted by: a number if it begins with one, words otherwise, nothing if it has no value. */
function sortKey(cell) {
  const text = cell.textContent.trim();
  if (text === '\u2013' || text === '') return undefined;
  const number = !cell.classList.contains('t') ? Number.parseFloat(text.replaceAll(',', '').replace('\u2212', '-')) : Number.NaN;
  return Number.isNaN(number) ? text : number;
}

/** Columns that sort, and a field that filters rows if there are many. */
function sortTable(table) {
  const [body] = table.tBodies;
  const original = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const state = { by: -1, down: false };
  const sort = (at) => {
    // Numbers start with the highest, words with the first.
    if (state.by === at) state.down = !state.down;
    else Object.assign(state, { by: at, down: !heads[at].classList.contains('t') });
    heads.forEach((head, i) => (i === at ? head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending') : head.removeAttribute('aria-sort')));
    const keys = original.map((row, i) => [sortKey(row.cells[at]), i, row]);
    const sign = state.down ? -1 : 1;
    const isNumber = (key) => typeof key === 'number';
    keys.sort(([a, i], [b, j]) => {
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || i - j;
      // Words are below numbers, whichever way these are sorted.
      if (isNumber(a) !== isNumber(b)) return isNumber(b) - isNumber(a);
      return sign * (isNumber(a) ? a - b : WORDS.compare(a, b)) || i - j;
    });
    body.append(...keys.map(([, , row]) => row));
  };
  heads.forEach((head, at) => head.replaceChildren(button([el('span', null, [...head.childNodes]), el('span', { class: 'arrow', 'aria-hidden': 'true' })], () => sort(at), { class: null })));
  if (original.length <= 25) return;
  const field = el('input', { type: 'search', placeholder: 'Filter rows', 'aria-label': `Filter rows: ${table.caption.textContent}` });
  field.addEventListener('input', () => {
    const parts = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of original) {
      const text = parts.length ? row.textContent.toLowerCase() : '';
      row.hidden = !parts.every((part) => text.includes(part));
    }
  });
  table.parentElement.before(el('p', { class: 'tools' }, field));
}

/** Light, dark, or as the system is. */
function themeSwitch() {
  const themes = ['auto', 'light', 'dark'];
  const stored = (act) => {
    try {
      return act(localStorage);
    } catch (_) {
      return null; // A page from disk may have no storage.
    }
  };
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    node.textContent = `Theme: ${theme}`;
    stored((storage) => storage.setItem('frostline-theme', theme));
  };
  const node = button('', () => use(themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length]), { id: 'theme' });
  const theme = stored((storage) => storage.getItem('frostline-theme'));
  use(themes.includes(theme) ? theme : 'auto');
  document.getElementById('tools').append(node);
}

function start() {
  themeSwitch();
  policySwitches();
  all('.chart').forEach(showValues);
  all('.table table').forEach(sortTable);
  all('#sentences-place').forEach(showSentences);
  document.documentElement.dataset.ready = 'yes';
}
