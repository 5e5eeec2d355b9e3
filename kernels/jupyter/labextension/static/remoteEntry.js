// A prebuilt extension of JupyterLab, written by hand: the module that its loader asks for, with two plugins.

// JupyterLab shows SVG as an image, which does not know the theme of the page; only a style of the page can turn light and dark over.
const dark = {
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
};

// The menu File has the report of a notebook; see setup.py. A kernel beside that of the notebook runs `make report`.
const report = {
  id: "anatomy-figures:report",
  description: "Makes the report of a notebook, as HTML and PDF.",
  autoStart: true,
  activate(app) {
    const { commands, serviceManager: services } = app;
    // The other formats want TeX, pandoc, Qt or a browser of their own, and end with the error 500; the report is a PDF, too.
    const whole = ["html", "markdown", "script", "slides"];
    const formats = services.nbconvert.getExportFormats.bind(services.nbconvert);
    services.nbconvert.getExportFormats = async (force) =>
      Object.fromEntries(Object.entries((await formats(force)) ?? {}).filter(([name]) => whole.includes(name)));

    const notebook = () => {
      const path = app.shell.currentWidget?.context?.path ?? "";
      return path.endsWith(".ipynb") ? path : "";
    };
    const make = async (path) => {
      const name = path.split("/").pop();
      const quoted = "'" + name.replaceAll("'", "'\\''") + "'";
      const session = await services.sessions.startNew({ path: path + ".report", name: "report", type: "console", kernel: { name: "anatomy" } });
      try {
        let said = "";
        const run = session.kernel.requestExecute({
          code: `!env -u GOFLAGS -u GOPROXY -u GOTMPDIR -u GONB_TMP_DIR make --no-print-directory -C "$ANATOMY_HOME" report NOTEBOOKS="$PWD"/${quoted} 2>&1`,
        });
        run.onIOPub = (message) => (said += message.content.text ?? "");
        await run.done;
        const made = /^reports: (.+)$/m.exec(said);
        if (!made) throw new Error(said.trim().split("\n").slice(-8).join("\n"));
        return made[1];
      } finally {
        await session.shutdown();
      }
    };
    commands.addCommand("anatomy:report", {
      label: "Report of this notebook (HTML and PDF)",
      caption: "Executes the notebook from nothing and writes its report",
      isEnabled: () => notebook() !== "",
      async execute() {
        const path = notebook();
        await commands.execute("docmanager:save");
        const id = await commands.execute("apputils:notify", { message: `The report of ${path} is being made`, type: "in-progress", options: { autoClose: false } });
        const say = (message, type) => commands.execute("apputils:update-notification", { id, message, type, autoClose: false, options: { autoClose: false } });
        try {
          const file = await make(path);
          await say(`The report of ${path} is ${file}; the PDF lies beside it`, "success");
          const here = "reports/" + file.split("/").pop();
          if (await services.contents.get(here, { content: false }).catch(() => null)) {
            await commands.execute("docmanager:open", { path: here });
          }
        } catch (error) {
          await say(`The report of ${path} cannot be made: ${error.message}`, "error");
        }
      },
    });
  },
};

(globalThis._JUPYTERLAB ??= {})["anatomy-figures"] = {
  init() {},
  get: async () => () => ({ __esModule: true, default: [dark, report] }),
};
