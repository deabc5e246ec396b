// Bars with their intervals. An axis that does not start at zero says so; parts of a bar have a legend.

PAINTERS.bars = (board, figure) => {
  const table = figure.table;
  const column = (name) => table.c.find((one) => one.f === name || one.h === name);
  const value = table.c.find((one) => one.v);
  const of = {
    value, text: value, name: column('Of'), ends: column(figure.interval), diamond: figure.diamond ? column(figure.diamond) : undefined,
    parts: figure.parts ? [value, ...figure.parts.slice(1).map(column)] : [],
  };
  const bars = figure.of.map(([panel, row], at) => ({ panel, row, at, policy: policyIn(figure, at) })).filter((bar) => isShown(bar.policy));
  const single = figure.lengths !== 'groups';
  const tall = single ? 26 : 17;
  const rowsIn = figure.panels.map((panel, number) => panel.rows
    .map(([name, tone], row) => ({ name, tone, bars: bars.filter((bar) => bar.panel === number && bar.row === row), policy: placeOf.has(name) ? name : undefined }))
    .filter((row) => isShown(row.policy)));
  const heightOf = (row) => Math.max(row.bars.length, 1) * tall + (single ? 0 : 10);
  const legend = legendHeight(figure);
  const areas = board.panels(figure.panels.map((panel) => panel.title), 380, (number) => legend(number) + rowsIn[number].reduce((sum, row) => sum + heightOf(row), 0) + 50);
  const names = widest(rowsIn.flat().map((row) => row.name)) + 10;
  const inner = single || !of.name ? 0 : widest(bars.map((bar) => cellText(of.name, bar.at)), 11.5) + 12;
  const numbers = figure.lengths === 'parts' ? 70 : widest(bars.map((bar) => cellText(value, bar.at))) + 14;
  areas.forEach((area, number) => {
    const left = Math.min(names, area.width * 0.36) + inner;
    const top = area.y + legend(number);
    const rows = rowsIn[number];
    const height = rows.reduce((sum, row) => sum + heightOf(row), 0);
    const plot = { x: area.x + left, y: top, width: Math.max(area.width - left - numbers, 40), height };
    const axis = barAxis(figure, of, bars.filter((bar) => figure.panels[bar.panel].kind === figure.panels[number].kind), number);
    const x = scale('even', axis.low, axis.high, plot.x, plot.x + plot.width);
    axis.lines = figure.panels[number].refs.map(([, share]) => share * 100).filter((share) => share >= axis.low);
    barLegend(board, figure, of, area, bars.some((bar) => bar.panel === number && second(of.value, bar.at) !== null), figure.panels[number].refs);
    const ticks = x.ticks(42);
    for (const tick of ticks) {
      const zero = figure.lengths === 'differences' && Math.abs(tick) < 1e-9;
      board.line(x.at(tick), plot.y, x.at(tick), plot.y + height, zero ? 'var(--ink)' : 'var(--grid)');
    }
    let y = top;
    for (const row of rows) {
      board.of(row.policy, () => barRow(board, figure, of, row, x, axis, plot, y, { tall, left: Math.min(names, area.width * 0.36), single }));
      y += heightOf(row);
    }
    const labels = tickLabels(ticks);
    const cut = axis.low > 0 ? ` (axis starts at ${fixed(axis.low, 1).replace(/\.0$/, '')}, not 0)` : axis.unit;
    board.horizontal(plot, x, ticks.map((tick, i) => [tick, labels[i]]), figure.panels[number].axis + cut);
    figure.panels[number].refs.forEach(([, share], i) => {
      if (share * 100 < axis.low) return;
      board.polyline([[x.at(share * 100), plot.y], [x.at(share * 100), plot.y + height]], 'var(--ink)', 1.5, ['2 3', '7 3'][i % 2]);
    });
    if (axis.low > 0 && !board.notes.length) {
      board.notes.push('An axis that does not start at 0 is cut at its left end: the lengths of its bars must not be compared as ratios.');
    }
  });
};

