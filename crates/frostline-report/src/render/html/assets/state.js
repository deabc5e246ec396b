// What the whole page shares: which policies are shown, and whether it is light or dark.

const page = data('page-data');
const policies = page.policies;
const placeOf = new Map(policies.map((name, at) => [name, at]));
const off = new Set();
const watchers = new Set();

/** Whether a policy is shown; what belongs to none always is. */
const isShown = (policy) => policy === undefined || policy === null || !off.has(policy);

function show(policy, shown) {
  if (shown) off.delete(policy);
  else off.add(policy);
  changed();
}

const changed = soon(() => watchers.forEach((watcher) => watcher()));

const COLOURS = 6;
const DASHES = ['', '7 3', '2 2.5', '8 3 2 3'];
const SHAPES = ['circle', 'square', 'triangle', 'diamond', 'wedge'];

/** How a policy looks in every figure: by its place among those that freeze something, -1 for the baseline. */
function look(tone) {
  if (tone >= 1000) return { colour: 'var(--soft)', dash: ['2 3', '7 3'][tone % 2], shape: 'circle' };
  if (tone === -1) return { colour: 'var(--ink)', dash: '', shape: 'circle' };
  if (tone < -1) return { colour: 'var(--faint)', dash: '', shape: 'circle' };
  return {
    colour: `var(--p${tone % COLOURS})`,
    dash: DASHES[Math.floor(tone / COLOURS) % DASHES.length],
    shape: SHAPES[(tone + 1) % SHAPES.length],
  };
}

const freezing = policies.filter((name) => name !== 'none');
const toneOf = (policy) => (policy === 'none' ? -1 : freezing.indexOf(policy));
const policyOf = (tone) => (tone === -1 ? 'none' : tone >= 0 && tone < 1000 ? freezing[tone] : undefined);

/** The sign of a policy: its shape in its colour. */
function shape(kind, x, y, radius, colour, more) {
  const rim = { fill: colour, stroke: 'var(--paper)', 'stroke-width': 1, ...more };
  const corners = {
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    triangle: [[0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
    diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    wedge: [[0, 1.2], [1.1, -0.8], [-1.1, -0.8]],
  }[kind];
  if (!corners) return draw('circle', { cx: x, cy: y, r: radius, ...rim });
  const points = corners.map(([dx, dy]) => `${(x + dx * radius).toFixed(1)},${(y + dy * radius).toFixed(1)}`);
  return draw('polygon', { points: points.join(' '), ...rim });
}

function swatch(policy) {
  const { colour, shape: kind } = look(toneOf(policy));
  return draw('svg', { class: 'swatch', width: 12, height: 12, viewBox: '0 0 12 12', 'aria-hidden': 'true' },
    shape(kind, 6, 6, 4.2, colour));
}

/** The switches of policies: one for all figures and tables. */
function policyBar() {
  const place = document.getElementById('policies');
  if (!place || policies.length < 2) return;
  const switches = policies.map((name) => {
    const node = button([swatch(name), el('span', null, name)], () => show(name, off.has(name)),
      { class: 'policy', 'aria-pressed': 'true', title: 'Double-click shows this policy alone' });
    node.addEventListener('dblclick', () => {
      policies.forEach((other) => (other === name ? off.delete(other) : off.add(other)));
      changed();
    });
    return node;
  });
  const all = (shown) => () => {
    policies.forEach((name) => (shown ? off.delete(name) : off.add(name)));
    changed();
  };
  const hidden = el('span', { class: 'hidden-count', role: 'status' });
  watchers.add(() => {
    switches.forEach((node, at) => node.setAttribute('aria-pressed', String(!off.has(policies[at]))));
    hidden.textContent = off.size ? `${off.size} of ${policies.length} hidden` : '';
  });
  place.append(el('div', { class: 'policies', role: 'group', 'aria-label': 'Policies shown in all figures and tables' },
    el('span', { class: 'label' }, 'Policies'), el('div', { class: 'switches' }, switches),
    el('span', { class: 'ends' }, hidden, button('Show all', all(true), { class: 'quiet' }), button('Hide all', all(false), { class: 'quiet' }))));
}

const THEMES = ['auto', 'light', 'dark'];

/** Light, dark, or as the system is. */
function themeSwitch() {
  const place = document.getElementById('tools');
  let theme = 'auto';
  try {
    theme = localStorage.getItem('frostline-theme') || 'auto';
  } catch (_) { /* A page from disk may have no storage. */ }
  const node = button('', () => use(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]), { class: 'quiet', id: 'theme' });
  const use = (next) => {
    theme = THEMES.includes(next) ? next : 'auto';
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    node.textContent = `Theme: ${theme}`;
    try {
      localStorage.setItem('frostline-theme', theme);
    } catch (_) { /* The same. */ }
  };
  use(theme);
  place.append(node);
}
