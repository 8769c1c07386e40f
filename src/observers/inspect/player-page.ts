/**
 * The player's page: a recording and the program that shows it, in one file that needs no network.
 *
 * Owns: the file's parts and its policy. Never: a way from a text of the recording into markup or script.
 * 1.  The recording is JSON in a block that no browser runs, with `<` escaped: no text in it can end the block.
 * 2.  The page's policy runs the program and the style of the page alone, by their digests, and loads nothing.
 */
import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Recording } from "../../contract/recording.ts";

/** A page, and the policy that its server sends with it. */
export interface PlayerPage {
  readonly html: string;
  readonly policy: string;
}

const pageRef = moduleRef(6, "inspect", "player_page");

/** The folders of the built player beside the built sources, and in the `dist` of a checkout. */
const places = ["../../../console/player/", "../../../dist/console/player/"];

/**
 * Writes the player's page for a recording.
 * @throws KernelErrorException T0_PACKAGE_MISSING if the console, to which the player belongs, was not built.
 */
export function playerPage(recording: Recording): PlayerPage {
  const { script, style } = readPlayer();
  const rules = [`script-src ${digestOf(script)}`, `style-src ${digestOf(style)}`, "img-src data:"];
  const policy = ["default-src 'none'", ...rules, "base-uri 'none'", "form-action 'none'"].join("; ");
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Countersign: recording</title>
<style>${style}</style>
</head>
<body>
<div id="console"></div>
<noscript>The recording needs JavaScript. It holds everything itself and loads nothing.</noscript>
<script type="application/json" id="recording">${escapeJson(recording)}</script>
<script type="module">${script}</script>
</body>
</html>
`;
  return { html, policy: `${policy}; frame-ancestors 'none'` };
}

/** Writes JSON that cannot end the block that it stands in. */
const escapeJson = (value: object): string =>
  JSON.stringify(value).replace(
    /[<\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const digestOf = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`;

/** Escapes a program that names the end of a script in a text, which would end its own block. */
const safely = (script: string): string => script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

function readPlayer(): { readonly script: string; readonly style: string } {
  const here = import.meta.url === undefined ? "" : dirname(fileURLToPath(import.meta.url));
  const folder = places.map((place) => join(here, place)).find((place) => existsSync(`${place}player.js`));
  if (folder === undefined) {
    const message = "the player is not built: it belongs to the console, which npm run console builds";
    return raise(kernelError("T0_PACKAGE_MISSING", message, pageRef));
  }
  return {
    script: safely(readFileSync(`${folder}player.js`, "utf8")),
    style: readFileSync(`${folder}player.css`, "utf8"),
  };
}