const PARTS = ['var(--p0)', 'var(--p4)', 'var(--faint)'];

const legendHeight = (figure) => (number) => 24 + figure.panels[number].refs.length * 17;

/** The axis that panels of a kind share, in what is told, and the factor to it. */
function barAxis(figure, of, bars, number) {
  if (figure.lengths === 'parts') {
    const most = Math.max(0, ...bars.map((bar) => of.parts.reduce((sum, part) => sum + (first(part, bar.at) || 0), 0)));
    const [unit, sign] = most >= 10800 ? [3600, 'h'] : most >= 600 ? [60, 'min'] : [1, 's'];
    return { low: 0, high: most / unit || 1, factor: 1 / unit, unit: sign };
  }
  const ends = bars.flatMap((bar) => {
    const [mean, std] = [first(of.value, bar.at), second(of.value, bar.at) || 0];
    const interval = (of.ends && of.ends.v[bar.at]) || [mean, mean];
    const diamond = of.diamond ? first(of.diamond, bar.at) : null;
    const spread = figure.lengths === 'differences' ? 0 : std;
    return [mean - spread, mean + spread, ...interval, diamond === null ? mean : diamond];
  }).map((end) => end * 100);
  if (figure.lengths === 'differences') return { low: Math.min(0, ...ends), high: Math.max(0, ...ends), factor: 100, unit: '' };
  let low = Math.min(100, ...ends);
  let high = Math.min(100, Math.max(0, ...ends));
  const wanted = low - Math.max(high - low, 0.5) / 3;
  const step = niceStep((high - wanted) / 8);
  low = wanted < 60 ? Math.min(0, low) : Math.floor(wanted / step) * step;
  high = Math.max(high, ...figure.panels[number].refs.map(([, share]) => share * 100));
  return { low, high: high > 0 ? high : 100, factor: 100, unit: '' };
}

function barRow(board, figure, of, row, x, axis, plot, top, { tall, left, single }) {
  const height = Math.max(row.bars.length, 1) * tall;
  const edge = single ? plot.x - 8 : plot.x - innerWidth(of, figure) - 8;
  board.text(edge, top + height / 2 + (single ? 4 : 9), fitted(row.name, left - 6), { anchor: 'end', fill: 'var(--ink)' });
  if (!row.bars.length) board.text(plot.x + 6, top + height / 2 + 4, 'no result');
  row.bars.forEach((bar, i) => {
    const middle = top + (single ? 0 : 5) + (i + 0.5) * tall;
    const thick = tall * 0.62;
    const label = cellText(of.text, bar.at);
    let reach;
    if (figure.lengths === 'parts') reach = partBar(board, of, bar, x, axis, middle, thick);
    else reach = plainBar(board, figure, of, bar, x, row, middle, thick, i / Math.max(row.bars.length - 1, 1));
    if (!single && of.name) board.text(plot.x - 8, middle + 4, cellText(of.name, bar.at), { anchor: 'end', size: 11.5 });
    const shown = figure.lengths === 'parts' ? partsLabel(of, bar, axis) : label;
    board.text(beside(reach + 8, widthOf(shown), axis.lines.map((share) => x.at(share))), middle + 4, shown, { fill: 'var(--ink)' });
    board.mark(Math.max(reach - 4, plot.x + 4), middle, bar.at, row.policy, [plot.x - left, middle - tall / 2, plot.x + plot.width + 60, middle + tall / 2]);
  });
}

/** The first place from x on where a label of this width is crossed by no line. */
function beside(x, width, lines) {
  const line = lines.find((one) => one > x - 4 && one < x + width + 4);
  return line === undefined ? x : beside(line + 5, width, lines);
}

const innerWidth = (of, figure) => (of.name ? widest([...new Set(figure.of.map((_, at) => cellText(of.name, at)))], 11.5) + 4 : 0);

