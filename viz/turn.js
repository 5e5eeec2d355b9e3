for (const figure of document.querySelectorAll(".viz-turn:not([data-ready])")) {
  figure.dataset.ready = "yes";
  const controls = figure.querySelector(".viz-zoom"), range = figure.querySelector("input"); // range: the frames, if there are any
  const views = [...figure.querySelectorAll("canvas")], parts = [...figure.querySelectorAll("script[type='text/plain']")];
  if (!window.DecompressionStream) {
    views.concat(controls, range ? range.parentNode : []).forEach(e => e.remove()); // the still pictures stay
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
    data.others = [];
    data.all = [];
    let last = 0;
    for (let i = 0; i < data.marks.length;) {
      const [style, n] = data.marks.slice(i, i += 2), at = [];
      for (let k = 0; k < n; k++) at.push(last += data.marks[i++]);
      const s = data.styles[style];
      const mark = {s, at};
      (s.kind == "face" ? data.faces : data.others).push(mark);
      data.all.push(mark);
    }
    data.show = k => {
      data.points = data.frames[k];
      if (data.looks) data.all.forEach((mark, i) => mark.s = data.styles[data.looks[k][i]]);
    };
    if (range) data.show(range.value);
    data.home = {azimuth: data.azimuth, elevation: data.elevation, zoom: 1};
    data.zoom = 1;
    data.clear = data.faces.some(f => f.s.fill[3] < 255);
    view.data = data;
  };
  const inverted = view => getComputedStyle(view).filter != "none";
  const css = c => `rgba(${c[0]},${c[1]},${c[2]},${c[3] / 255})`;

  // cover calls put(x, y) for the pixels of a page of W by H inside a polygon, which need not be convex: where its corners wind around
  // the pixel's middle.
  const cover = (corners, W, H, put) => {
    const ys = corners.map(c => c[1]), bottom = Math.min(H - 1, Math.floor(Math.max(...ys)));
    for (let y = Math.max(0, Math.floor(Math.min(...ys))); y <= bottom; y++) {
      const level = y + .5, cuts = [];
      corners.forEach(([bx, by], k) => {
        const [ax, ay] = corners.at(k - 1);
        if ((ay <= level) != (by <= level)) cuts.push([ax + (level - ay) / (by - ay) * (bx - ax), ay < by ? 1 : -1]);
      });
      cuts.sort((a, b) => a[0] - b[0]);
      let turns = 0;
      cuts.slice(1).forEach(([end], k) => {
        turns += cuts[k][1];
        if (turns) for (let x = Math.max(0, Math.ceil(cuts[k][0] - .5)); x < Math.min(W, end - .5); x++) put(x, y);
      });
    }
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

    // The facets go into an image with the depth of each pixel, the farthest first where some let others shine through.
    const depth = new Float32Array(W * H).fill(-Infinity), image = new ImageData(W, H), out = image.data;
    const put = (i, z, r, g, b, alpha) => {
      if (alpha == 255) {
        if (z <= depth[i]) return;
        out[4 * i] = r; out[4 * i + 1] = g; out[4 * i + 2] = b; out[4 * i + 3] = 255;
      } else {
        const over = alpha / 255, under = out[4 * i + 3] / 255 * (1 - over), sum = over + under;
        [r, g, b].forEach((v, k) => out[4 * i + k] = (v * over + out[4 * i + k] * under) / sum);
        out[4 * i + 3] = 255 * sum;
      }
      depth[i] = Math.max(depth[i], z);
    };
    const triangle = (a, b, c, ...ink) => {
      const ax = fine * X[a], ay = fine * Y[a], ux = fine * X[b] - ax, uy = fine * Y[b] - ay, vx = fine * X[c] - ax, vy = fine * Y[c] - ay;
      const area = ux * vy - uy * vx;
      if (!area) return;
      const left = Math.max(0, Math.floor(ax + Math.min(0, ux, vx))), right = Math.min(W - 1, Math.ceil(ax + Math.max(0, ux, vx)));
      const top = Math.max(0, Math.floor(ay + Math.min(0, uy, vy))), bottom = Math.min(H - 1, Math.ceil(ay + Math.max(0, uy, vy)));
      for (let y = top; y <= bottom; y++) {
        for (let x = left; x <= right; x++) {
          const px = x + .5 - ax, py = y + .5 - ay, s = (px * vy - py * vx) / area, t = (ux * py - uy * px) / area;
          if (s < -1e-3 || t < -1e-3 || s + t > 1.001) continue;
          put(y * W + x, Z[a] + s * (Z[b] - Z[a]) + t * (Z[c] - Z[a]), ...ink);
        }
      }
    };
    const region = (at, ...ink) => { // of more corners than three, at the depth of the plane that fits them
      const low = Math.min(...at.map(i => Z[i])), high = Math.max(...at.map(i => Z[i]));
      const [mx, my, mz] = [X, Y, Z].map(v => at.reduce((sum, i) => sum + v[i], 0) / at.length);
      let nx = 0, ny = 0, nz = 0;
      at.forEach((i, k) => {
        const j = at.at(k - 1);
        nx += (Y[j] - Y[i]) * (Z[j] + Z[i]); ny += (Z[j] - Z[i]) * (X[j] + X[i]); nz += (X[j] - X[i]) * (Y[j] + Y[i]);
      });
      cover(at.map(i => [fine * X[i], fine * Y[i]]), W, H, (x, y) => {
        const z = nz ? mz - (nx * ((x + .5) / fine - mx) + ny * ((y + .5) / fine - my)) / nz : mz;
        put(y * W + x, Math.max(low, Math.min(high, z)), ...ink);
      });
    };
    if (d.clear) {
      for (const f of d.faces) f.z = f.at.reduce((sum, i) => sum + Z[i], 0) / f.at.length;
      d.faces.sort((f, g) => f.z - g.z);
    }
    const dark = inverted(view);
    for (const {s, at} of d.faces) {
      let light = 1;
      if (s.lit) { // as the package draws it: from above the left shoulder, on both sides
        const [a, b, c] = at, ux = X[b] - X[a], uy = Y[a] - Y[b], uz = Z[b] - Z[a], vx = X[c] - X[a], vy = Y[a] - Y[c], vz = Z[c] - Z[a];
        const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx, length = Math.hypot(nx, ny, nz) * (nz < 0 ? -1 : 1);
        if (length) light = .68 + .36 * (-.35 * nx + .5 * ny + .79 * nz) / length;
        if (dark) light = 1.32 - .45 * light; // the page turns light and dark over: what faces the light is bright there, too, but darker than grey lines
        if (s.lit == 2) light = .8 + .2 * light;
      }
      const [r, g, b] = s.fill.slice(0, 3).map(v => Math.min(255, v * light));
      (at.length == 3 ? triangle(...at, r, g, b, s.fill[3]) : region(at, r, g, b, s.fill[3]));
    }

    // All else is drawn piece by piece: what a facet hides before the image, the rest after it.
    const pieces = [], reach = unit * d.reach;
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
    const write = (pen, text, x, y, ink) => {
      pen.fillStyle = css(ink); pen.font = `${6.5 * point}px "Liberation Sans", Arial, sans-serif`;
      pen.textAlign = "center"; pen.textBaseline = "middle"; pen.fillText(text, x, y);
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
        piece(s, ...p[0], pen => {
          pen.beginPath(); pen.arc(p[0][0], p[0][1], s.radius * point, 0, 7);
          pen.fillStyle = css(s.fill); pen.fill();
          if (s.width) { pen.strokeStyle = css(s.stroke); pen.lineWidth = s.width * point; pen.stroke(); }
        });
      } else { // a text stands beside its point, away from the middle of the others
        const m = middles[s.level], x = p[0][0] - m[0] / m[2], y = p[0][1] - m[1] / m[2], away = 5.5 * point / (Math.hypot(x, y) || 1);
        piece(s, ...p[0], pen => write(pen, s.text, p[0][0] + away * x, p[0][1] + away * y, s.fill));
      }
    }
    if (d.axes) {
      const [x, y] = [d.axes[0] * w, d.axes[1] * h], grey = [118, 118, 118, 255];
      "xyz".split("").forEach((name, k) => {
        const t = turned(...[0, 1, 2].map(i => i == k ? 11 * point : 0));
        arrow({stroke: grey, width: .6, level: 0}, [x, y, 1e6], [x + t[0], y - t[1], 1e6 + t[2]]);
        piece({level: 0}, x, y, 1e6, pen => write(pen, name, x + 1.4 * t[0], y - 1.4 * t[1], grey));
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
  [() => zoom(1.25), () => zoom(.8), reset].forEach((act, i) => controls.querySelectorAll("button")[i].onclick = act);
  if (range) {
    const texts = JSON.parse(figure.dataset.texts), [button, output] = ["button", "output"].map(e => range.parentNode.querySelector(e));
    const show = () => {
      output.textContent = range.ariaValueText = texts[range.value];
      return change(data => data.show(range.value));
    };
    output.textContent = range.ariaValueText = texts[range.value];
    range.oninput = show;
    let playing = false;
    button.onclick = async () => {
      playing = !playing;
      button.textContent = playing ? "\u25ae\u25ae" : "\u25b6\ufe0e";
      button.ariaLabel = playing ? "pause" : "play";
      while (playing && figure.isConnected) {
        range.value = (+range.value + 1) % texts.length;
        await show();
        await new Promise(done => setTimeout(done, 120));
      }
    };
  }
  for (const view of views) {
    const held = new Map(); // where the pointers are: one turns, two zoom by their distance
    const spread = () => { const [a, b] = held.values(); return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1; };
    view.onpointerdown = e => {
      view.setPointerCapture(e.pointerId);
      held.set(e.pointerId, [e.clientX, e.clientY, e.pointerType != "touch"]);
      turn(0, 0);
    };
    view.onpointermove = e => {
      const last = held.get(e.pointerId);
      if (!last) return;
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
