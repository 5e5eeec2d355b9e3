for (const figure of document.querySelectorAll(".viz-turn:not([data-ready])")) {
  figure.dataset.ready = "yes";
  const controls = figure.querySelector(".viz-zoom"), range = figure.querySelector("input"); // range: the frames, if there are any
  const views = [...figure.querySelectorAll("canvas")], parts = [...figure.querySelectorAll("script[type='text/plain']")];
  if (!window.DecompressionStream) {
    views.concat(controls || [], range ? range.parentNode : []).forEach(e => e.remove()); // the still pictures stay
    continue;
  }

  // Points are whole numbers, each counted from the one before; so are the numbers of a mark's points.
  const read = async (view, part) => {
    const bytes = Uint8Array.from(atob(part.textContent.trim()), c => c.charCodeAt(0));
    const data = JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text());
    const sum = (p, width) => { for (let i = width; i < p.length; i++) p[i] += p[i - width]; return p; };
    let one = sum(data.points, 3), two = one;
    data.frames = (data.frames || []).map(off => {
      const at = sum(off, 3).map((v, i) => v + 2 * one[i] - two[i]);
      [two, one] = [one, at];
      return at;
    });
    (data.looks || []).forEach(look => sum(look, 1));
    data.faces = [];
    for (const b of data.bodies) {
      sum(b.triangles, 3);
      b.corners = Int32Array.from(b.triangles);
      sum(b.normals || [], 2).forEach((v, i, all) => { if (i % 2) b.corners[all[i - 1]] = v; });
      sum(b.open, 1);
      (b.tones || []).forEach(tones => sum(tones, 1));
    }
    data.others = [];
    data.all = [];
    let last = 0;
    for (let i = 0; i < data.marks.length;) {
      const [style, n] = data.marks.slice(i, i += 2), at = [];
      for (let k = 0; k < n; k++) at.push(last += data.marks[i++]);
      const s = data.styles[style];
      const mark = {s, at};
      if (s.kind == "face") Object.assign(data.bodies[data.faces.length], {at: Int32Array.from(at), tone: (data.bodies[data.faces.length].tones || [])[0]});
      (s.kind == "face" ? data.faces : data.others).push(mark);
      data.all.push(mark);
    }
    data.show = t => { // between two frames points stand in proportion
      const k = Math.min(Math.floor(t), data.frames.length - 1), from = data.frames[k], to = data.frames[k + 1], near = Math.round(t);
      data.points = to && t > k ? Float32Array.from(from, (v, i) => v + (t - k) * (to[i] - v)) : from;
      for (const b of data.bodies) if (b.tones) b.tone = b.tones[near];
      if (data.looks) data.all.forEach((mark, i) => mark.s = data.styles[data.looks[near][i]]);
    };
    if (range) data.show(+range.value);
    data.home = {azimuth: data.azimuth, elevation: data.elevation, zoom: 1};
    data.zoom = 1;
    data.clear = data.bodies.some(b => b.colours[0][3] < 255);
    view.data = data;
  };
  const inverted = view => getComputedStyle(view).filter != "none";
  const css = c => `rgba(${c[0]},${c[1]},${c[2]},${c[3] / 255})`;

  // light is that of the package, for a unit normal towards the reader: a lamp above the left shoulder with a soft highlight, a weak one from
  // the right, and soft light that is stronger from above.
  const light = (x, y, z, open, valued) => (.1 + .9 * open) * (.49 + .1 * y) + (.55 + .45 * open) *
    (.5 * Math.max(0, -.45 * x + .55 * y + .7 * z) + .14 * Math.max(0, .7 * x + .1 * y + .7 * z) + (valued ? 0 : .14 * Math.max(0, -.24 * x + .3 * y + .92 * z) ** 24));

  // shade finds how bright both sides of a body are at its normals, the means of those of the triangles.
  const shade = (b, X, Y, Z, dark) => {
    const {at, triangles, corners, open} = b, n = open.length;
    b.front ||= new Float32Array(n);
    b.back ||= new Float32Array(n);
    const sums = new Float32Array(3 * n);
    for (let i = 0; i < triangles.length; i += 3) {
      const p = at[triangles[i]], q = at[triangles[i + 1]], r = at[triangles[i + 2]];
      const ux = X[q] - X[p], uy = Y[p] - Y[q], uz = Z[q] - Z[p], vx = X[r] - X[p], vy = Y[p] - Y[r], vz = Z[r] - Z[p];
      const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
      for (let k = i; k < i + 3; k++) {
        const c = 3 * corners[k];
        sums[c] += x; sums[c + 1] += y; sums[c + 2] += z;
      }
    }
    for (let i = 0; i < n; i++) {
      const length = Math.hypot(sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]) || 1;
      const [x, y, z] = [sums[3 * i] / length, sums[3 * i + 1] / length, sums[3 * i + 2] / length];
      b.front[i] = light(x, y, z, open[i] / 255, b.tone);
      b.back[i] = light(-x, -y, -z, open[i] / 255, b.tone);
      if (dark) { b.front[i] = 1.25 - .55 * b.front[i]; b.back[i] = 1.25 - .55 * b.back[i]; } // the page turns light and dark over
    }
  };

  // fill draws the pixels whose middles a triangle covers, row by row, each once where triangles meet.
  const fill = (b, i, X, Y, Z, fine, W, H, depth, out) => {
    const {at, triangles, corners, colours, tone, front, back} = b;
    const v = [triangles[i], triangles[i + 1], triangles[i + 2]], [p, q, r] = [at[v[0]], at[v[1]], at[v[2]]];
    const x = [fine * X[p], fine * X[q], fine * X[r]], y = [fine * Y[p], fine * Y[q], fine * Y[r]];
    const ux = x[1] - x[0], uy = y[1] - y[0], vx = x[2] - x[0], vy = y[2] - y[0], area = ux * vy - uy * vx;
    if (!area) return;
    const side = area < 0 ? front : back, lit = k => side[corners[i + k]], ink = k => colours[tone ? tone[v[k]] : 0];
    const [A, B, C] = [ink(0), ink(1), ink(2)], [a, c, e] = [lit(0), lit(1), lit(2)];
    const R = A[0] * a, G = A[1] * a, F = A[2] * a; // at the first corner, and the slopes to the others
    const Rs = B[0] * c - R, Gs = B[1] * c - G, Fs = B[2] * c - F, Rt = C[0] * e - R, Gt = C[1] * e - G, Ft = C[2] * e - F;
    const z0 = Z[p], zs = Z[q] - z0, zt = Z[r] - z0, alpha = A[3] / 255;
    let top = 0, mid = 1, low = 2;
    if (y[top] > y[mid]) [top, mid] = [mid, top];
    if (y[mid] > y[low]) [mid, low] = [low, mid];
    if (y[top] > y[mid]) [top, mid] = [mid, top];
    const cross = (j, k, level) => x[j] + (level - y[j]) * ((x[k] - x[j]) / (y[k] - y[j])); // from the upper end of an edge
    const end = Math.min(H, Math.ceil(y[low] - .5));
    for (let row = Math.max(0, Math.ceil(y[top] - .5)); row < end; row++) {
      const level = row + .5, one = cross(top, low, level), two = level < y[mid] ? cross(top, mid, level) : cross(mid, low, level);
      const to = Math.min(W, Math.ceil(Math.max(one, two) - .5)), py = level - y[0];
      for (let col = Math.max(0, Math.ceil(Math.min(one, two) - .5)); col < to; col++) {
        const px = col + .5 - x[0], s = (px * vy - py * vx) / area, t = (ux * py - uy * px) / area;
        const j = row * W + col, z = z0 + s * zs + t * zt;
        if (alpha == 1 && z <= depth[j]) continue;
        const under = out[4 * j + 3] / 255 * (1 - alpha), sum = alpha + under;
        out[4 * j] = (alpha * Math.min(255, R + s * Rs + t * Rt) + under * out[4 * j]) / sum;
        out[4 * j + 1] = (alpha * Math.min(255, G + s * Gs + t * Gt) + under * out[4 * j + 1]) / sum;
        out[4 * j + 2] = (alpha * Math.min(255, F + s * Fs + t * Ft) + under * out[4 * j + 2]) / sum;
        out[4 * j + 3] = 255 * sum;
        if (z > depth[j]) depth[j] = z;
      }
    }
  };

  // outline darkens the pixels at whose side the surface ends or jumps back, more than a steep surface falls, the nearer they are the more.
  const outline = (depth, out, W, H, jump, step) => {
    let near = -Infinity, far = Infinity;
    for (const z of depth) if (z > -Infinity) { if (z > near) near = z; if (z < far) far = z; }
    for (let y = 0, i = 0; y < H; y++) for (let x = 0; x < W; x++, i++) {
      const z = depth[i], level = (one, two) => one >= z - jump - Math.max(0, two - z) && two >= z - jump - Math.max(0, one - z);
      if (z == -Infinity) continue;
      if (x >= step && x < W - step && y >= step && y < H - step &&
        level(depth[i - step], depth[i + step]) && level(depth[i - step * W], depth[i + step * W])) continue;
      const dim = .8 - .4 * (z - far) / (near - far || 1);
      out[4 * i] *= dim; out[4 * i + 1] *= dim; out[4 * i + 2] *= dim;
    }
  };

  const write = (pen, text, x, y, ink, point) => {
    pen.fillStyle = css(ink); pen.font = `${6.5 * point}px "Liberation Sans", Arial, sans-serif`;
    pen.textAlign = "center"; pen.textBaseline = "middle"; pen.fillText(text, x, y);
  };

  const draw = view => {
    const d = view.data, w = view.clientWidth, h = view.clientHeight, n = d.points.length / 3, fine = 2;
    const W = view.width = Math.round(fine * w), H = view.height = Math.round(fine * h);
    if (!W || !H) return; // the page does not show it
    const unit = d.scale * w * d.zoom, point = d.point * w; // pixels of the page
    const [sa, ca, se, ce] = [Math.sin(d.azimuth), Math.cos(d.azimuth), Math.sin(d.elevation), Math.cos(d.elevation)];
    const turned = (x, y, z) => [-sa * x + ca * y, -se * ca * x - se * sa * y + ce * z, ce * ca * x + ce * sa * y + se * z];
    const X = new Float32Array(n), Y = new Float32Array(n), Z = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      const [x, y, z] = turned(d.points[3 * i], d.points[3 * i + 1], d.points[3 * i + 2]);
      X[i] = d.middle[0] * w + unit * x; Y[i] = d.middle[1] * h - unit * y; Z[i] = unit * z;
    }

    if (d.flat) {
      const pen = view.getContext("2d");
      pen.scale(fine, fine);
      pen.lineJoin = "round";
      view.dots = [];
      for (const {s, at} of d.others) {
        const [x, y] = [X[at[0]], Y[at[0]]];
        if (s.kind == "word") { write(pen, s.text, x, y, s.fill, point); continue; }
        if (s.text) view.dots.push([x, y, 0, s.text]);
        pen.beginPath();
        if (s.radius) pen.arc(x, y, s.radius * point, 0, 7); else for (const i of at) pen.lineTo(X[i], Y[i]);
        if (s.closed) pen.closePath();
        pen.fillStyle = css(s.fill); pen.strokeStyle = css(s.stroke); pen.lineWidth = s.width * point;
        pen.setLineDash(s.dashed ? [3 * point, 2 * point] : []);
        if (s.fill[3]) pen.fill();
        if (s.width) pen.stroke();
      }
      return;
    }

    // The surfaces go into an image with the depth of each pixel, the farthest triangle first where some let others shine through.
    const depth = new Float32Array(W * H).fill(-Infinity), image = new ImageData(W, H), out = image.data;
    const facets = [], dark = inverted(view);
    for (const b of d.bodies) shade(b, X, Y, Z, dark);
    d.bodies.forEach(b => {
      const t = b.triangles;
      if (!d.clear) for (let i = 0; i < t.length; i += 3) fill(b, i, X, Y, Z, fine, W, H, depth, out);
      else for (let i = 0; i < t.length; i += 3) facets.push([Z[b.at[t[i]]] + Z[b.at[t[i + 1]]] + Z[b.at[t[i + 2]]], b, i]);
    });
    facets.sort((f, g) => f[0] - g[0]).forEach(f => fill(f[1], f[2], X, Y, Z, fine, W, H, depth, out));
    if (d.bodies.length) outline(depth, out, W, H, .02 * unit * d.reach, Math.max(1, Math.round(.35 * point * fine)));

    // All else is drawn piece by piece: what a facet hides before the image, the rest after it.
    const pieces = [], reach = unit * d.reach, free = [];
    view.dots = [];
    const piece = (s, x, y, z, put) => {
      const i = Math.round(fine * y) * W + Math.round(fine * x);
      pieces.push({hidden: depth[i] > z + unit * d.tolerance, order: z + .01 * s.level * reach, put});
    };
    const line = (s, from, to) => {
      const [dx, dy, dz] = [0, 1, 2].map(k => to[k] - from[k]), count = 1 + Math.floor(Math.hypot(dx, dy, dz) / (.012 * reach));
      for (let k = 0; k < count; k++) {
        if (s.dashed && (s.run = (s.run || 0) + 1) % 3 == 0) continue;
        const a = k / count, b = (k + 1) / count, m = (a + b) / 2;
        piece(s, from[0] + m * dx, from[1] + m * dy, from[2] + m * dz, pen => {
          pen.strokeStyle = css(s.stroke); pen.lineWidth = s.width * point; pen.lineCap = s.stroke[3] == 255 ? "round" : "butt";
          pen.beginPath(); pen.moveTo(from[0] + a * dx, from[1] + a * dy); pen.lineTo(from[0] + b * dx, from[1] + b * dy); pen.stroke();
        });
      }
    };
    const polygon = (pen, fill, ...corners) => {
      pen.fillStyle = css(fill); pen.beginPath(); corners.forEach(c => pen.lineTo(c[0], c[1])); pen.fill();
    };
    const arrow = (s, from, to) => {
      const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy);
      if (length < 1e-3) return;
      const size = Math.min((3.2 + 1.8 * s.width) * point, .5 * length), share = 1 - .9 * size / length;
      const ax = size * dx / length, ay = size * dy / length, fx = to[0] - ax, fy = to[1] - ay;
      line({...s, width: Math.min(s.width, .2 * length / point)}, from, from.map((v, k) => v + share * (to[k] - v)));
      piece(s, ...to, pen => polygon(pen, s.stroke, to, [fx - .36 * ay, fy + .36 * ax], [fx + .36 * ay, fy - .36 * ax]));
    };
    const middles = {};
    for (const {s, at} of d.others) if (s.kind == "text") {
      const m = middles[s.level] ||= [0, 0, 0];
      m[0] += X[at[0]]; m[1] += Y[at[0]]; m[2]++;
    }
    for (const {s, at} of d.others) {
      const p = at.map(i => [X[i], Y[i], Z[i]]);
      if (s.kind == "line") {
        for (let k = 1; k < p.length; k++) line(s, p[k - 1], p[k]);
        if (s.closed) line(s, p[p.length - 1], p[0]);
      } else if (s.kind == "arrow") {
        arrow(s, ...p);
      } else if (s.kind == "dot") {
        if (s.text) view.dots.push([...p[0], s.text]);
        piece(s, ...p[0], pen => {
          pen.beginPath(); pen.arc(p[0][0], p[0][1], s.radius * point, 0, 7);
          pen.fillStyle = css(s.fill); pen.fill();
          if (s.width) { pen.strokeStyle = css(s.stroke); pen.lineWidth = s.width * point; pen.stroke(); }
        });
      } else { // a text stands beside its point, away from the middle of the others
        const m = middles[s.level], x = p[0][0] - m[0] / m[2], y = p[0][1] - m[1] / m[2], away = 1 / (Math.hypot(x, y) || 1);
        const half = 1.8 * s.text.length * point; // a long one stands beside its point
        const far = away * x * Math.max(5.5 * point, half + 2.2 * point), out = p[0][0] + far < half || p[0][0] + far > w - half;
        free.push({s, p: p[0], x: p[0][0] + (out ? -far : far), y: p[0][1] + away * y * 5.5 * point, half});
      }
    }
    free.sort((a, b) => b.p[2] - a.p[2]).forEach((t, i) => { // none stands on a nearer one
      t.kept = !free.slice(0, i).some(o => o.kept && Math.abs(o.x - t.x) < o.half + t.half && Math.abs(o.y - t.y) < 6.5 * point);
      if (t.kept) piece(t.s, ...t.p, pen => write(pen, t.s.text, t.x, t.y, t.s.fill, point));
    });
    if (d.axes) {
      const [x, y] = [d.axes[0] * w, d.axes[1] * h], grey = [118, 118, 118, 255];
      "xyz".split("").forEach((name, k) => {
        const t = turned(...[0, 1, 2].map(i => i == k ? 11 * point : 0));
        arrow({stroke: grey, width: .6, level: 0}, [x, y, 1e6], [x + t[0], y - t[1], 1e6 + t[2]]);
        piece({level: 0}, x, y, 1e6, pen => write(pen, name, x + 1.4 * t[0], y - 1.4 * t[1], grey, point));
      });
    }
    pieces.sort((a, b) => a.order - b.order);
    const pen = view.getContext("2d"), sheet = document.createElement("canvas");
    sheet.width = W; sheet.height = H;
    sheet.getContext("2d").putImageData(image, 0, 0);
    pen.scale(fine, fine);
    if (d.clear) pieces.forEach(p => p.hidden && p.put(pen));
    pen.drawImage(sheet, 0, 0, w, h);
    pieces.forEach(p => p.hidden || p.put(pen));
  };

  let loading, waiting;
  const change = async move => {
    await (loading ||= Promise.all(views.map((v, i) => read(v, parts[i]))).then(() => {
      for (const view of views) {
        const [still, blank] = view.parentNode.querySelectorAll("img");
        still.hidden = true;
        blank.hidden = false;
      }
    }));
    for (const {data} of views) move(data);
    waiting ||= requestAnimationFrame(() => { waiting = 0; views.forEach(draw); });
  };
  const turn = (azimuth, elevation) => change(data => {
    data.azimuth += azimuth;
    data.elevation = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, data.elevation + elevation));
  });
  const zoom = factor => change(data => data.zoom = Math.max(.5, Math.min(10, factor * data.zoom)));
  const reset = () => change(data => Object.assign(data, data.home));
  if (controls) [() => zoom(1.25), () => zoom(.8), reset].forEach((act, i) => controls.querySelectorAll("button")[i].onclick = act);
  if (range) {
    const texts = JSON.parse(figure.dataset.texts), last = texts.length - 1, plays = "plays" in figure.dataset;
    const [button, output] = ["button", "output"].map(e => range.parentNode.querySelector(e));
    const say = t => output.textContent = range.ariaValueText = plays ? "t = " + (t / (last || 1)).toFixed(2) : texts[Math.round(t)];
    const show = t => { say(t); return change(data => data.show(t)); };
    if (plays) range.step = .02;
    let running = 0;
    const label = () => {
      button.textContent = running ? "\u25ae\u25ae" : "\u25b6\ufe0e";
      button.ariaLabel = running ? "pause" : "play";
    };
    const stop = () => { running = cancelAnimationFrame(running) || 0; label(); };
    const start = (ways, again) => { // goes ways from one frame to another, the last of them again until it is stopped
      const pace = plays ? last / 2500 : 1 / 120; // frames a millisecond
      let begin = 0, k = 0;
      const step = now => {
        const [from, to] = ways[k], way = Math.abs(to - from) || 1;
        begin ||= now;
        const gone = pace * (now - begin), t = from + Math.min(1, gone / way) * (to - from);
        range.value = t;
        show(t);
        running = requestAnimationFrame(step);
        if (!figure.isConnected || gone > way + .15 * last && !again && k == ways.length - 1) stop();
        else if (gone > way + .15 * last) [begin, k] = [now, Math.min(k + 1, ways.length - 1)]; // it rests at its end
      };
      running = requestAnimationFrame(step);
      label();
    };
    say(+range.value);
    range.oninput = () => { stop(); show(+range.value); };
    button.onclick = () => running ? stop() : start([[+range.value < last ? +range.value : 0, last], [0, last]], true);
    if (plays && !matchMedia("(prefers-reduced-motion: reduce)").matches) { // once, and to the middle, where its ends are seen, too
      const seen = new IntersectionObserver(entries => {
        if (!entries[0].isIntersecting) return;
        seen.disconnect();
        start([[0, last], [last, last / 2]]);
      }, {threshold: .6});
      seen.observe(figure);
    }
  }
  for (const view of views) {
    if (!controls) continue; // a figure in the plane does not turn
    const held = new Map(); // where the pointers are: one turns, two zoom by their distance
    const spread = () => { const [a, b] = held.values(); return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1; };
    view.onpointerdown = e => {
      view.setPointerCapture(e.pointerId);
      held.set(e.pointerId, [e.clientX, e.clientY, e.pointerType != "touch"]);
      turn(0, 0);
    };
    if ("names" in view.dataset) view.onpointerenter = () => turn(0, 0);
    view.onpointermove = e => {
      const last = held.get(e.pointerId);
      if (!last) { // the name of the nearest point, of those together the foremost
        const near = (view.dots || []).filter(([x, y]) => Math.hypot(x - e.offsetX, y - e.offsetY) < 8).sort((a, b) => b[2] - a[2])[0];
        view.title = near ? near[3] : "";
        return;
      }
      const [dx, dy] = [e.clientX - last[0], e.clientY - last[1]].map(Math.abs);
      if (!last[2] && held.size == 1 && (dx + dy < 6 || dx < dy)) return; // a finger that moves up or down scrolls the page
      const before = held.size == 2 && spread();
      held.set(e.pointerId, [e.clientX, e.clientY, true]);
      if (before) zoom(spread() / before);
      else turn((last[0] - e.clientX) * .01, (e.clientY - last[1]) * .01);
    };
    view.onpointerup = view.onpointercancel = e => held.delete(e.pointerId);
    view.ondblclick = reset;
    view.addEventListener("wheel", e => { // a page that only scrolls by stays as it is
      if (!e.ctrlKey && document.activeElement != view) return;
      e.preventDefault();
      zoom(Math.exp(-.002 * Math.max(-100, Math.min(100, e.deltaY))));
    }, {passive: false});
    view.onkeydown = e => {
      const act = {
        ArrowLeft: () => turn(.1, 0), ArrowRight: () => turn(-.1, 0), ArrowUp: () => turn(0, -.1), ArrowDown: () => turn(0, .1),
        "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(.8), "0": reset,
      }[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      e.stopPropagation();
      act();
    };
  }
  addEventListener("resize", () => loading && turn(0, 0));
  if (views.some(inverted)) { // the still pictures are lit for a light page
    const seen = new IntersectionObserver(entries => {
      if (!entries[0].isIntersecting) return;
      seen.disconnect();
      turn(0, 0);
    });
    seen.observe(figure);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => turn(0, 0));
}
