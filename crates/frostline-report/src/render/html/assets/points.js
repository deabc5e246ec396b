// Points of one quantity against another. Names stand where they cover neither points nor each other.

const RADIUS = 5;
/** The most percentage points that a level whisker widens the axis to either side of its point. */
const MOST_REACH = 15;
const DASHES_OF_REFERENCES = ['2 3', '7 3'];

PAINTERS.scatter = (board, figure) => {
  const [, names, xs, ys] = figure.table.c;
  const whiskers = figure.table.c.find((column) => column.f === 'Whisker');
  const levels = figure.table.c.find((column) => column.f === `${xs.f}, interval`);
  const all = figure.of.map(([panel, tone, named], row) => ({
    panel, row, tone, named, name: unmarked(cellText(names, row)), policy: policyIn(figure, row), x: first(xs, row), y: first(ys, row),
    ends: whiskers && whiskers.v[row], level: levels && levels.v[row] && levels.v[row].map((end) => end * 100),
  })).filter((point) => isShown(point.policy));
  for (const point of all) {
    if (!point.policy || all.filter((other) => other.panel === point.panel).length > 24) continue;
    point.named = 1;
    point.tone = toneOf(point.policy);
  }
  // A whisker that reaches far towards an end of the axis would take all the room: it is cut there.
  const low = Math.min(1, ...all.map((point) => (point.ends ? Math.max(point.ends[0], point.y - (1 - point.y)) : point.y)));
  const high = Math.max(0, ...all.map((point) => (point.ends ? Math.min(point.ends[1], point.y + (1 - point.y) / 2) : point.y)));
  const [bottom, top] = withReferences(figure, low, high);
  const wide = widthAxis(figure, all);
  const legend = Math.max(0, ...figure.panels.map((panel) => panel.refs.length)) * 17;
  const areas = board.panels(figure.panels.map((panel) => panel.title), 340, (_, width) => Math.min(Math.max(width * 0.68, 280), 380) + 62 + legend);
  let y;
  let unplaced = 0;
  let cut = false;
  areas.forEach((area, panel) => {
    const points = all.filter((point) => point.panel === panel);
    const plot = { x: area.x + 42, y: area.y + 22 + legend, width: area.width - 42 - 18, height: area.height - 62 - legend };
    if (!points.length) {
      board.text(plot.x, plot.y + 20, 'Nothing to show');
      return;
    }
    y = accuracyAxis(bottom, top, plot.y + plot.height, plot.y);
    const x = scale(wide.spacing, wide.low, wide.high, plot.x + 4, plot.x + plot.width);
    const ticks = x.ticks(wide.spacing === 'log' ? 62 : 50);
    board.vertical(plot, y, figure.yt, 100);
    const labels = wide.spacing === 'log' ? ticks.map(grouped) : tickLabels(ticks);
    board.horizontal(plot, x, ticks.map((tick, i) => [tick, labels[i]]), figure.xt + wide.name);
    referenceLines(board, figure.panels[panel].refs, y, area, plot);
    points.forEach((point) => { point.at = [x.at(point.x / wide.unit), y.at(point.y)]; });
    const corners = front(figure.panels[panel].front, points, wide.unit, x, y, plot);
    if (corners.length) board.polyline(corners, 'var(--soft)', 1.5);
    unplaced += somePoints(board, points, x, y, plot, corners);
    cut = cut || points.some((point) => (point.whisker && point.cut.includes(true)) || (point.span && point.spanCut.includes(true)));
  });
  if (y) board.notes.push(accuracyNote(y));
  if (wide.spacing === 'log') board.notes.push('The horizontal axis is logarithmic: equal steps are equal factors.');
  if (cut) board.notes.push('A whisker without an end goes on beyond the axis; the table behind the figure has it whole.');
  if (unplaced) board.notes.push(`${unplaced} more ${unplaced === 1 ? 'name' : 'names'} found no room.`);
};

/** The ends of the vertical axis with those references that leave the points half of it; one above all points widens it. */
function withReferences(figure, low, high) {
  const heights = figure.panels.flatMap((panel) => panel.refs.map(([, height]) => height));
  const top = Math.max(high, ...heights);
  const missing = (share) => Math.max(1 - share, 5e-4);
  const near = heights.filter((height) => missing(height) / missing(low) <= missing(low) / missing(top));
  return [Math.min(low, ...near), top];
}

