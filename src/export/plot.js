// The behaviour of a plot inside its SVG: values under the pointer, lines that are switched off in the legend.
(function () {
  'use strict';
  const svg = document.querySelector('svg'), NS = 'http://www.w3.org/2000/svg', tip = svg.getElementById('tip');
  const at = function (name) { return +tip.getAttribute('data-' + name); };
  const left = at('left'), right = at('right'), top = at('top'), bottom = at('bottom'), MOST = 12;
  const lines = Array.from(svg.querySelectorAll('.s')).map(function (line) {
    return {
      line: line, name: line.querySelector('title').textContent, color: line.getAttribute('stroke'),
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

  // The value of the last point at or before a column of pixels.
  function value(points, x) {
    let low = 0, high = points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (points[middle][0] <= x) low = middle + 1; else high = middle;
    }
    if (!low) return null;
    return at('y0') + (bottom - points[low - 1][1]) / (bottom - top) * (at('y1') - at('y0'));
  }

  function show(x) {
    while (tip.firstChild) tip.removeChild(tip.firstChild);
    if (x < left || x > right) return [];
    const rows = lines.filter(function (l) { return !l.off; })
      .map(function (l) { return { name: l.name, color: l.color, value: value(l.points, x) }; })
      .filter(function (r) { return r.value !== null; })
      .sort(function (a, b) { return b.value - a.value; });
    const when = at('x0') + (x - left) / (right - left) * (at('x1') - at('x0'));
    const texts = [[amount(when, at('xu')), '#000']].concat(rows.slice(0, MOST).map(function (r) {
      return [r.name.slice(0, 28) + '  ' + amount(r.value, at('yu')), r.color];
    }));
    const wide = 20 + 7.3 * Math.max.apply(null, texts.map(function (t) { return t[0].length; }));
    const place = x + wide + 12 > right ? x - wide - 8 : x + 8;
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
  window.tidemark = { show: show, toggle: toggle, lines: lines };
})();
