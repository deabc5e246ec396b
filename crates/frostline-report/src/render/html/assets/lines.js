// Lines over time or size: every line ends in its name.

PAINTERS.lines = (board, figure) => {
  const [, names, xs, ys] = figure.table.c;
  const all = figure.lines.map(([panel, tone, from, to, named]) => ({
    panel, from, to, tone, named, name: unmarked(cellText(names, from)), policy: policyIn(figure, from),
  })).filter((line) => line.to > line.from && isShown(line.policy));
  // Where few are left, all of them have a name and a colour.
  const perPanel = figure.panels.map((_, panel) => all.filter((line) => line.panel === panel).length);
  for (const line of all) {
    if (line.named || perPanel[line.panel] > 24 || !line.policy) continue;
    line.named = 1;
    line.tone = toneOf(line.policy);
  }
  const stats = all.flatMap((line) => rowsOf(line).map((row) => [first(ys, row), figure.spread ? second(ys, row) || 0 : 0]));
  const low = Math.min(...stats.map(([mean, std]) => mean - std), 1e9);
  const high = Math.max(...stats.map(([mean, std]) => mean + (figure.spread === 'whisker' ? Math.min(std, (1 - mean) / 2) : std)), 0);
  const labelled = all.filter((line) => line.named);
  const room = Math.min(widest(labelled.map((line) => line.name), 12) + 36, 0.42 * board.width);
  const height = 300 + Math.max(0, Math.max(0, ...perPanel) - 15) * 9;
  const areas = board.panels(figure.panels, 400, () => height + 62);
  let axis;
  areas.forEach((area, panel) => {
    const lines = all.filter((line) => line.panel === panel);
    const plot = { x: area.x + 42, y: area.y + 22, width: area.width - 42 - room - 12, height };
    if (!lines.length) {
      board.text(plot.x, plot.y + 20, 'Nothing to show');
      return;
    }
    axis = figure.y === 'loss'
      ? scale('log', Math.max(low, 1e-4) / 1.15, Math.max(high, low, 1e-4) * 1.15, plot.y + plot.height, plot.y)
      : accuracyAxis(low, high, plot.y + plot.height, plot.y);
    const [x, ticks] = across(figure, lines, xs, plot);
    board.vertical(plot, axis, figure.yt, figure.y === 'loss' ? 1 : 100);
    board.horizontal(plot, x, ticks, figure.xt);
    // The first policies of a plan are those that others are compared with: they are drawn last.
    const order = [...lines].reverse().sort((a, b) => a.named - b.named);
    for (const line of order) board.of(line.policy, () => oneLine(board, figure, line, x, axis));
    for (const line of lines) {
      for (const row of rowsOf(line)) board.mark(x.at(first(xs, row)), axis.at(first(ys, row)), row, line.policy);
    }
    endNames(board, figure, lines, x, axis, plot, room);
  });
  if (axis && figure.y !== 'loss') board.notes.push(accuracyNote(axis));
  if (['sizes', 'rates'].includes(figure.x)) board.notes.push('The horizontal axis is logarithmic: equal steps are equal factors.');
};

const rowsOf = (line) => Array.from({ length: line.to - line.from }, (_, i) => line.from + i);

/** The horizontal axis with the values that it names. */
function across(figure, lines, xs, plot) {
  const places = lines.flatMap((line) => rowsOf(line).map((row) => first(xs, row)));
  const [from, to] = [plot.x + 6, plot.x + plot.width];
  if (['sizes', 'rates'].includes(figure.x)) {
    const shown = figure.x === 'rates' ? (rate) => rate.toExponential().replace('e+', 'e') : grouped;
    const sizes = [...new Set(places)].sort((a, b) => a - b);
    const axis = scale('log', sizes[0], sizes[sizes.length - 1], from, to);
    const kept = [];
    for (const size of [...sizes].reverse()) {
      if (kept.every((other) => Math.abs(axis.at(other) - axis.at(size)) >= 40)) kept.push(size);
    }
    return [axis, kept.map((size) => [size, shown(size)])];
  }
  const last = Math.max(1, ...places);
  const axis = scale('even', figure.x, last, from, to);
  const ticks = last - figure.x <= 9 && plot.width / (last - figure.x + 1) > 14
    ? Array.from({ length: last - figure.x + 1 }, (_, i) => figure.x + i)
    : axis.ticks(48).filter(Number.isInteger);
  return [axis, ticks.map((tick) => [tick, grouped(tick)])];
}

function oneLine(board, figure, line, x, y) {
  const [, , xs, ys] = figure.table.c;
  const style = look(line.tone);
  const rows = rowsOf(line);
  const place = (row, sign = 0) => [x.at(first(xs, row)), y.at(first(ys, row) + sign * (second(ys, row) || 0))];
  if (figure.spread === 'band' && line.named && rows.some((row) => second(ys, row) !== null)) {
    board.polygon([...rows.map((row) => place(row, 1)), ...[...rows].reverse().map((row) => place(row, -1))], style.colour, 0.14);
  }
  if (figure.spread === 'whisker') {
    for (const row of rows.filter((row) => second(ys, row) !== null)) {
      const [[at, top], [, bottom]] = [place(row, 1), place(row, -1)];
      board.line(at, top, at, bottom, style.colour, 1.2);
    }
  }
  board.polyline(rows.map((row) => place(row)), style.colour, line.named ? 1.9 : 1.2, style.dash);
  if ((figure.key !== 'dashes' && line.named) || rows.length === 1) {
    rows.forEach((row) => board.shape(style.shape, ...place(row), 3.8, style.colour));
  }
}

/** Names at the ends of lines, moved apart where lines end close together. */
function endNames(board, figure, lines, x, y, plot, room) {
  const [, , xs, ys] = figure.table.c;
  const named = lines.filter((line) => line.named);
  const ends = named.map((line) => [x.at(first(xs, line.to - 1)), y.at(first(ys, line.to - 1))]);
  const places = apart(ends.map((end) => end[1]), 15.5, plot.y - 6, plot.y + plot.height - 2);
  const left = plot.x + plot.width + 14;
  named.forEach((line, i) => board.of(line.policy, () => {
    const style = look(line.tone);
    board.line(ends[i][0] + 6, ends[i][1], left - 1, places[i], 'var(--faint)', 0.8);
    board.polyline([[left, places[i]], [left + 14, places[i]]], style.colour, 2, style.dash);
    if (figure.key !== 'dashes') board.shape(style.shape, left + 7, places[i], 3.6, style.colour);
    board.text(left + 19, places[i] + 4, fitted(line.name, room - 34), { fill: 'var(--ink)' });
  }));
}