/** A dashed line at each reference, and its number above the plot; one below the axis is only named. */
function referenceLines(board, refs, y, area, plot) {
  refs.forEach(([name, height], i) => {
    const line = area.y + 6 + 17 * i;
    const dash = DASHES_OF_REFERENCES[i % 2];
    board.polyline([[area.x, line], [area.x + 22, line]], 'var(--ink)', 1.4, dash);
    board.text(area.x + 28, line + 4, `${name}: ${fixed(height * 100, 2)}${height < y.low ? ', below the axis' : ''}`, { size: 11.5 });
    if (height < y.low) return;
    board.polyline([[plot.x, y.at(height)], [plot.x + plot.width, y.at(height)]], 'var(--ink)', 1.4, dash);
  });
}

/** The horizontal axis: savings from a little before the baseline, counts from 0 or by factors. */
function widthAxis(figure, points) {
  const all = points.map((point) => Math.max(point.x, 1));
  if (!all.length) return { spacing: 'even', low: 0, high: 1, unit: 1, name: '' };
  if (figure.scale === 'saved') {
    const low = points.map((point) => Math.max(point.level ? point.level[0] : point.x, point.x - MOST_REACH));
    const high = points.map((point) => Math.min(point.level ? point.level[1] : point.x, point.x + MOST_REACH));
    return { spacing: 'even', low: Math.min(0, ...low) - 4, high: Math.max(0, ...high) + 10, unit: 1, name: '' };
  }
  const most = Math.max(...all);
  if (2 * all.filter((x) => x < 0.02 * most).length > all.length) {
    return { spacing: 'log', low: Math.min(...all) / 1.5, high: most * 1.5, unit: 1, name: '' };
  }
  const [unit, name] = most >= 2e6 ? [1e6, ', millions'] : most >= 2e3 ? [1e3, ', thousands'] : [1, ''];
  return { spacing: 'even', low: 0, high: (most / unit) * 1.04, unit, name };
}

/** The step line of the front, through the places whose points are shown. */
function front(places, points, unit, x, y, plot) {
  const corners = [];
  for (const [across, height] of places) {
    if (!points.some((point) => point.x === across && point.y === height)) continue;
    const next = [x.at(across / unit), y.at(height)];
    corners.push([corners.length ? corners[corners.length - 1][0] : plot.x, next[1]], next);
  }
  return corners;
}

/** Draws points, whiskers and names; returns how many names found no room. */
function somePoints(board, points, x, y, plot, corners) {
  points.sort((a, b) => a.named - b.named);
  for (const point of points) {
    point.whisker = point.ends && [y.at(point.ends[0]), y.at(point.ends[1])];
    point.cut = point.ends && [point.ends[0] < y.low, point.ends[1] > y.high];
    if (point.whisker && point.whisker[0] - point.whisker[1] <= 3 * RADIUS) point.whisker = null;
    point.span = point.level && point.level.map((end) => x.at(end));
    point.spanCut = point.level && [point.level[0] < x.low, point.level[1] > x.high];
    if (point.span && point.span[1] - point.span[0] <= 3 * RADIUS) point.span = null;
  }
  const places = namePlaces(points, plot, corners);
  points.forEach((point, i) => board.of(point.policy, () => {
    const style = look(point.tone);
    const [across, at] = point.at;
    if (point.whisker) {
      board.line(across, point.whisker[0], across, point.whisker[1], style.colour, 1.4);
      point.whisker.forEach((end, side) => point.cut[side] || board.line(across - 4, end, across + 4, end, style.colour, 1.4));
    }
    if (point.span) {
      board.line(point.span[0], at, point.span[1], at, style.colour, 1.4);
      point.span.forEach((end, side) => point.spanCut[side] || board.line(end, at - 4, end, at + 4, style.colour, 1.4));
    }
    const place = places[i];
    if (place && place.leader) board.line(across, at, ...place.leader, 'var(--soft)', 0.8);
    board.shape(style.shape, across, at, point.named ? RADIUS : 3.5, style.colour);
  }));
  // Names come last: no whisker crosses them.
  points.forEach((point, i) => places[i] && board.of(point.policy, () => {
    board.text(places[i].x, places[i].y + 4, point.name, { anchor: places[i].anchor, fill: 'var(--ink)', halo: true });
  }));
  for (const point of [...points].sort((a, b) => a.at[0] - b.at[0])) board.mark(...point.at, point.row, point.policy);
  return points.filter((point, i) => point.named && !places[i]).length;
}

