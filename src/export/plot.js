// The behaviour of a plot inside its SVG: values under the pointer, lines that can be switched off in the legend, and
// another layout for narrow windows.
(function () {
  'use strict';
  const svg = document.querySelector('svg'), NS = 'http://www.w3.org/2000/svg', tip = svg.getElementById('tip');
  const at = function (name) { return +tip.getAttribute('data-' + name); };
  const top = at('top'), bottom = at('bottom'), MOST = 12;
  const all = function (what) { return Array.from(svg.querySelectorAll(what)); };
  const data = function (e, name) { return +e.getAttribute('data-' + name); };
  const panels = all('.panel').map(function (g) {
    return { top: data(g, 'top'), bottom: data(g, 'bottom'), y0: data(g, 'y0'), y1: data(g, 'y1') };
  });
  let left = at('left'), right = at('right'); // of the panels in the present layout
  const lines = all('.s').map(function (line) {
    return {
      line: line, panel: panels[data(line, 'panel')], name: line.querySelector('title').textContent, color: line.getAttribute('stroke'),
      points: line.getAttribute('points').trim().split(' ').filter(Boolean).map(function (p) { return p.split(',').map(Number); })
    };
  });

  function amount(value, unit) {
    if (unit !== 0) return +value.toPrecision(6) + (unit === 2 ? ' s' : '');
    const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    for (; Math.abs(value) >= 1024 && i < 4; i++) value /= 1024;
    return +value.toPrecision(4) + ' ' + names[i];
  }

  // Converts columns of pixels from the present layout to that of the file, and back.
  function filed(x) { return at('left') + (x - left) / (right - left) * (at('right') - at('left')); }
  function shown(x) { return left + (x - at('left')) / (at('right') - at('left')) * (right - left); }

  // The value of the last point at or before a column of pixels.
  function value(line, column) {
    const points = line.points, p = line.panel, x = filed(column);
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] <= x) low = middle + 1; else high = middle;
    }
    if (!low) return null;
    return p.y0 + (p.bottom - points[low - 1][1]) / (p.bottom - p.top) * (p.y1 - p.y0);
  }

  function show(x) {
    while (tip.firstChild) tip.removeChild(tip.firstChild);
    if (x < left || x > right) return [];
    const rows = lines.filter(function (l) { return !l.off; })
      .map(function (l) { return { name: l.name, color: l.color, value: value(l, x) }; })
      .filter(function (r) { return r.value !== null; })
      .sort(function (a, b) { return b.value - a.value; });
    const when = at('x0') + (x - left) / (right - left) * (at('x1') - at('x0'));
    const texts = [[amount(when, at('xu')), '#000']].concat(rows.slice(0, MOST).map(function (r) {
      return [r.name.slice(0, 28) + '  ' + amount(r.value, at('yu')), r.color];
    }));
    const wide = 20 + 7.3 * Math.max.apply(null, texts.map(function (t) { return t[0].length; }));
    const place = x + wide + 12 <= right ? x + 8 : Math.max(2, x - wide - 8);
    const add = function (kind, attributes, text) {
      const e = document.createElementNS(NS, kind);
      Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
      if (text) e.textContent = text;
      tip.appendChild(e);
    };
    add('path', { d: 'M' + x + ' ' + top + 'V' + bottom, stroke: '#444', 'stroke-width': 1 });
    add('rect', { x: place, y: top + 4, width: wide, height: 8 + 16 * texts.length });
    texts.forEach(function (t, i) { add('text', { x: place + 8, y: top + 20 + 16 * i, fill: t[1] }, t[0]); });
    return texts.map(function (t) { return t[0]; });
  }

  function toggle(i) {
    lines[i].off = !lines[i].off;
    lines[i].line.style.display = lines[i].off ? 'none' : '';
    svg.querySelector('.l[data-i="' + i + '"]').classList.toggle('off', lines[i].off);
  }

  // In a narrow window the panels keep their height and lose width, and the legend gets fewer columns: text keeps its
  // size.
  const NARROW = 440, wideBox = svg.getAttribute('viewBox').split(' ').map(Number);
  const titles = all('.t').map(function (e) { return { e: e, text: e.textContent }; });

  const notes = all('.n').map(function (e) { return { e: e, text: e.textContent, x: +e.getAttribute('x'), y: +e.getAttribute('y') }; });

  function fit(title, width) {
    title.e.textContent = title.text;
    for (let n = title.text.length; n > 8 && title.e.getComputedTextLength() > width; n--)
      title.e.textContent = title.text.slice(0, n - 1) + '\u2026';
  }

  function layout(narrow) {
    const width = narrow ? NARROW : wideBox[2], entries = all('.l');
    left = narrow ? 68 : at('left');
    right = narrow ? width - 14 : at('right');
    const scale = (right - left) / (at('right') - at('left'));
    const squeeze = narrow ? 'matrix(' + scale + ' 0 0 1 ' + (left - at('left') * scale) + ' 0)' : '';
    all('.g, .m, .s').forEach(function (e) { e.setAttribute('transform', squeeze); });
    all('.yt').forEach(function (e) { e.setAttribute('x', left - 8); });
    all('.pt').forEach(function (e) { e.setAttribute('x', left + 8); });
    all('.xt, .c').forEach(function (e) {
      if (!e.hasAttribute('data-x')) e.setAttribute('data-x', e.getAttribute('x'));
      e.setAttribute('x', shown(data(e, 'x')));
    });
    all('.xt').forEach(function (e, i) {
      e.style.display = '';
      e.setAttribute('x', Math.min(shown(data(e, 'x')), width - 2 - e.getComputedTextLength() / 2));
      e.style.display = narrow && i % 2 ? 'none' : '';
    });
    const names = all('.ml');
    names.forEach(function (e) {
      const x = shown(data(e, 'x'));
      e.setAttribute('transform', 'translate(' + (x - left < 12 ? x + 10 : x - 3) + ' ' + (top + 4) + ') rotate(-90)');
      e.style.display = narrow && names.length > 15 ? 'none' : '';
    });
    all('.p').forEach(function (e) { e.setAttribute('transform', 'translate(' + (shown(data(e, 'x')) - data(e, 'x')) + ' 0)'); });
    titles.forEach(function (t) {
      t.e.setAttribute('x', width / 2);
      fit(t, width - 12);
    });
    const longest = Math.max.apply(null, lines.map(function (l) { return Math.min(l.name.length, 36); }).concat(1));
    const columns = longest <= 20 ? 2 : 1, first = entries.length ? data(entries[0], 'y') : 0;
    entries.forEach(function (e, i) {
      const x = 14 + i % columns * (width / 2), y = first + 20 * Math.floor(i / columns);
      e.setAttribute('transform', narrow ? 'translate(' + (x - data(e, 'x')) + ' ' + (y - data(e, 'y')) + ')' : '');
    });
    const below = first + 20 * Math.ceil(entries.length / columns);
    notes.forEach(function (n, i) {
      n.e.setAttribute('x', narrow ? 14 : n.x);
      n.e.setAttribute('y', narrow ? below + 20 * i : n.y);
      fit(n, width - (narrow ? 20 : n.x + 12));
    });
    const height = narrow ? below + 20 * notes.length + 2 : wideBox[3];
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);
    svg.setAttribute('height', narrow ? height * Math.max(1, svg.getBoundingClientRect().width) / width : height);
    show(-1);
  }

  function adapt() { layout(svg.getBoundingClientRect().width < 700); }
  window.addEventListener('resize', adapt);
  window.addEventListener('beforeprint', function () { layout(false); });
  window.addEventListener('afterprint', adapt);
  adapt();

  svg.addEventListener('mousemove', function (e) {
    const p = svg.createSVGPoint();
    p.x = e.clientX;
    p.y = e.clientY;
    show(p.matrixTransform(svg.getScreenCTM().inverse()).x);
  });
  svg.addEventListener('mouseleave', function () { show(-1); });
  svg.addEventListener('click', function (e) {
    const g = e.target.closest('.l');
    if (g) toggle(+g.getAttribute('data-i'));
  });
  window.tidemark = { show: show, toggle: toggle, lines: lines, layout: layout };
})();
