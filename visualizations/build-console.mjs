/**
 * Builds the console into `dist/console`, and the player of recordings into `dist/console/player`:
 * `node visualizations/build-console.mjs`. It runs when the package is installed.
 *
 * B1  Whoever installs without development dependencies has nothing to build with, and no failed installation for it.
 * B2  Files are written before the page that names them, and the page in one move: a server that reads meanwhile finds
 *     a page whose files are there.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

const home = join(import.meta.dirname, "..");
const folder = join(home, "dist/console");
const bundled = ["preact", "@preact/signals", "@preact/signals-core"];
const isText = /\.(html|js|css|svg)$/;

async function loadVite() {
  try {
    return await import("vite");
  } catch {
    return null;
  }
}

const common = {
  configFile: false,
  logLevel: "warn",
  mode: "production",
  // Said here, whatever the environment says: else files would name the places of their sources.
  oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
};

/** Returns the name and the bytes of each file of a build. */
async function buildFiles({ build }, options) {
  const made = await build({
    root: join(import.meta.dirname, "console"),
    ...common,
    ...options,
    build: { write: false, target: "es2024", ...options.build },
  });
  const { output } = Array.isArray(made) ? made[0] : made;
  return new Map(output.map(({ fileName, code, source }) => [fileName, Buffer.from(code ?? source)]));
}

async function bundle(vite) {
  const files = await buildFiles(vite, {
    base: "/console/",
    build: { assetsDir: "", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  });
  files.set("licenses.txt", Buffer.from(bundled.map(readLicense).join("\n\n")));
  return files;
}

/** Returns the player of recordings: one script and one style, which a file can hold. */
async function bundlePlayer(vite) {
  const input = join(import.meta.dirname, "console/player.html");
  const files = await buildFiles(vite, {
    base: "./",
    build: { assetsDir: "", modulePreload: { polyfill: false }, rollupOptions: { input } },
  });
  const named = [...files].map(([name, bytes]) => [`player.${name.split(".").at(-1)}`, bytes]);
  return new Map(named.filter(([name]) => name !== "player.html"));
}

function readLicense(name) {
  const place = join(home, "node_modules", name);
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  return `${name}\n\n${file === undefined ? "MIT" : readFileSync(join(place, file), "utf8")}`;
}

function write(files, folder, { compress }) {
  mkdirSync(folder, { recursive: true });
  const all = new Map(files);
  for (const [name, bytes] of files)
    if (compress && isText.test(name)) all.set(`${name}.br`, brotliCompressSync(bytes));
  const pageLast = [...all].sort(([a], [b]) => Number(a.startsWith("index.html")) - Number(b.startsWith("index.html")));
  for (const [name, bytes] of pageLast) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path).equals(bytes)) continue;
    const part = `${path}.${process.pid}`;
    writeFileSync(part, bytes);
    renameSync(part, path);
  }
  for (const { name, parentPath } of readdirSync(folder, { withFileTypes: true }).filter((one) => one.isFile()))
    if (!all.has(name)) rmSync(join(parentPath, name), { force: true });
}

const vite = await loadVite();
if (vite === null) console.error("the console is not built: development dependencies are not installed");
else {
  write(await bundlePlayer(vite), join(folder, "player"), { compress: false });
  write(await bundle(vite), folder, { compress: true });
}