/** A free place for every name, tried in several orders; the one that leaves the fewest names out is taken. */
function namePlaces(points, plot, corners) {
  const orders = [(p) => -p.at[0], (p) => p.at[0], (p) => p.at[1], (p) => -p.at[1]];
  let [best, cost] = [[], Infinity];
  for (const key of orders) {
    const order = points.map((_, i) => i).sort((a, b) => key(points[a]) - key(points[b]) || a - b);
    const [places, found] = placeNames(points, plot, corners, order);
    if (found < cost) [best, cost] = [places, found];
  }
  return best;
}

function placeNames(points, plot, corners, order) {
  const taken = corners.slice(1).map((to, i) => {
    const from = corners[i];
    return [Math.min(from[0], to[0]) - 1, Math.min(from[1], to[1]) - 1, Math.max(from[0], to[0]) + 1, Math.max(from[1], to[1]) + 1, -1];
  });
  points.forEach((point, i) => {
    const [x, y] = point.at;
    taken.push([x - 6, y - 6, x + 6, y + 6, i]);
    if (point.whisker) taken.push([x - 5, point.whisker[1] - 1, x + 5, point.whisker[0] + 1, i, 'whisker']);
    if (point.span) taken.push([point.span[0] - 1, y - 5, point.span[1] + 1, y + 5, i, 'whisker']);
  });
  const places = points.map(() => null);
  let cost = 0;
  for (const i of order) {
    if (!points[i].named) continue;
    // Where all is taken, a name may stand on whiskers.
    const place = placeName(points[i], i, plot, taken) || placeName(points[i], i, plot, taken.filter((other) => !other[5]));
    if (!place) {
      cost += 1e6;
      continue;
    }
    taken.push([...place.rect, i]);
    if (place.leader) {
      taken.push(...stations(points[i].at, place.leader).map((rect) => [...rect, i]));
      cost += Math.hypot(place.leader[0] - points[i].at[0], place.leader[1] - points[i].at[1]);
    }
    places[i] = place;
  }
  return [places, cost];
}

const overlaps = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** The nearest free place of a name: beside its point, above or below, else further and further away with a leader. */
function placeName(point, own, plot, taken) {
  const width = widthOf(point.name) + 2;
  const [x, y] = point.at;
  const beside = (dx, dy, far) => {
    const left = dx > 0 ? x + dx : x + dx - width;
    return {
      x: x + dx, y: y + dy, anchor: dx > 0 ? 'start' : 'end', rect: [left, y + dy - 8, left + width, y + dy + 8],
      leader: far ? [x + dx - 3 * Math.sign(dx), y + dy] : null,
    };
  };
  const centred = (middle) => ({ x, y: middle, anchor: 'middle', rect: [x - width / 2, middle - 8, x + width / 2, middle + 8], leader: null });
  const [low, high] = point.whisker || [y, y];
  const free = (place) => {
    const rect = place.rect;
    if (rect[0] < plot.x + 2 || rect[2] > plot.x + plot.width + 18 || rect[1] < plot.y - 6 || rect[3] > plot.y + plot.height) return false;
    if (taken.some((other) => overlaps(rect, other))) return false;
    return !place.leader || stations(point.at, place.leader).every((at) => !taken.some((other) => other[4] !== own && overlaps(at, other)));
  };
  const [left, right] = point.span ? [x - point.span[0], point.span[1] - x] : [0, 0];
  const near = [beside(Math.max(10, right + 5), 0), beside(-Math.max(10, left + 5), 0), centred(Math.min(high, y - RADIUS) - 11), centred(Math.max(low, y + RADIUS) + 11)];
  const found = near.find(free);
  if (found) return found;
  for (let ring = 1; ring < 26; ring += 1) {
    for (const dx of [18, -18, 34, -34]) {
      for (const dy of [5 * ring, -5 * ring]) {
        const place = beside(dx, dy, true);
        if (free(place)) return place;
      }
    }
  }
  return null;
}

/** Small rectangles along a leader, from where it has left its point. */
function stations(from, to) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const all = [];
  for (let way = 10; way < length; way += 3) {
    const [x, y] = [from[0] + ((to[0] - from[0]) * way) / length, from[1] + ((to[1] - from[1]) * way) / length];
    all.push([x - 1, y - 1, x + 1, y + 1]);
  }
  return all;
}
