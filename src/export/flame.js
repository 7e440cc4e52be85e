// The behaviour of a flame graph inside its SVG: hover, zoom, search, keyboard. Plain script, no imports.
(function () {
  'use strict';
  const svg = document.querySelector('svg'), W = 1200, PAD = 10, CHAR = 7.1;
  const boxes = Array.from(svg.querySelectorAll('.f')).map(function (g, i) {
    const r = g.querySelector('rect');
    return {
      g: g, r: r, t: g.querySelector('text'), i: i, name: g.getAttribute('data-n'),
      label: g.getAttribute('data-l') || g.getAttribute('data-n'),
      x: +r.getAttribute('x'), w: +r.getAttribute('width'), y: +r.getAttribute('y'), d: +g.getAttribute('data-d')
    };
  });
  const of = new Map(boxes.map(function (b) { return [b.g, b]; }));
  const details = svg.getElementById('details'), matched = svg.getElementById('matched');
  const reset = svg.getElementById('reset'), search = svg.getElementById('search');
  let zoomed = boxes[0], current = null, pattern = null;

  function fit(b, w) {
    const room = Math.floor((w - 6) / CHAR);
    b.t.textContent = room < 3 ? '' : b.label.length <= room ? b.label : b.label.slice(0, room - 2) + '..';
  }

  // In a tall picture, rows that nearly only pass on what their callers have are thin, as flame_svg.c draws them. Which
  // rows these are depends on the zoom.
  const layout = svg.getElementById('rows'), height = +svg.getAttribute('viewBox').split(' ')[3];
  const number = function (name) { return +layout.getAttribute('data-' + name); };
  if (layout) {
    const path = [];
    boxes.forEach(function (b) {
      path.length = b.d;
      b.caller = path[b.d - 1];
      b.callee = 0;
      if (b.caller) b.caller.callee = Math.max(b.caller.callee, b.w);
      path.push(b);
    });
    boxes.forEach(function (b) {
      b.passes = b.caller && b.w >= number('passes') * b.caller.w - 0.01 && b.callee >= number('passes') * b.w - 0.01;
    });
  }

  function stack() {
    const full_width = [], tops = [boxes[0].y];
    boxes.forEach(function (b) {
      if (b.g.style.display === 'none') return;
      full_width[b.d] = (full_width[b.d] || 0) + (b.passes ? 0 : +b.r.getAttribute('width'));
    });
    for (let d = 0; d < full_width.length; d++)
      tops.push(tops[d] + (full_width[d] < number('least') ? number('thin') : number('row')));
    boxes.forEach(function (b) {
      if (b.g.style.display === 'none') return;
      const tall = tops[b.d + 1] - tops[b.d];
      b.r.setAttribute('y', tops[b.d]);
      b.r.setAttribute('height', tall - 1);
      b.t.setAttribute('y', tops[b.d] + number('row') - 5);
      if (tall < number('row')) b.t.textContent = '';
    });
    const needed = Math.max(height, tops[tops.length - 1] + number('foot'));
    svg.setAttribute('viewBox', '0 0 ' + W + ' ' + needed);
    svg.setAttribute('height', needed);
  }

  function zoom(to) {
    const scale = (W - 2 * PAD) / to.w;
    zoomed = to;
    boxes.forEach(function (b) {
      const above = b.d < to.d && b.x <= to.x + 0.005 && b.x + b.w >= to.x + to.w - 0.005;
      const inside = b.d >= to.d && b.x >= to.x - 0.005 && b.x + b.w <= to.x + to.w + 0.005;
      if (!above && !inside) { b.g.style.display = 'none'; return; }
      const x = above ? PAD : PAD + (b.x - to.x) * scale, w = above ? W - 2 * PAD : b.w * scale;
      b.g.style.display = '';
      b.g.style.opacity = above ? '0.5' : '';
      b.r.setAttribute('x', x.toFixed(2));
      b.r.setAttribute('width', w.toFixed(2));
      b.t.setAttribute('x', (x + 3).toFixed(2));
      fit(b, w);
    });
    if (layout) stack();
    reset.style.display = to === boxes[0] ? 'none' : '';
    tell();
  }

  // Nested matches count once: only the outermost in each column.
  function tell() {
    if (!pattern) { matched.textContent = ''; return; }
    let sum = 0, end = -1;
    boxes.filter(function (b) { return b.hit && b.g.style.display !== 'none'; })
      .sort(function (a, b) { return a.x - b.x || b.w - a.w; })
      .forEach(function (b) {
        if (b.x < end - 0.005) return;
        sum += b.d < zoomed.d ? zoomed.w : b.w;
        end = b.x + b.w;
      });
    matched.textContent = 'matched: ' + Math.min(100, 100 * sum / zoomed.w).toFixed(1) + ' %';
  }

  function find(text) {
    try { pattern = text ? new RegExp(text) : null; } catch (e) { matched.textContent = 'not a regular expression'; return; }
    boxes.forEach(function (b) {
      b.hit = !!pattern && (pattern.test(b.name) || pattern.test(b.label));
      b.g.classList.toggle('hit', b.hit);
    });
    search.textContent = pattern ? 'clear search' : 'search';
    tell();
  }

  function ask() {
    if (pattern) { find(''); return; }
    const text = window.prompt('regular expression, matched against function names');
    if (text) find(text);
  }

  function choose(b) {
    if (current) current.g.classList.remove('on');
    current = b;
    if (!b) { details.textContent = ''; return; }
    b.g.classList.add('on');
    details.textContent = b.g.querySelector('title').textContent.replace(/\n/g, ', ');
  }

  function shown(b) { return b.g.style.display !== 'none'; }

  function step(key) {
    const from = current && shown(current) ? current : zoomed;
    const down = boxes.filter(function (b) {
      return shown(b) && b.d === from.d + 1 && b.x >= from.x - 0.005 && b.x + b.w <= from.x + from.w + 0.005;
    });
    const level = boxes.filter(function (b) { return shown(b) && b.d === from.d; }).sort(function (a, b) { return a.x - b.x; });
    const root = boxes.filter(function (b) {
      return shown(b) && b.d === from.d - 1 && b.x <= from.x + 0.005 && b.x + b.w >= from.x + from.w - 0.005;
    });
    const inner = boxes.length > 1 && boxes[1].y > boxes[0].y ? 'ArrowDown' : 'ArrowUp';
    if (key === 'ArrowLeft') return level[level.indexOf(from) - 1];
    if (key === 'ArrowRight') return level[level.indexOf(from) + 1];
    if (key === inner) return down.sort(function (a, b) { return b.w - a.w; })[0];
    return root[0];
  }

  svg.addEventListener('click', function (e) {
    const g = e.target.closest('.f');
    if (g) { choose(of.get(g)); zoom(of.get(g)); }
    else if (e.target === reset) zoom(boxes[0]);
    else if (e.target === search) ask();
  });
  svg.addEventListener('mouseover', function (e) {
    const g = e.target.closest('.f');
    if (g) choose(of.get(g));
  });
  svg.addEventListener('mouseleave', function () { choose(null); });
  window.addEventListener('keydown', function (e) {
    if (e.key === 'Escape') { if (pattern) find(''); zoom(boxes[0]); }
    else if (e.key === '/' || (e.key === 'f' && (e.ctrlKey || e.metaKey))) ask();
    else if (e.key === 'Enter' && current) zoom(current);
    else if (e.key.indexOf('Arrow') === 0) { const b = step(e.key); if (b) choose(b); }
    else return;
    e.preventDefault();
  });
  window.tidemark = { find: find, zoom: function (i) { zoom(boxes[i]); }, boxes: boxes };
  zoom(boxes[0]);
})();
