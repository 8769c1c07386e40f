/** The page and the API at one address. `npm start` prints a link that signs Bo in, once. */
import { join } from "node:path";
import { createKernel } from "countersign";
import { createHttpApp, serveHttp } from "countersign/http";
import { build, type Rolldown } from "vite";
import { person, refund } from "../shop/refund.ts";

export async function openInbox(port: number) {
  const kernel = await createKernel({ capabilities: [refund] });
  const api = createHttpApp(kernel, { sessions: { home: "/" } }); // a link becomes a cookie, which the page has
  const page = await bundle(join(import.meta.dirname, "page"));
  const fetch = async (request: Request) => page.get(new URL(request.url).pathname)?.() ?? api.fetch(request);
  const server = await serveHttp({ fetch }, { port });
  const link = server.url + (await api.loginPath(person("bo")));
  const stop = async () => {
    await server.close();
    await kernel.stop();
  };
  return { kernel, link, stop };
}

/** What Vite makes of the page, by path; yours may lie in a folder, or on a server of its own. */
async function bundle(root: string): Promise<ReadonlyMap<string, () => Response>> {
  const made = await build({ root, configFile: false, logLevel: "warn", build: { write: false } });
  const files = (made as Rolldown.RolldownOutput).output.map((file) => {
    const headers = { "content-type": file.fileName.endsWith(".html") ? "text/html" : "text/javascript" };
    const body = file.type === "chunk" ? file.code : String(file.source);
    const path = file.fileName === "index.html" ? "/" : `/${file.fileName}`;
    return [path, () => new Response(body, { headers })] as const;
  });
  return new Map(files);
}

if (import.meta.main) console.log(`open ${(await openInbox(8787)).link}`);
