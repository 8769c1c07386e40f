/**
 * Builds the console into `dist/console`: `node visualizations/build-console.mjs`. It runs when the package is
 * installed.
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

/** Name and bytes of each file. */
async function bundle({ build }) {
  const made = await build({
    root: join(import.meta.dirname, "console"),
    base: "/console/",
    configFile: false,
    logLevel: "warn",
    mode: "production",
    // Said here, whatever the environment says: else files would name the places of their sources.
    oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
    build: {
      write: false,
      target: "es2024",
      assetsDir: "",
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
  });
  const files = new Map(made.output.map(({ fileName, code, source }) => [fileName, Buffer.from(code ?? source)]));
  return files.set("licenses.txt", Buffer.from(bundled.map(readLicense).join("\n\n")));
}

function readLicense(name) {
  const place = join(home, "node_modules", name);
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  return `${name}\n\n${file === undefined ? "MIT" : readFileSync(join(place, file), "utf8")}`;
}

function write(files) {
  mkdirSync(folder, { recursive: true });
  const all = new Map(files);
  for (const [name, bytes] of files) if (isText.test(name)) all.set(`${name}.br`, brotliCompressSync(bytes));
  const pageLast = [...all].sort(([a], [b]) => Number(a.startsWith("index.html")) - Number(b.startsWith("index.html")));
  for (const [name, bytes] of pageLast) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path).equals(bytes)) continue;
    const part = `${path}.${process.pid}`;
    writeFileSync(part, bytes);
    renameSync(part, path);
  }
  for (const name of readdirSync(folder)) if (!all.has(name)) rmSync(join(folder, name), { force: true });
}

const vite = await loadVite();
if (vite === null) console.error("the console is not built: development dependencies are not installed");
else write(await bundle(vite));
