/**
 * The relay's page: Stately's inspector in a frame, with the relay's messages.
 *
 * 1.  Messages go to the frame alone and to its own origin alone; each time that it announces itself, it receives all
 *     of them.
 * 2.  The page loads nothing, and frames nothing but that one.
 */
import { hash } from "node:crypto";

export interface RelayPage {
  readonly html: string;
  readonly policy: string;
}

const style = `
  html, body { height: 100%; margin: 0; display: flex; flex-direction: column; color-scheme: light dark; }
  p { margin: 0; padding: 4px 8px; font: 13px system-ui, sans-serif; }
  iframe { flex: 1; border: 0; }
`;

const scriptOf = (origin: string, relay: string): string => `
  const frame = document.querySelector("iframe");
  const origin = ${JSON.stringify(origin)};
  let socket = null;
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow || event.origin !== origin) return;
    if (event.data === null || event.data.type !== "@statelyai.connected") return;
    if (socket !== null) socket.close();
    const opened = new WebSocket(${JSON.stringify(relay)});
    socket = opened;
    opened.onmessage = ({ data }) => {
      if (opened === socket) frame.contentWindow.postMessage(JSON.parse(data), origin);
    };
  });
`;

export function statelyPage(inspector: string, relay: string): RelayPage {
  const { origin } = new URL(inspector);
  const script = scriptOf(origin, relay);
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Countersign: inspector</title>
<style>${style}</style>
<p>What is inspected goes to the page of ${escapeHtml(origin)} below, in this browser. Without a
connection to it, nothing is shown.</p>
<iframe title="Stately inspector" src="${escapeHtml(inspector)}"></iframe>
<script>${script}</script>
</html>
`;
  const own = [`script-src ${digestOf(script)}`, `style-src ${digestOf(style)}`];
  return { html, policy: policyOf([...own, `connect-src ${relay}`, `frame-src ${origin}`]) };
}

const digestOf = (text: string): string => `'sha256-${hash("sha256", text, "base64")}'`;

const policyOf = (own: readonly string[]): string =>
  ["default-src 'none'", ...own, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join("; ");

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (found) => entities[found] as string);
