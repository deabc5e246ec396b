// The browser of sentences on which two cells differ.

const grouped = (value) => value.toLocaleString('en');

/** The most sentences that are added at a time. */
const STEP = 20;

function showSentences(place) {
  const all = JSON.parse(document.getElementById('sentences-data').textContent);
  const state = { text: 0, a: 0, b: 1, tag: '', right: '', words: '', tags: false, most: STEP };
  const list = el('ol', { class: 'sentences' });
  const told = el('p', { class: 'count', role: 'status' });
  const more = button(`Show ${STEP} more`, () => {
    state.most += STEP;
    lines();
  });

  const choice = (label, options, chosen, act) => {
    const node = el('select', null, options.map(([value, words]) => el('option', { value, selected: value === chosen }, words)));
    node.addEventListener('change', () => {
      act(node.value);
      state.most = STEP;
      lines();
    });
    return el('label', null, el('span', null, label), node);
  };

  const controls = el('form', { class: 'filters' });
  controls.addEventListener('submit', (event) => event.preventDefault());

  const fields = () => {
    const text = read(all, state.text);
    const cells = text.cells.map((cell, at) => [String(at), `${cell.name}, seed ${cell.seed}`]);
    const gold = [...new Set(text.sentences.flatMap((sentence) => sentence.gold))].map((tag) => all.tags[tag]).sort(WORDS.compare);
    const words = el('input', { type: 'search', placeholder: text.words ? 'a word' : 'a sentence id' });
    words.addEventListener('input', () => {
      state.words = words.value.toLowerCase();
      state.most = STEP;
      lines();
    });
    const tags = el('input', { type: 'checkbox', checked: state.tags });
    tags.addEventListener('change', () => {
      state.tags = tags.checked;
      lines();
    });
    controls.replaceChildren(
      ...(all.texts.length > 1
        ? [choice('Data', all.texts.map((one, at) => [String(at), one.title]), String(state.text), (value) => {
          Object.assign(state, { text: Number(value), a: 0, b: 1, tag: '' });
          pick();
          fields();
        })]
        : []),
      choice('A', cells, String(state.a), (value) => { state.a = Number(value); }),
      choice('B', cells, String(state.b), (value) => { state.b = Number(value); }),
      choice('Gold tag', [['', 'any'], ...gold.map((tag) => [tag, tag])], state.tag, (value) => { state.tag = value; }),
      choice('Who is right', [['', 'anyone'], ['a', 'only A'], ['b', 'only B'], ['neither', 'neither']], state.right, (value) => { state.right = value; }),
      el('label', null, el('span', null, 'Contains'), words),
      el('label', { class: 'check' }, tags, el('span', null, 'all gold tags')));
  };

  /** The baseline beside the policy of its seed that differs most from it without being lost altogether. */
  const pick = () => {
    const cells = read(all, state.text).cells;
    state.a = Math.max(0, cells.findIndex((cell) => cell.policy === 'none'));
    const other = cells.findIndex((cell) => cell.policy !== cells[state.a].policy && cell.seed === cells[state.a].seed);
    state.b = other >= 0 ? other : cells.length > 1 ? 1 - Math.min(state.a, 1) : 0;
  };

  const found = () => {
    const text = read(all, state.text);
    const [a, b] = [said(text, state.a), said(text, state.b)];
    const tag = state.tag === '' ? -1 : all.tags.indexOf(state.tag);
    const fits = (at, gold) => {
      if (a[at] === b[at] || (tag >= 0 && gold !== tag)) return false;
      const right = a[at] === gold ? 'a' : b[at] === gold ? 'b' : 'neither';
      return !state.right || state.right === right;
    };
    const totals = { a: 0, b: 0, neither: 0, words: 0 };
    const sentences = text.sentences.filter((sentence) => {
      let here = false;
      sentence.gold.forEach((gold, i) => {
        const at = sentence.start + i;
        if (a[at] !== b[at]) {
          totals.words += 1;
          totals[a[at] === gold ? 'a' : b[at] === gold ? 'b' : 'neither'] += 1;
        }
        here = here || fits(at, gold);
      });
      return here && (!state.words || `${sentence.id} ${sentence.forms.join(' ')}`.toLowerCase().includes(state.words));
    });
    return { text, a, b, sentences, totals, fits };
  };

  const lines = () => {
    const { text, a, b, sentences, totals, fits } = found();
    const names = [text.cells[state.a], text.cells[state.b]].map((cell) => cell.name);
    list.replaceChildren(...sentences.slice(0, state.most).map((sentence) => line(all, text, sentence, a, b, fits, state.tags)));
    told.textContent = `${grouped(sentences.length)} of ${grouped(text.total)} sentences. In all, A (${names[0]}) and B (${names[1]}) differ in `
      + `${grouped(totals.words)} words: ${grouped(totals.a)} that only A has right, ${grouped(totals.b)} only B, ${grouped(totals.neither)} neither.`;
    more.hidden = sentences.length <= state.most;
  };

  pick();
  fields();
  place.replaceChildren(controls, told, list, el('div', { class: 'tools' }, more));
  lines();
}

/** A text with its sentences unpacked, once. */
function read(all, at) {
  const text = all.texts[at];
  if (!text.read) {
    let start = 0;
    text.sentences = text.sentences.map(([id, forms, gold]) => {
      const sentence = { id, forms: forms === '' && !text.words ? [] : forms.split('\n'), gold, start };
      start += gold.length;
      return sentence;
    });
    text.gold = Int16Array.from(text.sentences.flatMap((sentence) => sentence.gold));
    text.said = new Map();
    text.read = true;
  }
  return text;
}

/** The tag that a cell gave each word. */
function said(text, cell) {
  if (!text.said.has(cell)) {
    const tags = text.gold.slice();
    const wrong = text.cells[cell].wrong;
    let at = 0;
    for (let i = 0; i < wrong.length; i += 2) {
      at += wrong[i];
      tags[at] = wrong[i + 1];
    }
    text.said.set(cell, tags);
  }
  return text.said.get(cell);
}

function line(all, text, sentence, a, b, fits, tags) {
  const name = (tag) => (tag < 0 ? 'nothing' : all.tags[tag]);
  const answer = (label, tag, gold) => el('span', { class: tag === gold ? 'answer right' : 'answer wrong' },
    `${label} ${tag === gold ? '\u2713' : '\u2717'} `, el('span', { class: 'tag' }, name(tag)));
  const words = sentence.gold.map((gold, i) => {
    const at = sentence.start + i;
    const form = text.words ? sentence.forms[i] : String(i + 1);
    const shown = el('span', { class: 'form' }, form);
    if (a[at] === b[at]) {
      return el('span', { class: 'word' }, shown, tags || !text.words ? el('span', { class: 'tag' }, name(gold)) : null);
    }
    return el('span', { class: fits(at, gold) ? 'word differs' : 'word differs aside' }, shown,
      el('span', { class: 'tag' }, `gold ${name(gold)}`), answer('A', a[at], gold), answer('B', b[at], gold));
  });
  return el('li', null, sentence.id ? el('span', { class: 'id' }, sentence.id) : null,
    el('span', { class: 'words', dir: 'auto' }, words.flatMap((word) => [word, ' '])));
}
