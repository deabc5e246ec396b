// From values to pixels. The axis is chosen as in the report's SVG files, for what is shown: a policy that is switched
// off takes no room.

/** Spacings: even; log, equal steps for equal factors; missing, equal steps divide what is missing to 1. */
function scale(spacing, low, high, from, to) {
  if (!(high > low)) high = spacing === 'log' ? low * 10 : spacing === 'missing' ? low + (1 - low) / 2 : low + 1;
  const warp = {
    even: (value) => value,
    log: (value) => Math.log10(value),
    missing: (value) => -Math.log10(Math.max(1 - value, 1e-9)),
  }[spacing];
  const [a, b] = [warp(low), warp(high)];
  const at = (value) => from + ((warp(Math.min(Math.max(value, low), high)) - a) / (b - a)) * (to - from);
  const self = { spacing, low, high, at };
  self.ticks = (gap) => {
    const candidates = spacing === 'log' ? powers(low, high) : spacing === 'missing' ? SHARES.map((share) => share / 100) : null;
    if (!candidates) return evenTicks(self, from, to, gap);
    const kept = [];
    for (const value of candidates) {
      const inside = value >= low - 1e-12 && value <= high + 1e-12;
      if (inside && kept.every((other) => Math.abs(at(other) - at(value)) >= gap)) kept.push(value);
    }
    return kept.length < 2 ? evenTicks(self, from, to, gap) : kept.sort((x, y) => x - y);
  };
  return self;
}

/** Percentages worth naming, the most telling first. */
const SHARES = [
  0, 50, 90, 99, 80, 95, 98, 99.9, 99.5, 99.8, 97, 96, 92, 94, 85, 70, 60, 30, 93, 91, 88, 75, 40, 20, 65, 10, 98.5,
  97.5, 96.5, 95.5, 99.2, 99.6,
];

function powers(low, high) {
  const all = [];
  for (const factor of [1, 3, 2, 5]) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      all.push(factor * 10 ** power);
    }
  }
  return all;
}

function evenTicks(axis, from, to, gap) {
  const room = Math.max(Math.floor(Math.abs(to - from) / gap), 1);
  const step = niceStep((axis.high - axis.low) / room);
  const kept = [];
  for (let i = Math.ceil(axis.low / step - 1e-9); i <= Math.floor(axis.high / step + 1e-9); i += 1) {
    // Decimal steps have no exact binary form.
    const tick = Number((i * step).toPrecision(12));
    const last = kept[kept.length - 1];
    if (last === undefined || Math.abs(axis.at(last) - axis.at(tick)) >= Math.min(gap, 20)) kept.push(tick);
  }
  return kept;
}

function niceStep(least) {
  if (!(least > 0) || !Number.isFinite(least)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * (1 - 1e-9));
}

/** The label of each tick, with as many decimals as tell it from the others. */
function tickLabels(ticks) {
  const steps = ticks.slice(1).map((tick, i) => tick - ticks[i]);
  const even = steps.every((step) => Math.abs(step - steps[0]) <= Math.abs(steps[0]) * 1e-2);
  const least = Math.min(1, ...steps.map(Math.abs).filter((step) => step > 0)) * 1e-3;
  const exact = (tick, decimals) => Math.abs(Number(tick.toFixed(decimals)) - tick) <= least;
  const decimals = (of) => {
    let found = 0;
    while (found < 12 && !of.every((tick) => exact(tick, found))) found += 1;
    return found;
  };
  return ticks.map((tick) => fixed(tick, decimals(even ? ticks : [tick])));
}

/** Accuracies far apart are stretched towards 100 %, so that close ones can be told apart. */
function accuracyAxis(low, high, from, to) {
  [low, high] = [Math.min(Math.max(low, 0), 1), Math.min(Math.max(high, 0), 1)];
  if (low >= high) return scale('even', Math.max(high - 0.05, 0), Math.min(high + 0.05, 1), from, to);
  const least = Math.max(1 - high, 5e-4);
  if ((1 - low) / least > 3) return scale('missing', Math.max(1 - (1 - low) * 1.08, 0), 1 - least / 1.08, from, to);
  const step = niceStep((high - low) / 5);
  return scale('even', Math.max(Math.floor(low / step) * step, 0), Math.min(Math.ceil(high / step) * step, 1), from, to);
}

/** What an axis of accuracies does, said plainly. */
function accuracyNote(axis) {
  const start = axis.low > 0 ? 'The vertical axis does not start at 0.' : 'The vertical axis starts at 0.';
  return axis.spacing === 'missing'
    ? `${start} It is stretched towards 100 %: equal steps divide the number of errors by equal factors.`
    : start;
}
