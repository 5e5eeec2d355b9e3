// A prebuilt extension of JupyterLab, written by hand: the module that its loader asks for, with one plugin. JupyterLab shows
// SVG as an image, which does not know the theme of the page; only a style of the page can turn light and dark over.
(globalThis._JUPYTERLAB ??= {})["anatomy-figures"] = {
  init() {},
  get: async () => () => ({
    __esModule: true,
    default: {
      id: "anatomy-figures:dark",
      description: "In dark themes the figures of viz are light on dark.",
      autoStart: true,
      activate() {
        const style = document.createElement("style");
        style.textContent = `body[data-jp-theme-light=false] .jp-RenderedSVG img[src*="viz-figure"] {
          filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen;
        }`;
        document.head.append(style);
      },
    },
  }),
};
