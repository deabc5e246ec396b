// A figure: its title, the image, what it shows under the pointer or the arrow keys, and the table behind it.

const PAINTERS = {};

/** Fills a place with a figure. */
function showFigure(place, figure) {
  const policyColumn = figure.table.c.findIndex((column) => column.p);
  const image = el('div', { class: 'image' });
  const tip = el('div', { class: 'tip', hidden: true });
  // What arrow keys reach is told here.
  const spoken = el('p', { class: 'unseen', role: 'status' });
  const chart = el('div', {
    class: 'chart', tabindex: '0', role: 'application', 'aria-roledescription': 'figure',
    'aria-label': `${figure.title}. Arrow keys tell its values one by one; the table behind it has all.`,
  }, image, tip);
  const notes = el('ul', { class: 'notes' });
  const state = { marks: [], groups: [], at: -1, ring: null, svg: null, width: 0 };

  const paint = (width) => {
    if (!width) return;
    const board = newBoard(figure, width);
    PAINTERS[figure.kind](board, figure);
    const svg = board.finish(page.synthetic || '');
    Object.assign(state, { marks: board.marks, groups: board.groups, at: -1, ring: null, svg, width });
    image.replaceChildren(svg);
    tip.hidden = true;
    const all = [...board.notes, ...figure.notes];
    notes.replaceChildren(...all.map((note) => el('li', null, note)));
  };

  const tell = (at, speak) => {
    state.at = at;
    state.ring?.remove();
    const mark = state.marks[at];
    for (const group of state.groups) {
      const other = mark && mark.policy && group.policy && group.policy !== mark.policy;
      group.node.setAttribute('opacity', other ? '0.2' : '1');
    }
    tip.hidden = !mark;
    if (!mark) return;
    state.ring = draw('circle', { class: 'cursor', cx: mark.x, cy: mark.y, r: 8, fill: 'none', stroke: 'var(--accent)', 'stroke-width': 2 });
    state.svg.append(state.ring);
    const said = figure.table.c
      .map((column) => [unmarked(column.h), unmarked(cellText(column, mark.row))])
      .filter(([head, text]) => text !== '\u2013' && text !== '' && !(head === 'Panel' && figure.panels.length < 2));
    tip.replaceChildren(...said.map(([head, text]) => el('div', null, el('span', { class: 'head' }, head), el('span', null, text))));
    const [left, right] = [mark.x, state.width - mark.x];
    tip.style.left = left < right ? `${mark.x - image.parentNode.scrollLeft + 14}px` : '';
    tip.style.right = left < right ? '' : `${right + image.parentNode.scrollLeft + 14}px`;
    tip.style.top = `${Math.max(mark.y - 20, 0)}px`;
    if (speak) spoken.textContent = said.map((pair) => pair.join(' ')).join(', ');
  };

  chart.addEventListener('pointermove', (event) => {
    const box = image.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [best, distance] = [-1, 26 * 26];
    state.marks.forEach((mark, at) => {
      const inside = mark.box && x >= mark.box[0] && x <= mark.box[2] && y >= mark.box[1] && y <= mark.box[3];
      const found = inside ? 0 : (mark.x - x) ** 2 + (mark.y - y) ** 2;
      if (found < distance) [best, distance] = [at, found];
    });
    if (best !== state.at) tell(best, false);
  });
  chart.addEventListener('pointerleave', () => tell(-1, false));
  chart.addEventListener('blur', () => tell(-1, false));
  chart.addEventListener('keydown', (event) => {
    const next = step(state.marks, state.at, event.key);
    if (next === undefined) return;
    event.preventDefault();
    tell(next, true);
  });

  const rows = () => Array.from({ length: figure.table.n }, (_, row) => row)
    .filter((row) => policyColumn < 0 || isShown(unmarked(cellText(figure.table.c[policyColumn], row))));
  const name = `${fileName(page.name)}-${figure.file}`;
  const tools = el('div', { class: 'tools' },
    button('SVG', () => save(`${name}.svg`, [svgText(state.svg, figure.title, figure.about)], 'image/svg+xml'),
      { class: 'quiet', 'aria-label': `Save as SVG: ${figure.title}` }),
    button('PNG', () => savePng(`${name}.png`, state.svg, figure.title, figure.about),
      { class: 'quiet', 'aria-label': `Save as PNG: ${figure.title}` }),
    button('CSV', () => save(`${name}.csv`, [csv(figure.table, rows())], 'text/csv;charset=utf-8'),
      { class: 'quiet', 'aria-label': `Save as CSV: ${figure.title}` }));
  const behind = el('div');
  const details = el('details', { class: 'behind' }, el('summary', null, `Table behind the figure (${grouped(figure.table.n)} rows)`), behind);
  details.addEventListener('toggle', () => {
    if (details.open && !behind.hasChildNodes()) showTable(behind, figure.table, figure.title);
  });
  place.replaceChildren(el('figcaption', null, el('strong', null, figure.title), el('span', null, figure.about)), chart, spoken, notes, tools, details);

  const again = () => paint(Math.floor(chart.clientWidth));
  watchers.add(again);
  place.paint = paint;
  place.again = again;
  again();
  new ResizeObserver(soon(() => {
    if (Math.abs(chart.clientWidth - state.width) > 1 && !state.wide) again();
  })).observe(chart);
}

/** The mark that a key leads to from here; nothing for other keys. */
function step(marks, at, key) {
  const last = marks.length - 1;
  if (last < 0) return undefined;
  if (key === 'Escape') return -1;
  if (key === 'Home' || (at < 0 && key.startsWith('Arrow'))) return 0;
  if (key === 'End') return last;
  if (key === 'ArrowRight') return Math.min(at + 1, last);
  if (key === 'ArrowLeft') return Math.max(at - 1, 0);
  if (key !== 'ArrowUp' && key !== 'ArrowDown') return undefined;
  const from = marks[at];
  const sign = key === 'ArrowUp' ? -1 : 1;
  let [best, distance] = [at, Infinity];
  marks.forEach((mark, i) => {
    const dy = sign * (mark.y - from.y);
    const far = dy + 3 * Math.abs(mark.x - from.x);
    if (dy > 1 && far < distance) [best, distance] = [i, far];
  });
  return best;
}
