// Shaded tables, and every set of blocks with its value.

PAINTERS.heat = (board, figure) => {
  const texts = figure.table.c.find((column) => column.h === 'Value');
  const fields = figure.of.map(([panel, row, column], at) => ({ panel, row, column, at, policy: policyIn(figure, at) }));
  const rowsIn = figure.panels.map((panel) => panel.rows.map((name, row) => ({ name, row, policy: placeOf.has(name) ? name : undefined })).filter((row) => isShown(row.policy)));
  const left = widest(rowsIn.flat().map((row) => row.name)) + 12;
  const columns = Math.max(1, ...figure.panels.map((panel) => panel.columns.length));
  const lines = Math.max(1, ...figure.panels.flatMap((panel) => panel.columns.map((column) => column.length)));
  const least = Math.max(40, widest(figure.panels.flatMap((panel) => panel.columns.flat()), 11) + 6);
  // A table that does not fit scrolls inside its figure.
  if (left + columns * least > board.width) board.width = left + columns * least;
  const areas = board.panels(figure.panels.map((panel) => panel.title), left + columns * least, (number) => 6 + 15 * lines + rowsIn[number].length * 25);
  const colour = figure.colour === 'much' ? 'var(--p0)' : 'var(--p1)';
  areas.forEach((area, number) => {
    const panel = figure.panels[number];
    const width = Math.min((area.width - left) / Math.max(panel.columns.length, 1), 74);
    const top = area.y + 6 + 15 * lines;
    panel.columns.forEach((words, column) => [...words].reverse().forEach((word, line) => {
      board.text(area.x + left + (column + 0.5) * width, top - 6 - 14 * line, word, { anchor: 'middle', size: 11 });
    }));
    rowsIn[number].forEach((row, place) => board.of(row.policy, () => {
      const y = top + place * 25;
      board.text(area.x + left - 8, y + 16.5, row.name, { anchor: 'end', fill: 'var(--ink)' });
      for (const field of fields.filter((one) => one.panel === number && one.row === row.row)) {
        const x = area.x + left + field.column * width;
        board.rect(x + 1, y + 1, width - 2, 23, colour, Math.max(figure.shades[field.at] * 0.75, 0.02));
        board.text(x + width / 2, y + 16.5, cellText(texts, field.at), { anchor: 'middle', fill: 'var(--ink)', size: 11.5 });
        board.mark(x + width / 2, y + 12, field.at, row.policy, [x, y, x + width, y + 25]);
      }
    }));
  });
};

PAINTERS.sets = (board, figure) => {
  const value = figure.table.c.find((column) => column.w === 'std') || figure.table.c[figure.table.c.length - 1];
  const starts = [];
  figure.panels.reduce((from, panel) => (starts.push(from), from + panel.sets.length), 0);
  const rows = Array.from({ length: figure.table.n }, (_, row) => row);
  const low = Math.min(1, ...rows.map((row) => first(value, row) - (second(value, row) || 0)));
  const high = Math.max(0, ...rows.map((row) => first(value, row) + (second(value, row) || 0)));
  const most = Math.max(...figure.panels.map((panel) => panel.blocks));
  const areas = board.panels(figure.panels.map((panel) => panel.title), 560, () => 22 + 240 + 12 + most * 15 + 44);
  let axis;
  areas.forEach((area, number) => {
    const panel = figure.panels[number];
    const width = Math.min(area.width - 62, panel.sets.length * 40);
    const plot = { x: area.x + 62, y: area.y + 22, width, height: 240 };
    axis = accuracyAxis(low, high, plot.y + plot.height, plot.y);
    board.vertical(plot, axis, figure.yt, 100);
    const each = width / panel.sets.length;
    const pattern = plot.y + plot.height + 12;
    const level = axis.at(first(value, starts[number]));
    board.line(plot.x, level, plot.x + width, level, 'var(--ink)', 1.2, '5 3');
    panel.sets.forEach((set, place) => {
      const row = starts[number] + place;
      const [x, y] = [plot.x + (place + 0.5) * each, axis.at(first(value, row))];
      const std = second(value, row);
      if (std) board.line(x, axis.at(first(value, row) - std), x, axis.at(first(value, row) + std), 'var(--soft)');
      board.shape('circle', x, y, Math.min(Math.max(each * 0.42, 1.6), 4.5), 'var(--p0)');
      const wide = Math.min(each * 0.78, 11);
      for (let block = 0; block < panel.blocks; block += 1) {
        const top = pattern + (panel.blocks - 1 - block) * 15 + 1.5;
        board.rect(x - wide / 2, top, wide, 12, Math.floor(set / 2 ** block) % 2 ? 'var(--ink)' : 'var(--grid)');
      }
      board.mark(x, y, row, undefined, [x - each / 2, plot.y, x + each / 2, pattern + panel.blocks * 15]);
    });
    for (let block = 0; block < panel.blocks; block += 1) {
      board.text(plot.x - 7, pattern + (panel.blocks - 1 - block) * 15 + 11.5, `block ${block}`, { anchor: 'end', size: 11 });
    }
    board.text(plot.x + width / 2, pattern + panel.blocks * 15 + 18, 'frozen blocks: from none to all', { anchor: 'middle' });
  });
  if (axis) board.notes.push(accuracyNote(axis));
};
