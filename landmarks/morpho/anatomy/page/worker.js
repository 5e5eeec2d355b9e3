// Runs the program once: {module, args, files} → {fd, text}… and at the end {state, files} with what stands in /out.
onmessage = async ({ data: { module, args, files } }) => {
  for (const folder of ["/tmp", "/in", "/out"]) memory.put(folder, null);
  for (const [path, bytes] of files) memory.put(path, bytes);
  memory.output = (fd, text) => postMessage({ fd, text });
  const go = new Go();
  go.argv = ["anatomy", ...args];
  go.env = { TMPDIR: "/tmp" };
  let state = 0;
  go.exit = code => { state = code; };
  await go.run(await WebAssembly.instantiate(module, go.importObject));
  postMessage({ state, files: memory.files("/out") });
};
