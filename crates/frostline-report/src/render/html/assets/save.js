// Files that a reader takes away: tables as CSV, figures as SVG and PNG. They are made here, and nothing is sent.

function save(name, parts, type) {
  const link = el('a', { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A name for a file. */
const fileName = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'table';

const quoted = (field) => (/[",\r\n]/.test(field) ? `"${field.replace(/"/g, '""')}"` : field);

/** What the numbers of a column are called besides the first. */
const MORE = { std: ['std'], interval: ['low', 'high'], range: ['high'], error: ['error'] };

/** A table as CSV: numbers are neither rounded nor grouped, and shares are fractions of 1. A cell that has words in a number's place keeps
 *  them. */
function csv(table, rows) {
  // Every output of a synthetic plan says so, each row of it too.
  const columns = page.synthetic ? [['synthetic', () => 'true']] : [];
  for (const column of table.c) {
    if (!column.v) {
      columns.push([unmarked(column.h), (row) => unmarked(cellText(column, row))]);
      continue;
    }
    const at = (place) => (row) => {
      const value = [column.v[row]].flat()[place];
      if (value !== null && value !== undefined) return String(value);
      return place === 0 ? wordsOf(column, row) || '' : '';
    };
    const name = unmarked(column.f);
    columns.push([column.w === 'range' ? `${name}, low` : name, at(0)]);
    (MORE[column.w] || []).forEach((more, i) => columns.push([`${name}, ${more}`, at(i + 1)]));
  }
  const lines = [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, get]) => get(row)))];
  return lines.map((line) => line.map(quoted).join(',') + '\n').join('');
}

/** A figure as a file that looks as on light paper wherever it is opened. */
function svgText(svg, title, about) {
  const copy = svg.cloneNode(true);
  copy.querySelectorAll('.cursor').forEach((node) => node.remove());
  copy.removeAttribute('aria-hidden');
  copy.setAttribute('xmlns', SVG);
  copy.prepend(draw('title', null, title), draw('desc', null, about),
    draw('rect', { width: '100%', height: '100%', fill: 'var(--paper)' }));
  const light = el('div', { class: 'light-values', hidden: true });
  document.body.append(light);
  const values = getComputedStyle(light);
  const text = new XMLSerializer().serializeToString(copy)
    .replace(/var\((--[a-z0-9-]+)\)/g, (_, name) => values.getPropertyValue(name).trim() || '#000');
  light.remove();
  return text;
}

function savePng(name, svg, title, about) {
  const [width, height] = [svg.width.baseVal.value, svg.height.baseVal.value];
  const image = new Image();
  image.onload = () => {
    const canvas = el('canvas', { width: 2 * width, height: 2 * height });
    const context = canvas.getContext('2d');
    context.scale(2, 2);
    context.drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => blob && save(name, [blob], 'image/png'));
  };
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svgText(svg, title, about));
}
