for (const figure of document.querySelectorAll(".viz-play:not([data-ready])")) {
  figure.dataset.ready = "yes";
  const elements = [...figure.querySelector(".viz-moving").children], seconds = 2.5;
  const range = figure.querySelector("input"), button = figure.querySelector("button"), output = figure.querySelector("output");
  const text = figure.querySelector("script[type='text/plain']").textContent.trim();
  const read = async () => {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const film = JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text());
    film.frames.forEach((f, k) => k && f.forEach((_, i) => f[i] += film.frames[k - 1][i])); // each is counted from the one before
    return film;
  };
  const arrow = (p, width) => { // as the package draws it; 20 units are a point
    const dx = p[2] - p[0], dy = p[3] - p[1], length = Math.hypot(dx, dy) || 1;
    const size = Math.min(20 * (3.2 + 1.8 * width), .5 * length) / length, shaft = 1 - .9 * size;
    const x = p[2] - size * dx, y = p[3] - size * dy, u = .36 * size * dx, v = .36 * size * dy;
    return {width: Math.min(20 * width, .2 * length), path: `M${p[0]} ${p[1]}L${p[0] + shaft * dx} ${p[1] + shaft * dy}M${x - v} ${y + u}L${p[2]} ${p[3]}L${x + v} ${y - u}z`};
  };
  const draw = (film, t) => {
    const last = film.frames.length - 1, k = Math.min(Math.floor(t * last), Math.max(0, last - 1)), share = t * last - k;
    const a = film.frames[k], b = film.frames[Math.min(k + 1, last)];
    let i = 0;
    elements.forEach((e, n) => {
      const p = [], kind = film.kinds[n];
      for (let j = 2 * film.counts[n]; j > 0; j--, i++) p.push(Math.round(a[i] + share * (b[i] - a[i])));
      if (kind == "d") {
        e.setAttribute("cx", p[0]);
        e.setAttribute("cy", p[1]);
      } else if (kind == "a") {
        const {width, path} = arrow(p, +e.dataset.width);
        e.setAttribute("d", path);
        e.style.strokeWidth = width;
      } else {
        let path = "M";
        for (let j = 0; j < p.length; j += 2) path += (j ? "L" : "") + p[j] + " " + p[j + 1];
        e.setAttribute("d", path + (kind == "z" ? "z" : ""));
      }
    });
    output.textContent = range.ariaValueText = "t = " + t.toFixed(2);
  };
  read().then(film => {
    let running = 0, again = false; // again: it repeats until it is stopped
    const show = () => draw(film, range.value / range.max);
    const label = () => {
      button.textContent = running ? "\u25ae\u25ae" : "\u25b6\ufe0e";
      button.ariaLabel = running ? "pause" : "play";
    };
    const stop = () => { running = cancelAnimationFrame(running) || 0; label(); };
    const start = () => {
      const from = range.value == range.max ? 0 : range.value / range.max;
      let begin = 0;
      const step = now => {
        begin ||= now - 1000 * seconds * from;
        const t = (now - begin) / 1000 / seconds;
        range.value = range.max * Math.min(1, t);
        show();
        if (t > 1.3 && again) begin = now; // it rests at its end
        running = t < 1 || again ? requestAnimationFrame(step) : 0;
        if (!running) label();
      };
      running = requestAnimationFrame(step);
      label();
    };
    button.onclick = () => { again = true; running ? stop() : start(); };
    range.oninput = () => { stop(); show(); };
    show();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      range.value = range.max;
      show();
      return;
    }
    const seen = new IntersectionObserver(entries => {
      if (!entries[0].isIntersecting) return;
      seen.disconnect();
      if (range.value == 0) start();
    }, {threshold: .6});
    seen.observe(figure);
  });
}
