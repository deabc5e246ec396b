// The sheet on which figures are drawn: panels side by side as the width allows, words, lines, axes.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif';
const pencil = document.createElement('canvas').getContext('2d');

/** A text's width in pixels. */
function widthOf(text, size = 12, bold = false) {
  pencil.font = `${bold ? '600 ' : ''}${size}px ${FONT}`;
  return pencil.measureText(text).width;
}

const widest = (texts, size) => texts.reduce((most, text) => Math.max(most, widthOf(text, size)), 0);

/** The start of a text that fits a width. */
function fitted(text, width, size = 12) {
  if (widthOf(text, size) <= width) return text;
  let end = text.length;
  while (end > 1 && widthOf(text.slice(0, end) + '\u2026', size) > width) end -= 1;
  return text.slice(0, end) + '\u2026';
}

/** A text in lines of at most a width, cut between words. */
function lined(text, width, size = 12, bold = false) {
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && widthOf(longer, size, bold) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function newBoard(figure, width) {
  const board = { width, height: 0, marks: [], groups: [], notes: [], figure };
  const root = draw('g');
  let target = root;
  const put = (name, attributes, ...children) => {
    const node = draw(name, attributes, ...children);
    target.append(node);
    return node;
  };
  const tenth = (value) => Math.round(value * 10) / 10;
  board.text = (x, y, text, { anchor, size = 12, fill = 'var(--soft)', bold, halo } = {}) =>
    put('text', {
      stroke: halo ? 'var(--paper)' : null, 'stroke-width': halo ? 3 : null, 'paint-order': halo ? 'stroke' : null,
      x: tenth(x), y: tenth(y), 'font-size': size, fill, 'text-anchor': anchor, 'font-weight': bold ? 600 : null }, text);
  board.line = (x1, y1, x2, y2, stroke, width = 1, dash = null) =>
    put('line', { x1: tenth(x1), y1: tenth(y1), x2: tenth(x2), y2: tenth(y2), stroke, 'stroke-width': width, 'stroke-dasharray': dash || null });
  board.rect = (x, y, width, height, fill, opacity = 1) =>
    put('rect', { x: tenth(x), y: tenth(y), width: tenth(Math.max(width, 0)), height: tenth(Math.max(height, 0)), fill, 'fill-opacity': opacity < 1 ? opacity : null });
  board.polyline = (points, stroke, width, dash = null) =>
    put('polyline', { points: points.map((point) => point.map(tenth).join(',')).join(' '), fill: 'none', stroke, 'stroke-width': width, 'stroke-linejoin': 'round', 'stroke-dasharray': dash || null });
  board.polygon = (points, fill, opacity) =>
    put('polygon', { points: points.map((point) => point.map(tenth).join(',')).join(' '), fill, 'fill-opacity': opacity });
  board.shape = (kind, x, y, radius, colour) => target.append(shape(kind, tenth(x), tenth(y), radius, colour));
  /** What a policy has: others fade while one is looked at. */
  board.of = (policy, act) => {
    const before = target;
    target = draw('g', { 'data-policy': policy });
    before.append(target);
    board.groups.push({ policy, node: target });
    act();
    target = before;
  };
  /** A place that tells a row of the table behind. */
  board.mark = (x, y, row, policy, box) => board.marks.push({ x, y, row, policy, box });

  /** Panels with their titles; `height` gives that of a panel's inside from its number and width. */
  board.panels = (titles, least, height) => {
    const gap = 36;
    const most = Math.max(1, Math.floor((width + gap) / (least + gap)));
    const columns = Math.max(1, Math.min(figure.across, titles.length, most));
    const each = (width - gap * (columns - 1)) / columns;
    const areas = [];
    let top = 4;
    for (let first = 0; first < titles.length; first += columns) {
      const row = titles.slice(first, first + columns);
      const heights = row.map((_, i) => height(first + i, each));
      row.forEach((title, i) => {
        const x = i * (each + gap);
        board.text(x, top + 13, fitted(title, each, 13.5), { size: 13.5, fill: 'var(--ink)', bold: true });
        areas.push({ x, y: top + 28, width: each, height: heights[i] });
      });
      top += 28 + Math.max(...heights) + 26;
    }
    board.height = top - 18;
    return areas;
  };
  /** A grid with the values of a vertical axis at its left, and what they are above. */
  board.vertical = (plot, axis, title, factor) => {
    const ticks = axis.ticks(26);
    const labels = tickLabels(ticks.map((tick) => tick * factor));
    ticks.forEach((tick, i) => {
      const y = axis.at(tick);
      board.line(plot.x, y, plot.x + plot.width, y, 'var(--grid)');
      board.text(plot.x - 8, y + 4, labels[i], { anchor: 'end' });
    });
    board.text(plot.x - 40, plot.y - 10, title);
  };
  board.horizontal = (plot, axis, ticks, title) => {
    const y = plot.y + plot.height;
    board.line(plot.x, y, plot.x + plot.width, y, 'var(--soft)');
    for (const [value, label] of ticks) {
      const x = axis.at(value);
      board.line(x, y, x, y + 4, 'var(--soft)');
      board.text(x, y + 18, label, { anchor: 'middle' });
    }
    // What a note says too stands in parentheses, and goes first.
    const [whole, short] = [title, title.replace(/ \(.*\)$/, '')];
    const room = plot.width + 40;
    board.text(plot.x + plot.width / 2, y + 37, widthOf(whole) <= room ? whole : fitted(short, room), { anchor: 'middle' });
  };
  board.finish = (banner) => {
    for (const [i, line] of lined(banner, board.width, 12, true).entries()) {
      board.height += i ? 16 : 20;
      board.text(0, board.height - 5, line, { fill: 'var(--warn)', bold: true });
    }
    return draw('svg', {
      width: Math.ceil(board.width), height: Math.ceil(board.height), viewBox: `0 0 ${Math.ceil(board.width)} ${Math.ceil(board.height)}`,
      'font-family': FONT, 'aria-hidden': 'true', focusable: 'false',
    }, root);
  };
  return board;
}

/** Moves places apart to at least a gap, within bounds, keeping their order. */
function apart(places, gap, top, bottom) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b] || a - b);
  gap = Math.min(gap, (bottom - top) / Math.max(places.length - 1, 1));
  const moved = [...places];
  let least = top;
  for (const i of order) {
    moved[i] = Math.max(moved[i], least);
    least = moved[i] + gap;
  }
  let most = bottom;
  for (const i of order.reverse()) {
    moved[i] = Math.min(moved[i], most);
    most = moved[i] - gap;
  }
  return moved;
}

/** The numbers of a row: the first of them, and the one at another place. */
const first = (column, row) => [column.v[row]].flat()[0];
const second = (column, row) => (Array.isArray(column.v[row]) ? column.v[row][1] : null);

/** The policy that a row of a figure's table names. */
function policyIn(figure, row) {
  const column = figure.table.c.find((one) => one.p);
  const name = column && unmarked(cellText(column, row));
  return placeOf.has(name) ? name : undefined;
}
