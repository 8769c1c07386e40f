/**
 * The guide for users of the package, rendered from the Markdown that it ships with.
 *
 * 1.  It is open: it shows nothing of a tenant, a workflow or the registered packages.
 * 2.  Each page is made once, at its first request.
 */
import { z } from "zod";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerText, once, type TaggedText, tagText } from "../answer-text.ts";
import type { Edge } from "../edge.ts";
import { type Guide, indexName, readGuide } from "../guide/read-guide.ts";
import { picturesPath, renderGuidePage } from "../guide/render-guide.ts";
import { unchanged } from "../match-etag.ts";
import { plainPolicy } from "../plain-page.ts";

const indexRoute: Route = {
  method: "get",
  path: "/guide",
  operation: "showGuide",
  summary: "The guide for users of the package, as pages to read",
  needs: "open",
  answers: {
    200: { description: "HTML, without a script.", mediaType: "text/html", schema: z.string() },
    304: unchanged,
    503: { description: "The guide does not lie beside this program." },
  },
};

const pageRoute: Route = {
  method: "get",
  path: "/guide/:page",
  operation: "readGuidePage",
  summary: "A page of the guide",
  needs: "open",
  params: z.object({ page: z.string() }),
  answers: indexRoute.answers,
};

const pictureRoute: Route = {
  method: "get",
  path: `${picturesPath}:picture`,
  operation: "readGuidePicture",
  summary: "A picture of the guide",
  needs: "open",
  params: z.object({ picture: z.string() }),
  answers: { 200: { description: "SVG.", mediaType: "image/svg+xml", schema: z.string() }, 304: unchanged },
};

const asPage = { "content-type": "text/html; charset=utf-8", "content-security-policy": plainPolicy };
/** A picture may hold a style of its own, for light and dark, and nothing else. */
const asPicture = {
  "content-type": "image/svg+xml",
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
};

export function addGuide(edge: Edge): void {
  const readOnce = once(readGuide);
  const requireGuide = (): Guide =>
    readOnce() ?? raise(kernelError("T0_HTTP_GUIDE_MISSING", "the guide does not lie beside this program", guideRef));
  const page = textsByName((name) => {
    const { pages } = requireGuide();
    const found = pages.find((one) => one.name === name);
    return found === undefined ? null : renderGuidePage(found, pages);
  });
  const picture = textsByName((name) => requireGuide().pictures.get(name) ?? null);
  addRoute(edge, indexRoute, (call) => answerText(call, page(indexName), asPage));
  addRoute(edge, pageRoute, (call) => answerText(call, page(call.req.param("page") ?? ""), asPage));
  addRoute(edge, pictureRoute, (call) => answerText(call, picture(call.req.param("picture") ?? ""), asPicture));
}

const guideRef = moduleRef(0, "http", "guide");

/**
 * Returns texts by name, which are kept once made. @throws KernelErrorException T0_HTTP_NAME_UNKNOWN if `make` gives
 * null, and its errors.
 */
function textsByName(make: (name: string) => string | null): (name: string) => TaggedText {
  const made = new Map<string, TaggedText>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const body = make(name);
    if (body === null)
      return raise(kernelError("T0_HTTP_NAME_UNKNOWN", `the guide has no ${name}; /guide lists its pages`, guideRef));
    const text = tagText(body);
    made.set(name, text);
    return text;
  };
}
