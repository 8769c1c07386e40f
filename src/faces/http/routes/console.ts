/**
 * The console: one page and the files it is made of. They hold no secret and are open; the page reads its content from
 * the API, as the signed-in user.
 *
 * 1.  Nothing is loaded from elsewhere, nothing inline runs, and no text becomes markup: the policy makes the browser
 *     enforce it.
 * 2.  A file whose name holds its digest may be kept for ever; the page itself is asked for each time.
 */
import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { addRoute, type Route } from "../add-route.ts";
import { type ConsoleFile, readConsole } from "../console-assets.ts";
import type { Call, Edge } from "../edge.ts";
import { isMatched, unchanged } from "../match-etag.ts";

export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  // The frame of a mail: it inherits this policy, and is sandboxed.
  "frame-src blob:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const pageRoute: Route = {
  method: "get",
  path: "/",
  operation: "showConsole",
  summary: "The console: a page for people who decide, look and verify",
  needs: "open",
  answers: {
    200: { description: "A page.", mediaType: "text/html", schema: z.string() },
    304: unchanged,
    503: { description: "It was not built." },
  },
};

const fileRoute: Route = {
  method: "get",
  path: "/console/:file",
  operation: "readConsoleFile",
  summary: "A script or style of the console",
  needs: "open",
  params: z.object({ file: z.string() }),
  answers: { 200: { description: "The file." }, 304: unchanged, 503: { description: "It was not built." } },
};

export function addConsole(edge: Edge): void {
  addRoute(edge, pageRoute, (call) =>
    answerFile(call, find("index.html"), { "cache-control": "no-cache", "content-security-policy": consolePolicy }),
  );
  addRoute(edge, fileRoute, (call) =>
    answerFile(call, find(call.req.param("file") ?? ""), { "cache-control": "public, max-age=31536000, immutable" }),
  );
}

const consoleRef = moduleRef(0, "http", "console");

function find(name: string): ConsoleFile {
  const files = readConsole();
  if (files === null)
    return raise(
      kernelError(
        "T0_HTTP_CONSOLE_MISSING",
        "the console was not built, or does not lie beside this program",
        consoleRef,
      ),
    );
  const found = files.get(name);
  return found ?? raise(kernelError("T0_HTTP_NAME_UNKNOWN", "the console has no such file", consoleRef));
}

function answerFile(call: Call, file: ConsoleFile, more: Readonly<Record<string, string>>): Response {
  const headers = { ...more, "content-type": file.type, etag: file.etag, vary: "accept-encoding" };
  if (isMatched(call.req.header("if-none-match"), file.etag)) return new Response(null, { status: 304, headers });
  const mayShrink = file.brotli !== null && /\bbr\b/.test(call.req.header("accept-encoding") ?? "");
  if (!mayShrink) return new Response(file.bytes, { headers });
  return new Response(file.brotli, { headers: { ...headers, "content-encoding": "br" } });
}
