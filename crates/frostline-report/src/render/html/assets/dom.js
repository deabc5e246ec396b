// Nodes made of text. Nothing here parses a text as HTML: what comes from files can only be read.

const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes and children; a child that is a string becomes a text node. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same in an image. */
function draw(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'on') for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return node;
}

function button(label, act, attributes) {
  return el('button', { type: 'button', on: { click: act }, ...attributes }, label);
}

const parsed = new Map();

/** The data of an element of the page, read when it is first asked for. */
function data(id) {
  if (!parsed.has(id)) {
    const place = document.getElementById(id);
    parsed.set(id, place ? JSON.parse(place.textContent) : null);
  }
  return parsed.get(id);
}

/** The inline marks of a text (code, strong, emphasis, links) as nodes; `render/html/inline.rs` reads the same. */
function marked(text) {
  const nodes = [];
  let plain = '';
  let at = 0;
  const put = (node) => {
    if (plain) nodes.push(document.createTextNode(plain));
    plain = '';
    nodes.push(node);
  };
  while (at < text.length) {
    const rest = text.slice(at);
    let match;
    if ((match = /^\\([!-\/:-@\[-`{-~])/.exec(rest))) {
      plain += match[1];
    } else if ((match = /^(`+)(?!`)([^]*?[^`])\1(?!`)/.exec(rest))) {
      const inside = /^ [^]+ $/.test(match[2]) ? match[2].slice(1, -1) : match[2];
      put(el('code', null, inside));
    } else if ((match = /^\*\*(?!\s)([^]*?[^\s\\])\*\*(?!\*)/.exec(rest))) {
      put(el('strong', null, marked(match[1])));
    } else if ((match = /^\*(?![\s*])([^]*?[^\s\\*])\*(?!\*)/.exec(rest))) {
      put(el('em', null, marked(match[1])));
    } else if ((match = /^\[([^\]]*)\]\(([^)]*)\)/.exec(rest))) {
      const scheme = match[2].split(/[/#?]/)[0];
      const safe = /^https?:\/\//.test(match[2]) || !scheme.includes(':');
      put(safe ? el('a', { href: match[2] }, marked(match[1])) : el('span', null, marked(match[1])));
    } else {
      match = [text[at]];
      plain += match[0];
    }
    at += match[0].length;
  }
  if (plain) nodes.push(document.createTextNode(plain));
  return nodes;
}

/** A text without its marks. */
function unmarked(text) {
  return /[\\`*[]/.test(text) ? marked(text).map((node) => node.textContent).join('') : text;
}

/** A whole number with its thousands apart. */
function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A number with so many decimals, a true minus sign and no negative zero. */
function fixed(value, decimals) {
  const text = Math.abs(value).toFixed(decimals);
  const [whole, rest] = text.split('.');
  const sign = value < 0 && /[1-9]/.test(text) ? '\u2212' : '';
  return sign + grouped(whole) + (rest ? '.' + rest : '');
}

function signed(value, decimals) {
  const text = fixed(value, decimals);
  return value > 0 && /[1-9]/.test(text) ? '+' + text : text;
}

/** Calls at most once per frame. */
function soon(act) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      act();
    });
  };
}
