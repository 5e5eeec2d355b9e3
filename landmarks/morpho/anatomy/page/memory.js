"use strict";
// A file system in memory, with those functions of Node's that a Go program calls.
globalThis.memory = (() => {
  const nodes = new Map([["/", null]]); // by paths: null is a folder, else bytes of which `size` are used
  const handles = new Map();
  let next = 3;
  const fail = code => Object.assign(new Error(code), { code });
  const clean = path => {
    const parts = [];
    for (const part of path.split("/")) {
      if (part == "..") parts.pop();
      else if (part && part != ".") parts.push(part);
    }
    return "/" + parts.join("/");
  };
  const folder = path => path.slice(0, path.lastIndexOf("/")) || "/";
  const under = path => [...nodes.keys()].filter(p => p != "/" && folder(p) == path);
  const find = path => {
    if (!nodes.has(path)) throw fail("ENOENT");
    return nodes.get(path);
  };
  const stat = path => {
    const node = find(path);
    return {
      dev: 0, ino: 0, mode: node ? 0o100600 : 0o40700, nlink: 1, uid: 0, gid: 0, rdev: 0, size: node ? node.size : 0, blksize: 4096, blocks: 0,
      atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => !node,
    };
  };
  const handle = fd => {
    if (!handles.has(fd)) throw fail("EBADF");
    return handles.get(fd);
  };
  const constants = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
  const api = {
    chmod() {}, fchmod() {}, utimes() {}, fsync() {},
    stat(path) { return stat(clean(path)); },
    lstat(path) { return stat(clean(path)); },
    fstat(fd) { return stat(handle(fd).path); },
    readdir(path) { find(clean(path)); return under(clean(path)).map(p => p.slice(p.lastIndexOf("/") + 1)).sort(); },
    mkdir(path) {
      path = clean(path);
      if (nodes.has(path)) throw fail("EEXIST");
      if (find(folder(path)) !== null) throw fail("ENOTDIR");
      nodes.set(path, null);
    },
    open(path, flags) {
      path = clean(path);
      if (nodes.has(path) && flags & constants.O_CREAT && flags & constants.O_EXCL) throw fail("EEXIST");
      if (!nodes.has(path)) {
        if (!(flags & constants.O_CREAT) || find(folder(path)) !== null) throw fail("ENOENT");
        nodes.set(path, { bytes: new Uint8Array(1024), size: 0 });
      }
      const node = nodes.get(path);
      if (!node && flags & (constants.O_WRONLY | constants.O_RDWR)) throw fail("EISDIR");
      if (node && flags & constants.O_TRUNC) node.size = 0;
      handles.set(next, { path, node, at: 0, append: flags & constants.O_APPEND });
      return next++;
    },
    close(fd) { handles.delete(fd); },
    read(fd, buffer, offset, length, position) {
      const h = handle(fd);
      if (!h.node) throw fail("EISDIR");
      const at = position ?? h.at, n = Math.max(0, Math.min(length, h.node.size - at));
      buffer.set(h.node.bytes.subarray(at, at + n), offset);
      if (position === null) h.at += n;
      return n;
    },
    write(fd, buffer, offset, length, position) {
      const data = buffer.subarray(offset, offset + length);
      if (fd == 1 || fd == 2) {
        memory.output(fd, decoders[fd].decode(data, { stream: true }));
        return length;
      }
      const h = handle(fd), at = position ?? (h.append ? h.node.size : h.at), end = at + length;
      if (end > h.node.bytes.length) {
        const grown = new Uint8Array(2 * end);
        grown.set(h.node.bytes.subarray(0, h.node.size));
        h.node.bytes = grown;
      }
      h.node.bytes.set(data, at);
      h.node.size = Math.max(h.node.size, end);
      if (position === null) h.at = end;
      return length;
    },
    rename(from, to) {
      [from, to] = [clean(from), clean(to)];
      find(from);
      for (const [path, node] of [...nodes]) {
        if (path !== from && !path.startsWith(from + "/")) continue;
        nodes.delete(path);
        nodes.set(to + path.slice(from.length), node);
      }
    },
    unlink(path) {
      if (find(clean(path)) === null) throw fail("EISDIR");
      nodes.delete(clean(path));
    },
    rmdir(path) {
      if (under(clean(path)).length) throw fail("ENOTEMPTY");
      nodes.delete(clean(path));
    },
  };
  globalThis.fs = { constants, writeSync: (fd, buffer) => api.write(fd, buffer, 0, buffer.length, null) };
  for (const [name, f] of Object.entries(api)) {
    fs[name] = (...args) => {
      const callback = args.pop();
      let result;
      try {
        result = f(...args);
      } catch (error) {
        callback(error);
        return;
      }
      callback(null, result);
    };
  }
  globalThis.process = { cwd: () => "/", pid: 1, ppid: 1, getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], umask: () => 0, chdir() { throw fail("ENOSYS"); } };
  globalThis.path = { resolve: (...parts) => clean(parts.join("/")) };
  return {
    output() {}, // (fd, text)
    put(path, bytes) {
      path = clean(path);
      for (let at = path.indexOf("/", 1); at > 0; at = path.indexOf("/", at + 1)) if (!nodes.has(path.slice(0, at))) nodes.set(path.slice(0, at), null);
      nodes.set(path, bytes && { bytes, size: bytes.length });
    },
    files: within => [...nodes].filter(([p, node]) => node && p.startsWith(within + "/")).map(([p, node]) => [p.slice(within.length + 1), node.bytes.slice(0, node.size)]),
  };
})();
