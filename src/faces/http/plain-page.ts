/**
 * A page of HTML to read: one style for all of them, in the colours of the console, and the policy for what a browser
 * may load.
 *
 * 1.  No script runs and nothing is loaded from elsewhere; the policy names the style by its digest.
 */
import { hash } from "node:crypto";
import { html, raw } from "hono/html";

/** The result of `html`: text with markup, in which all inserted values are escaped. */
export type Html = ReturnType<typeof html>;

const style = `
:root { color-scheme: light dark; --page: #f6f6f3; --card: #fff; --line: #dcdcd4; --text: #1f2428; --quiet: #575d63;
  --accent: #1f4e79; --code-back: #f2f2ed }
@media (prefers-color-scheme: dark) {
  :root { --page: #15181b; --card: #1e2226; --line: #343a40; --text: #e7e9ea; --quiet: #a9b0b6;
    --accent: #8ec1ef; --code-back: #272c31 }
}
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 76rem; margin: 0 auto; padding: 1rem 1.25rem 3rem;
  background: var(--page); color: var(--text) }
a { color: var(--accent) } i { color: var(--quiet) } img { max-width: 100%; height: auto }
pre, code { font: 13px/1.5 ui-monospace, monospace; background: var(--code-back) }
code { padding: .1em .25em; border-radius: 3px } pre code { padding: 0; font: inherit }
h3 code, a code { font-size: 1em }
pre { overflow-x: auto; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: 4px }
table { border-collapse: collapse; width: 100%; overflow-wrap: anywhere }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line) }
section { border-top: 2px solid var(--line); margin-top: 2rem }
nav li { break-inside: avoid } .index ul { columns: 2 18rem }
.guide { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0 3rem }
.guide nav ul { list-style: none; padding: 0; margin: .25rem 0 1rem }
.guide nav [aria-current] { color: inherit; font-weight: 600; text-decoration: none }
@media (min-width: 60rem) { .guide { grid-template-columns: 13rem minmax(0, 1fr) }
  .guide nav { position: sticky; top: 1rem; align-self: start } }
`;

/** The policy of such a page: its own style, and pictures of this host. */
export const plainPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${hash("sha256", style, "base64")}'`,
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Renders the whole page around a body. */
export const plainPage = (title: string, body: Html): string =>
  String(html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>${raw(style)}</style></head>
<body>${body}</body></html>
`);
