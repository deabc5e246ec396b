// Tables: columns that sort, rows that policies switch off, and as many rows as one wants to see.

/** The most rows that are shown before one asks for more. */
const FIRST_ROWS = 40;

/** The text of a cell. */
function cellText(column, row) {
  const texts = column.t;
  if (!texts) return grouped(column.v[row]);
  if (!texts.d) return texts[row];
  return texts.i ? texts.d[texts.i[row]] : texts.d[0];
}

/** The words of a cell without a number; nothing where it has no value. */
function wordsOf(column, row) {
  const text = column.t ? unmarked(cellText(column, row)) : '\u2013';
  return text === '\u2013' ? undefined : text;
}

/** What a cell is sorted by; nothing where it has no value. */
function sortKey(column, row) {
  const value = column.v ? [column.v[row]].flat()[0] : null;
  return value === null || value === undefined ? wordsOf(column, row) : value;
}

const WORDS = new Intl.Collator('en', { numeric: true });

function compare(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : WORDS.compare(String(a), String(b));
}

/** Words that are marked by a colour besides being words. */
const STATES = /^(better|worse|equivalent|undecided|done|failed|missing|supported|contradicted|not decided)\b/;

/** Fills a place with a table. `title` names it. */
function showTable(place, table, title, options = {}) {
  const policyColumn = table.c.findIndex((column) => column.p);
  const policy = (row) => {
    if (policyColumn < 0) return undefined;
    const name = unmarked(cellText(table.c[policyColumn], row));
    return placeOf.has(name) ? name : undefined;
  };
  const named = Array.from({ length: table.n }, (_, row) => policy(row));
  const view = { by: -1, down: false, most: table.n > FIRST_ROWS * 1.5 ? FIRST_ROWS : Infinity, filter: '' };
  const body = el('tbody');
  const more = button('', () => {
    view.most = view.most === Infinity ? FIRST_ROWS : Infinity;
    rows();
  }, { class: 'quiet' });

  const chosen = () => {
    let all = Array.from({ length: table.n }, (_, row) => row).filter((row) => isShown(named[row]));
    if (view.filter) {
      const parts = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
      const text = (row) => table.c.map((column) => cellText(column, row)).join(' ').toLowerCase();
      all = all.filter((row) => {
        const found = text(row);
        return parts.every((part) => found.includes(part));
      });
    }
    if (view.by < 0) return all;
    const keys = all.map((row) => [sortKey(table.c[view.by], row), row]);
    const sign = view.down ? -1 : 1;
    const isNumber = (key) => typeof key === 'number';
    keys.sort(([a, i], [b, j]) => {
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || i - j;
      // Words stand below numbers, whichever way these are sorted.
      if (isNumber(a) !== isNumber(b)) return isNumber(b) - isNumber(a);
      return sign * compare(a, b) || i - j;
    });
    return keys.map(([, row]) => row);
  };

  const cell = (column, row) => {
    const text = cellText(column, row);
    const attributes = {};
    if (column.v) attributes.class = 'number';
    const state = !column.v && STATES.exec(text);
    const nodes = [/[\\`*[]/.test(text) ? marked(text) : text];
    if (column.p && named[row]) nodes.unshift(swatch(named[row]));
    if (state) return el('td', null, el('span', { class: `state ${state[1].replace(' ', '-')}` }, nodes));
    if (text.length > 90) attributes.class = 'long';
    return column.p ? el('th', { scope: 'row', class: 'policy-cell' }, nodes) : el('td', attributes, nodes);
  };

  const rows = () => {
    const all = chosen();
    const shown = all.slice(0, view.most);
    const lines = shown.map((row) => el('tr', null, table.c.map((column) => cell(column, row))));
    if (!lines.length) {
      lines.push(el('tr', null, el('td', { colspan: table.c.length, class: 'empty' }, 'No row is shown: policies are switched off, or the filter matches none.')));
    }
    body.replaceChildren(...lines);
    more.hidden = all.length <= FIRST_ROWS * 1.5;
    more.textContent = view.most === Infinity ? `Show the first ${FIRST_ROWS} rows` : `Show all ${grouped(all.length)} rows`;
  };

  const heads = table.c.map((column, at) => {
    const sort = () => {
      // Numbers start with the highest, words with the first.
      if (view.by === at) view.down = !view.down;
      else [view.by, view.down] = [at, Boolean(column.v)];
      heads.forEach((head, i) => {
        if (i === view.by) head.setAttribute('aria-sort', view.down ? 'descending' : 'ascending');
        else head.removeAttribute('aria-sort');
      });
      rows();
    };
    return el('th', { scope: 'col', class: column.v ? 'number' : null },
      button([el('span', null, marked(column.h)), el('span', { class: 'arrow', 'aria-hidden': 'true' })], sort));
  });

  const tools = el('div', { class: 'tools' });
  if (table.n > 25 && !options.plain) {
    const field = el('input', { type: 'search', placeholder: 'Filter rows', 'aria-label': `Filter rows: ${title}` });
    field.addEventListener('input', () => {
      view.filter = field.value;
      rows();
    });
    tools.append(field);
  }
  tools.append(more, button('CSV', () => save(`${fileName(page.name)}-${fileName(title)}.csv`, [csv(table, chosen())], 'text/csv;charset=utf-8'),
    { class: 'quiet', 'aria-label': `Save as CSV: ${title}` }));
  const scroll = el('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': `Table: ${title}` },
    el('table', null, el('caption', { class: 'unseen' }, title), el('thead', null, el('tr', null, heads)), body));
  place.replaceChildren(scroll, tools);
  rows();
  const edge = soon(() => scroll.classList.toggle('goes-on', scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 2));
  scroll.addEventListener('scroll', edge, { passive: true });
  new ResizeObserver(edge).observe(scroll);
  if (policyColumn >= 0) watchers.add(rows);
}
