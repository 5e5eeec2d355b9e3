for (const figure of document.querySelectorAll(".viz-slider:not([data-ready])")) {
  figure.dataset.ready = "yes";
  const frames = figure.querySelectorAll("img"), range = figure.querySelector("input"), button = figure.querySelector("button");
  const show = () => frames.forEach((f, i) => {
    f.hidden = i != range.value;
    if (!f.hidden) figure.querySelector("output").textContent = range.ariaValueText = f.alt;
  });
  let timer = null;
  button.onclick = () => {
    timer = timer ? clearInterval(timer) : setInterval(() => { range.value = (+range.value + 1) % frames.length; show(); }, 120);
    button.textContent = timer ? "\u25ae\u25ae" : "\u25b6\ufe0e";
    button.ariaLabel = timer ? "pause" : "play";
  };
  range.oninput = show;
  show();
}