/** A bar of one piece with its interval and spread; returns where it ends. */
function plainBar(board, figure, of, bar, x, row, middle, thick, fullness) {
  const [mean, std] = [first(of.value, bar.at) * 100, second(of.value, bar.at)];
  const start = x.at(figure.lengths === 'differences' ? 0 : x.low);
  const end = x.at(mean);
  const colour = figure.lengths === 'differences' ? 'var(--p0)' : look(row.tone).colour;
  const opacity = figure.lengths === 'groups' ? 0.3 + 0.4 * fullness : 0.5;
  board.rect(Math.min(start, end), middle - thick / 2, Math.abs(end - start), thick, colour, opacity);
  let reach = Math.max(start, end);
  const ends = of.ends && of.ends.v[bar.at];
  if (ends) {
    const [low, high] = ends.map((share) => x.at(share * 100));
    board.line(low, middle, high, middle, 'var(--ink)', 1.2);
    for (const at of [low, high]) board.line(at, middle - 4, at, middle + 4, 'var(--ink)', 1.2);
    reach = Math.max(reach, high);
  }
  if (std !== null && figure.lengths !== 'differences') {
    const half = Math.max(Math.abs(x.at(mean + std * 100) - end), 0.9);
    board.rect(end - half, middle - 2.6, 2 * half, 5.2, 'var(--ink)');
    reach = Math.max(reach, end + half);
  }
  const diamond = of.diamond && first(of.diamond, bar.at);
  if (typeof diamond === 'number') {
    board.shape('diamond', x.at(diamond * 100), middle, 4.5, 'var(--ink)');
    reach = Math.max(reach, x.at(diamond * 100) + 5);
  }
  return reach;
}

function partBar(board, of, bar, x, axis, middle, thick) {
  let sum = 0;
  of.parts.forEach((part, i) => {
    const length = first(part, bar.at) || 0;
    const [from, to] = [x.at(sum * axis.factor), x.at((sum + length) * axis.factor)];
    board.rect(from, middle - thick / 2, to - from, thick, PARTS[i], 0.85);
    sum += length;
  });
  return x.at(sum * axis.factor);
}

function partsLabel(of, bar, axis) {
  const sum = of.parts.reduce((all, part) => all + (first(part, bar.at) || 0), 0) * axis.factor;
  return `${fixed(sum, sum >= 100 ? 0 : sum >= 10 ? 1 : 2)} ${axis.unit}`;
}

/** What the signs at a bar's end, or its parts, are; below it the lines that bars are compared with. */
function barLegend(board, figure, of, area, spreads, refs) {
  let x = area.x;
  const y = area.y + 6;
  const put = (words, width, sign) => {
    if (x > area.x && x + width + widthOf(words, 11.5) > area.x + area.width) return;
    sign();
    board.text(x + width, y + 4, words, { size: 11.5 });
    x += width + widthOf(words, 11.5) + 14;
  };
  if (figure.parts) {
    figure.parts.forEach((name, i) => put(name, 17, () => board.rect(x, y - 6, 12, 12, PARTS[i], 0.85)));
    return;
  }
  if (of.diamond) put(figure.diamond.toLowerCase(), 16, () => board.shape('diamond', x + 6, y, 4.5, 'var(--ink)'));
  if (of.ends) {
    put(figure.interval, 28, () => {
      board.line(x, y, x + 22, y, 'var(--ink)', 1.2);
      for (const at of [x, x + 22]) board.line(at, y - 4, at, y + 4, 'var(--ink)', 1.2);
    });
  }
  if (spreads && figure.lengths !== 'differences') put('\u00b1 1 deviation over seeds', 23, () => board.rect(x, y - 2.6, 18, 5.2, 'var(--ink)'));
  refs.forEach(([name, share], i) => {
    const line = y + 17 * (i + 1);
    board.polyline([[area.x, line], [area.x + 22, line]], 'var(--ink)', 1.5, ['2 3', '7 3'][i % 2]);
    board.text(area.x + 28, line + 4, `${name}: ${fixed(share * 100, 2)}`, { size: 11.5 });
  });
}
