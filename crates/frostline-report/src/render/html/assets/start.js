// Fills the page: what is near the window first, the rest when there is time.

function fillPlace(place) {
  if (place.dataset.filled) return;
  place.dataset.filled = 'yes';
  if (place.dataset.table !== undefined) showTable(place, data(`table-${place.dataset.table}`), place.dataset.title);
  else if (place.dataset.figure !== undefined) showFigure(place, data(`figure-${place.dataset.figure}`));
  else showSentences(place);
  place.style.minHeight = '';
}

const isVisible = (place) => place.getClientRects().length > 0;

function fillVisible() {
  document.querySelectorAll('.place:not([data-filled])').forEach((place) => isVisible(place) && fillPlace(place));
}

/** The entry of the contents at which the reader is. */
function followContents() {
  const links = new Map([...document.querySelectorAll('.contents ol a')].map((link) => [link.hash.slice(1), link]));
  const heads = [...document.querySelectorAll('.chapter > h2')];
  const mark = soon(() => {
    const last = heads.filter((head) => head.getBoundingClientRect().top < 140).pop();
    links.forEach((link, id) => (last && last.id === id ? link.setAttribute('aria-current', 'true') : link.removeAttribute('aria-current')));
  });
  addEventListener('scroll', mark, { passive: true });
  mark();
}

function start() {
  themeSwitch();
  policyBar();
  const places = [...document.querySelectorAll('.place')];
  for (const place of places) {
    const rows = Math.min(Number(place.dataset.rows) || 12, FIRST_ROWS);
    place.style.minHeight = `${rows * 32 + 70}px`;
  }
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      fillPlace(entry.target);
    }
  }, { rootMargin: '500px' });
  places.forEach((place) => seen.observe(place));
  // The rest, so that a search in the page finds it.
  const rest = places.slice();
  const idle = window.requestIdleCallback || ((act) => setTimeout(() => act({ timeRemaining: () => 8 }), 60));
  const next = (deadline) => {
    while (rest.length && deadline.timeRemaining() > 4) {
      const place = rest.shift();
      if (isVisible(place)) fillPlace(place);
    }
    if (rest.length) idle(next);
    else document.documentElement.dataset.filled = 'yes';
  };
  setTimeout(() => idle(next), 400);
  addEventListener('beforeprint', () => {
    fillVisible();
    document.querySelectorAll('.chart-place').forEach((place) => place.paint && isVisible(place) && place.paint(840));
  });
  addEventListener('afterprint', () => document.querySelectorAll('.chart-place').forEach((place) => place.again && place.again()));
  followContents();
  document.documentElement.dataset.ready = 'yes';
}

start();
