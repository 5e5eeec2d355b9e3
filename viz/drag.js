{
  // Landmarks q with momenta p under the Gaussian kernel k(r) = exp(−r²/2σ²), as flat lists x0, y0, x1, y1, …: Hamilton's
  // equations of H = ½ Σ_ij (p_i·p_j) k(|q_i − q_j|).
  const hamilton = (q, p, sigma) => {
    const n = q.length, dq = Float64Array.from(p), dp = new Float64Array(n), inverse = 1 / (sigma * sigma);
    for (let i = 0; i < n; i += 2) {
      for (let j = 0; j < i; j += 2) {
        const x = q[i] - q[j], y = q[i + 1] - q[j + 1], k = Math.exp(-.5 * inverse * (x * x + y * y));
        const f = k * inverse * (p[i] * p[j] + p[i + 1] * p[j + 1]);
        dq[i] += k * p[j]; dq[i + 1] += k * p[j + 1]; dq[j] += k * p[i]; dq[j + 1] += k * p[i + 1];
        dp[i] += f * x; dp[i + 1] += f * y; dp[j] -= f * x; dp[j + 1] -= f * y;
      }
    }
    return [dq, dp];
  };
  const plus = (a, s, b) => a.map((v, i) => v + s * b[i]);

  // shoot returns q and p at the times 0, 1/steps, …, 1, by the method of Runge and Kutta of fourth order.
  const shoot = (q, p, sigma, steps) => {
    const path = [[Float64Array.from(q), Float64Array.from(p)]], h = 1 / steps;
    for (let k = 0; k < steps; k++) {
      const [x, m] = path[k];
      const [a, A] = hamilton(x, m, sigma), [b, B] = hamilton(plus(x, h / 2, a), plus(m, h / 2, A), sigma);
      const [c, C] = hamilton(plus(x, h / 2, b), plus(m, h / 2, B), sigma), [d, D] = hamilton(plus(x, h, c), plus(m, h, C), sigma);
      path.push([x.map((v, i) => v + h / 6 * (a[i] + 2 * b[i] + 2 * c[i] + d[i])), m.map((v, i) => v + h / 6 * (A[i] + 2 * B[i] + 2 * C[i] + D[i]))]);
    }
    return path;
  };
  const energy = (q, p, sigma) => {
    const v = hamilton(q, p, sigma)[0];
    return p.reduce((sum, m, i) => sum + m * v[i], 0) / 2;
  };

  // carry moves points with the flow of a path of an even number of steps, by the midpoint rule over two of them.
  const carry = (points, path, sigma) => {
    const out = Float64Array.from(points), inverse = 1 / (sigma * sigma), h = 2 / (path.length - 1);
    const velocity = (x, y, [q, p]) => {
      let u = 0, v = 0;
      for (let j = 0; j < q.length; j += 2) {
        const r = inverse * ((x - q[j]) ** 2 + (y - q[j + 1]) ** 2);
        if (r > 80) continue;
        const k = Math.exp(-.5 * r);
        u += k * p[j]; v += k * p[j + 1];
      }
      return [u, v];
    };
    for (let k = 0; k + 2 < path.length; k += 2) {
      for (let i = 0; i < out.length; i += 2) {
        const [a, b] = velocity(out[i], out[i + 1], path[k]);
        const [c, d] = velocity(out[i] + h / 2 * a, out[i + 1] + h / 2 * b, path[k + 1]);
        out[i] += h * c; out[i + 1] += h * d;
      }
    }
    return out;
  };

  // inverse inverts a square matrix of rows, with pivots; null if it is singular.
  const inverse = rows => {
    const n = rows.length, a = rows.map((r, i) => Float64Array.from({length: 2 * n}, (_, j) => j < n ? r[j] : +(j == n + i)));
    for (let k = 0; k < n; k++) {
      let best = k;
      for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[best][k])) best = i;
      if (!(Math.abs(a[best][k]) > 0)) return null;
      [a[k], a[best]] = [a[best], a[k]];
      const pivot = a[k][k];
      for (let j = k; j < 2 * n; j++) a[k][j] /= pivot;
      for (let i = 0; i < n; i++) {
        const f = a[i][k];
        if (i == k || !f) continue;
        for (let j = k; j < 2 * n; j++) a[i][j] -= f * a[k][j];
      }
    }
    return a.map(r => r.slice(n));
  };

  // momentum returns the p whose velocity is v, K p = v, from the inverse of the kernel's matrix.
  const momentum = (kernel, v) => v.map((_, i) => {
    let sum = 0;
    kernel[i >> 1].forEach((k, j) => sum += k * v[2 * j + i % 2]);
    return sum;
  });
  const kernelInverse = (q, sigma) => {
    const row = i => Array.from({length: q.length / 2}, (_, j) =>
      Math.exp(-.5 * ((q[2 * i] - q[2 * j]) ** 2 + (q[2 * i + 1] - q[2 * j + 1]) ** 2) / sigma ** 2));
    return inverse(Array.from({length: q.length / 2}, (_, i) => row(i)));
  };

  // log searches the velocity whose geodesic from q ends at target, from the velocity v on, by Broyden's method. jacobian is
  // the inverse Jacobian of an earlier search; the first is the identity, for the endpoint changes nearly as the velocity
  // does. Where it does not help it is made by differences. log returns velocity, momentum and inverse Jacobian, or null if
  // no velocity was found with all coordinates of the residual below tolerance.
  const log = (v, q, target, sigma, steps, tolerance, jacobian) => {
    const kernel = kernelInverse(q, sigma), size = r => Math.hypot(...r);
    if (!kernel) return null;
    const miss = v => plus(shoot(q, momentum(kernel, v), sigma, steps)[steps][0], -1, target);
    let r = miss(v), exact = false, fresh = true; // the inverse Jacobian is one of differences; it was just made
    jacobian = jacobian ? jacobian.map(row => row.slice()) : Array.from(r, (_, i) => Float64Array.from(r, (_, j) => +(i == j)));
    for (let round = 0; round < 80; round++) {
      if (r.every(x => Math.abs(x) < tolerance)) return {v, p: momentum(kernel, v), jacobian};
      const full = Float64Array.from(jacobian, row => -row.reduce((sum, x, j) => sum + x * r[j], 0));
      let share = 1, next, step;
      for (; share > 1 / 32; share /= 2) {
        step = full.map(x => share * x);
        next = miss(plus(v, 1, step));
        if (size(next) < (1 - .1 * share) * size(r)) break;
      }
      if (share <= 1 / 32) {
        if (exact && fresh) return null;
        const e = 1e-6 * sigma, columns = Array.from(r, (_, k) => plus(miss(v.map((x, i) => x + e * (i == k))), -1, r).map(x => x / e));
        jacobian = inverse(Array.from(r, (_, i) => columns.map(c => c[i])));
        if (!jacobian) return null;
        exact = fresh = true;
        continue;
      }
      const change = plus(next, -1, r), forward = Float64Array.from(jacobian, row => row.reduce((sum, x, j) => sum + x * change[j], 0));
      const scale = step.reduce((sum, x, i) => sum + x * forward[i], 0), back = new Float64Array(r.length);
      jacobian.forEach((row, i) => row.forEach((x, j) => back[j] += step[i] * x));
      if (scale) jacobian.forEach((row, i) => back.forEach((x, j) => row[j] += (step[i] - forward[i]) * x / scale));
      v = plus(v, 1, step);
      r = next;
      fresh = false;
    }
    return null;
  };

  const take = figure => {
    figure.dataset.ready = "yes";
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent), steps = 24;
    const svg = figure.querySelector("svg"), range = figure.querySelector("input"), [says, message] = figure.querySelectorAll("output");
    const layer = svg.querySelector(".viz-moving"), part = {};
    const element = (name, attributes) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const k in attributes) e.setAttribute(k, attributes[k]);
      return layer.appendChild(e);
    };
    const looks = {grid: "stroke:#bdbdbd;stroke-width:.5", paths: "stroke:#56b4e9;stroke-width:1", start: "stroke:#707070;stroke-width:1.2",
      end: "stroke:#0072b2;stroke-width:1.6", shafts: "stroke:#d55e00;stroke-width:1.1", heads: "fill:#d55e00"};
    for (const name in looks) if (data.closed || name != "start" && name != "end") part[name] = element("path", {style: looks[name]});
    const circles = (of, look) => data.start.slice(data.start.length / 2).forEach((_, i) => element("circle", {"data-of": of, "data-index": i, ...look(i)}));
    circles("start", () => ({r: 1.9, fill: "#707070"}));
    circles("end", () => ({r: 1.9, fill: "#0072b2"}));
    for (const of of ["start", "end"]) circles(of, i => ({class: "hold", r: 7, fill: "#000", "fill-opacity": 0, tabindex: -Math.min(i, 1), // Tab stops once at each shape
      "aria-label": `${of}, landmark ${i}: drag it, or press the arrow keys; page up and page down lead to the next`}));
    const x = v => (data.at[0] + data.unit * v).toFixed(2), y = v => (data.at[1] - data.unit * v).toFixed(2);
    const trace = points => {
      let out = "";
      for (let i = 0; i < points.length; i += 2) out += (i ? "L" : "M") + x(points[i]) + " " + y(points[i + 1]);
      return out;
    };
    let at, goal, found, waiting, reach; // the geodesic that is shown, and what the reader wants
    const sigma = of => data.sigma * 2 ** of.width;
    const arrows = () => { // by the factor of the package, or the next round one that keeps them on the page
      let shafts = "", heads = "", longest = 0, scale = data.scale;
      for (let i = 0; i < at.p.length; i += 2) longest = Math.max(longest, data.unit * Math.hypot(at.p[i], at.p[i + 1]));
      while (scale * longest > .3 * svg.viewBox.baseVal.width) scale /= scale.toExponential()[0] == "5" ? 2.5 : 2;
      for (let i = 0; i < at.p.length; i += 2) {
        const u = scale * data.unit * at.p[i], v = -scale * data.unit * at.p[i + 1], length = Math.hypot(u, v);
        if (length < .5) continue;
        const size = Math.min(5.2, .5 * length) / length, px = +x(at.start[i]), py = +y(at.start[i + 1]), tx = px + u, ty = py + v;
        const fx = tx - size * u, fy = ty - size * v, sx = .36 * size * v, sy = .36 * size * u;
        shafts += `M${px} ${py}L${fx.toFixed(2)} ${fy.toFixed(2)}`;
        heads += `M${tx.toFixed(2)} ${ty.toFixed(2)}L${(fx - sx).toFixed(2)} ${(fy + sy).toFixed(2)}L${(fx + sx).toFixed(2)} ${(fy - sy).toFixed(2)}z`;
      }
      part.shafts.setAttribute("d", shafts);
      part.heads.setAttribute("d", heads);
      return scale;
    };
    const show = () => {
      const path = shoot(at.start, at.p, sigma(at), steps), moved = carry(data.grid, path, sigma(at));
      let first = 0, ways = "";
      part.grid.setAttribute("d", data.lines.map(n => trace(moved.subarray(first, first += 2 * n))).join(""));
      for (let i = 0; i < at.start.length; i += 2) ways += trace(path.flatMap(s => [s[0][i], s[0][i + 1]]));
      part.paths.setAttribute("d", ways);
      part.start?.setAttribute("d", trace(at.start) + "z"); // there is none of landmarks that follow no outline
      part.end?.setAttribute("d", trace(path[steps][0]) + "z");
      const scale = arrows();
      for (const c of svg.querySelectorAll("circle")) {
        const i = 2 * c.dataset.index;
        c.setAttribute("cx", x(goal[c.dataset.of][i]));
        c.setAttribute("cy", y(goal[c.dataset.of][i + 1]));
      }
      says.textContent = range.ariaValueText = "\u03c3 = " + +sigma(at).toPrecision(3) + data.name;
      const length = Math.sqrt(2 * energy(at.start, at.p, sigma(at)));
      message.textContent = found ? `length ${+length.toPrecision(3)}${data.name}, momenta \u00d7${+scale.toPrecision(1)}` : "no geodesic found: move back a little";
    };
    // A frame brings the geodesic nearer to what is wanted, in steps short enough for the search to follow.
    const frame = () => {
      waiting = 0;
      const far = Math.max(Math.abs(goal.width - at.width) / .08,
        ...["start", "end"].flatMap(k => Array.from(at[k], (v, i) => Math.abs(goal[k][i] - v) / .4 / sigma(at))));
      const share = Math.min(1, reach / far), mix = (a, b) => a.map((v, i) => v + share * (b[i] - v));
      const next = {start: mix(at.start, goal.start), end: mix(at.end, goal.end), width: at.width + share * (goal.width - at.width)};
      const g = far ? log(at.v, next.start, next.end, sigma(next), steps, 1e-3 * sigma(next), at.jacobian) : at;
      if (g) at = {...g, ...next};
      reach = g ? Math.min(1, 2 * reach) : reach / 2;
      found = reach > .1;
      show();
      if (found && (!g || share < 1)) renew();
    };
    const renew = () => waiting ||= requestAnimationFrame(frame);
    const change = edit => {
      edit();
      reach = 1;
      renew();
    };
    const reset = () => {
      const start = Float64Array.from(data.start), end = Float64Array.from(data.end), p = Float64Array.from(data.momentum);
      at = {start, end, p, v: hamilton(start, p, data.sigma)[0], width: 0};
      goal = {start: start.slice(), end: end.slice(), width: 0};
      range.value = 0;
      found = true;
      show();
    };
    // Here the page's numbers can be checked: the largest error of the given geodesic's end, in widths of the kernel.
    const given = shoot(data.start, data.momentum, data.sigma, steps)[steps][0];
    figure.dataset.error = Math.max(...plus(given, -1, data.end).map(Math.abs)) / data.sigma;

    const holds = [...svg.querySelectorAll("circle.hold")];
    for (const c of holds) {
      const i = 2 * c.dataset.index;
      const move = (dx, dy) => change(() => { goal[c.dataset.of][i] += dx; goal[c.dataset.of][i + 1] += dy; });
      c.onpointerdown = e => { if (!e.button) { c.setPointerCapture(e.pointerId); c.last = [e.clientX, e.clientY]; } };
      c.onpointermove = e => {
        if (!c.last) return;
        const pixel = svg.viewBox.baseVal.width / svg.clientWidth / data.unit;
        move((e.clientX - c.last[0]) * pixel, (c.last[1] - e.clientY) * pixel);
        c.last = [e.clientX, e.clientY];
      };
      c.onpointerup = c.onpointercancel = () => {
        c.last = null;
        if (found) return;
        goal = {...goal, start: at.start.slice(), end: at.end.slice()}; // the shapes rest where a geodesic leads
        change(() => {});
      };
      c.onkeydown = e => {
        const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
        const next = holds.at((holds.indexOf(c) + ({PageUp: 1, PageDown: -1}[e.key] || 0)) % holds.length);
        if (!step && next == c) return;
        e.preventDefault();
        e.stopPropagation();
        next.focus();
        if (step) move(step[0] * .1 * data.sigma, step[1] * .1 * data.sigma);
      };
    }
    range.oninput = () => change(() => goal.width = +range.value);
    figure.querySelector("button").onclick = reset;
    reset();
  };

  if (typeof document == "object") document.querySelectorAll(".viz-drag:not([data-ready])").forEach(take);
  else module.exports = {hamilton, shoot, energy, carry, log};
}
